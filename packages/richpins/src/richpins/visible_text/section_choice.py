"""Join sections that continue each other, and choose those that belong to one recipe."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product, takewhile

from selectolax.lexbor import LexborNode

from richpins.visible_text.list_items import SectionKind
from richpins.visible_text.section import Section
from richpins.visible_text.vocabulary import is_step, measured, only_speaks_of_steps

KINDS: tuple[SectionKind, ...] = ("ingredients", "steps")


def join(sections: Iterator[Section]) -> dict[str, list[Section]]:
    """Return the sections by kind, joined with those that continue them."""
    found = _joined(sections)
    found["steps"] = _one_after_another([s for s in found["steps"] if score(s)])
    if len(found["steps"]) < _MIN_RECIPES:
        found["ingredients"] = _parts_of_one(found["ingredients"])
    return found


def are_clear(found: dict[str, list[Section]]) -> bool:
    """
    Return True if there is one plausible section of each kind, and its heading is not the page's
    title.
    """
    return all(
        len(found[kind]) == 1 and is_plausible(found[kind][0]) and not _is_title(found[kind][0])
        for kind in KINDS
    )


def is_plausible(section: Section) -> bool:
    """Return True if steps contain a sentence, or half of the ingredients have amounts."""
    if section.kind == "steps":
        return score(section) > 0
    return 2 * measured(section.entries) >= section.count


def _joined(sections: Iterator[Section]) -> dict[str, list[Section]]:
    """
    Return the sections by kind.

    `Ingredients for the sauce` is joined to the section before it.
    """
    found: dict[str, list[Section]] = {kind: [] for kind in KINDS}
    for section in sections:
        same = found[section.kind]
        if same and _continues(same[-1], section):
            same[-1].groups.extend(section.groups)
        else:
            same.append(section)
    return found


def _parts_of_one(sections: list[Section]) -> list[Section]:
    """Join ingredients under equal headings, if the page has steps for only one recipe."""
    joined: list[Section] = []
    for section in sections:
        before = joined[-1] if joined else None
        if before is not None and _is_another_part(before, section):
            before.groups.extend(section.groups)
        else:
            joined.append(section)
    return joined


_MIN_RECIPES = 2


def _one_after_another(sections: list[Section]) -> list[Section]:
    """Join steps under sibling headings that name two parts: `Preparation` and `Method`."""
    joined: list[Section] = []
    for section in sections:
        before = joined[-1] if joined else None
        if before is not None and _goes_on(before, section):
            before.groups.extend(section.groups)
        else:
            joined.append(section)
    return joined


def _goes_on(before: Section, section: Section) -> bool:
    first, other = before.at, section.at
    if first is None or other is None or first.parent is None or other.parent is None:
        return False
    return (
        first.parent.mem_id == other.parent.mem_id
        and first.tag == other.tag
        and before.heading.casefold() != section.heading.casefold()
        and not any(map(only_speaks_of_steps, (before.heading, section.heading)))
        and not set(before.entries) & set(section.entries)
    )


def _is_title(section: Section) -> bool:
    """Return True for steps under the title of the page, such as `How to make leek soup`."""
    at = section.at
    return at is not None and at.tag == "h1" and only_speaks_of_steps(section.heading)


def _is_another_part(before: Section, section: Section) -> bool:
    """Return True for two ingredient lists under the same heading without a common entry."""
    first, other = before.at, section.at
    return (
        first is not None
        and other is not None
        and before.heading.lower() == section.heading.lower()
        and (first.tag, first.attributes) == (other.tag, other.attributes)
        and is_plausible(before)
        and is_plausible(section)
        and not set(before.entries) & set(section.entries)
    )


def nearest(ingredients: list[Section], steps: list[Section]) -> dict[str, Section]:
    """
    Return the ingredients and steps that are closest together in the tree.

    On a tie, return the longest.
    """
    pairs = [
        (
            _shared_depth(first, other),
            not only_speaks_of_steps(other.heading),
            score(first),
            score(other),
            -number,
            first,
            other,
        )
        for number, (first, other) in enumerate(product(_likely(ingredients), _likely(steps)))
    ]
    if pairs:
        *_, first, other = max(pairs, key=lambda pair: pair[:5])
        return {"ingredients": first, "steps": other}
    alone = [*ingredients, *steps]
    return {section.kind: section for section in sorted(alone, key=score)}


def _likely(sections: list[Section]) -> list[Section]:
    """Return the sections whose score is at least half of the best one."""
    best = max(map(score, sections), default=0)
    return [section for section in sections if 2 * score(section) >= best]


def _shared_depth(first: Section, other: Section) -> int:
    """Return how many elements contain the headings of both sections."""
    paths = zip(_path(first.at), _path(other.at), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], paths))


def _path(node: LexborNode | None) -> list[int]:
    """Return the identities of the elements around a node, outermost first."""
    path: list[int] = []
    while node is not None and len(path) < _MAX_PATH:
        path.append(node.mem_id)
        node = node.parent
    return path[::-1]


_MAX_PATH = 600


def score(section: Section) -> int:
    """Return how plausible a section is: 0 to 12 for ingredients, 0 to 4 for steps."""
    entries = section.entries
    if section.kind == "ingredients":
        return min(len(entries), 6) + min(measured(entries), 6)
    steps = sum(map(is_step, entries))
    return min(max(steps, 1) if section.is_list else steps, 4)


def _continues(previous: Section, section: Section) -> bool:
    """
    Return True if the section is for another part of the recipe, such as `Ingredients for the
    sauce`.
    """
    words, others = previous.heading.lower().split(), section.heading.lower().split()
    return (
        len(words) > 1
        and len(others) > 1
        and words[0] == others[0]
        and words[1:] != others[1:]
        and previous.at is not None
        and section.at is not None
        and previous.at.tag == section.at.tag
        and not set(previous.entries) & set(section.entries)
    )
