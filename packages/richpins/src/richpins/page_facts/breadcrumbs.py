"""Read the category of a page from its breadcrumbs in structured data."""

from __future__ import annotations

from collections.abc import Iterator

from richpins._list_entries import words
from richpins.provenance import Candidate
from richpins.structured_data.graph import Node
from richpins.structured_data.sources import Sources
from richpins.values import numbers, scalars

_BREADCRUMB_TYPES = frozenset({"breadcrumblist"})
_MAX_CRUMBS = 20


def categories(sources: Sources, name: str | None) -> Iterator[Candidate]:
    """
    For each breadcrumb list, yield the last crumb that is neither the start page nor the page.

    `name` is the subject's name. A last crumb that repeats it is not a category.
    """
    for trail in sources.graph.find_nodes(_BREADCRUMB_TYPES):
        names = _crumb_names(trail)
        if len(names) > 1 and is_page_name(names[-1], name):
            names.pop()
        if len(names) > 1:
            yield Candidate(names[-1], trail.syntax, f"{trail.position}.itemlistelement")


def _crumb_names(trail: Node) -> list[str]:
    elements = trail.all("itemlistelement")[:_MAX_CRUMBS]
    crumbs = [element for element in elements if isinstance(element, Node)]
    positions = [numbers.count(crumb.first("position")) for crumb in crumbs]
    if None not in positions and len(set(positions)) == len(positions):
        crumbs = [crumb for _, crumb in sorted(zip(positions, crumbs, strict=True), key=_position)]
    names = (scalars.text(crumb.first("name", "item")) for crumb in crumbs)
    return [text for text in names if text and "://" not in text]


def _position(numbered_crumb: tuple[int | None, Node]) -> int:
    return numbered_crumb[0] or 0


def is_page_name(crumb: str, name: str | None) -> bool:
    """Return True if a crumb is the page's name, even truncated, or has most of its words."""
    stem = crumb.rstrip(".… ")
    if stem != crumb and (name or "").startswith(stem):
        return True
    word_sets = words(crumb), words(name or "")
    return 2 * len(word_sets[0] & word_sets[1]) > max(map(len, word_sets))
