"""Read the category of a page from its breadcrumbs in structured data."""

from __future__ import annotations

from collections.abc import Iterator

from richpins._list_entries import words
from richpins.provenance import Candidate
from richpins.structured_data.graph import Node
from richpins.structured_data.sources import Sources
from richpins.values import numbers, scalars

_LISTS = frozenset({"breadcrumblist"})
_MAX_CRUMBS = 20


def categories(sources: Sources, name: str | None) -> Iterator[Candidate]:
    """
    For each trail, yield the last part that is not the site's start page or the page itself.

    `name` is the name of the page's subject. The last part of a trail is a category if it does not
    contain that name. A trail with only one part contains just the start page.
    """
    for trail in sources.graph.of_types(_LISTS):
        names = _names(trail)
        if len(names) > 1 and is_named(names[-1], name):
            names.pop()
        if len(names) > 1:
            yield Candidate(names[-1], trail.syntax, f"{trail.position}.itemlistelement")


def _names(trail: Node) -> list[str]:
    crumbs = [e for e in trail.all("itemlistelement")[:_MAX_CRUMBS] if isinstance(e, Node)]
    positions = [numbers.count(crumb.first("position")) for crumb in crumbs]
    if None not in positions and len(set(positions)) == len(positions):
        crumbs = [crumb for _, crumb in sorted(zip(positions, crumbs, strict=True), key=_position)]
    names = (scalars.text(crumb.first("name", "item")) for crumb in crumbs)
    return [text for text in names if text and "://" not in text]


def _position(crumb: tuple[int | None, Node]) -> int:
    return crumb[0] or 0


def is_named(crumb: str, name: str | None) -> bool:
    """
    Return True if a part of a trail has most words of the page's name, or is a truncated form of
    it.
    """
    start = crumb.rstrip(".… ")
    if start != crumb and (name or "").startswith(start):
        return True
    both = words(crumb), words(name or "")
    return 2 * len(both[0] & both[1]) > max(map(len, both))
