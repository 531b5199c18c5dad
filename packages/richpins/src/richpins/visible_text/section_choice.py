"""Join sections that continue each other, and choose those that belong to one recipe."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product, takewhile

from selectolax.lexbor import LexborNode

from richpins.visible_text.list_items import SectionKind
from richpins.visible_text.section import Section
from richpins.visible_text.vocabulary import count_measured, is_how_to_title, is_step

KINDS: tuple[SectionKind, ...] = ("ingredients", "steps")


def join_sections(sections: Iterator[Section]) -> dict[str, list[Section]]:
    """Return the sections by kind, joined with those that continue them."""
    by_kind = _join_continuations(sections)
    by_kind["steps"] = _join_sibling_steps([s for s in by_kind["steps"] if score(s)])
    if len(by_kind["steps"]) < _MIN_RECIPES:
        by_kind["ingredients"] = _join_ingredient_parts(by_kind["ingredients"])
    return by_kind


def is_unambiguous(by_kind: dict[str, list[Section]]) -> bool:
    """Return True for one plausible section of each kind, not headed by the page's title."""
    return all(
        len(by_kind[kind]) == 1
        and is_plausible(by_kind[kind][0])
        and not _is_below_page_title(by_kind[kind][0])
        for kind in KINDS
    )


def is_plausible(section: Section) -> bool:
    """Return True if steps contain a sentence, or half of the ingredients have amounts."""
    if section.kind == "steps":
        return score(section) > 0
    return 2 * count_measured(section.entries) >= section.count


def _join_continuations(sections: Iterator[Section]) -> dict[str, list[Section]]:
    """Return the sections by kind, joining `Ingredients for the sauce` to the section before."""
    by_kind: dict[str, list[Section]] = {kind: [] for kind in KINDS}
    for section in sections:
        same_kind = by_kind[section.kind]
        if same_kind and _has_similar_heading(same_kind[-1], section):
            same_kind[-1].groups.extend(section.groups)
        else:
            same_kind.append(section)
    return by_kind


def _join_ingredient_parts(sections: list[Section]) -> list[Section]:
    """Join ingredients under equal headings, for a page with the steps of only one recipe."""
    joined: list[Section] = []
    for section in sections:
        previous = joined[-1] if joined else None
        if previous is not None and _continues_ingredients(previous, section):
            previous.groups.extend(section.groups)
        else:
            joined.append(section)
    return joined


_MIN_RECIPES = 2


def _join_sibling_steps(sections: list[Section]) -> list[Section]:
    """Join steps under sibling headings that name two parts: `Preparation` and `Method`."""
    joined: list[Section] = []
    for section in sections:
        previous = joined[-1] if joined else None
        if previous is not None and _continues_steps(previous, section):
            previous.groups.extend(section.groups)
        else:
            joined.append(section)
    return joined


def _continues_steps(previous: Section, section: Section) -> bool:
    first, second = previous.element, section.element
    if first is None or second is None or first.parent is None or second.parent is None:
        return False
    return (
        first.parent.mem_id == second.parent.mem_id
        and first.tag == second.tag
        and previous.heading.casefold() != section.heading.casefold()
        and not any(map(is_how_to_title, (previous.heading, section.heading)))
        and not set(previous.entries) & set(section.entries)
    )


def _is_below_page_title(section: Section) -> bool:
    """Return True for steps whose heading is the page's title: `How to make leek soup`."""
    heading = section.element
    return heading is not None and heading.tag == "h1" and is_how_to_title(section.heading)


def _continues_ingredients(previous: Section, section: Section) -> bool:
    first, second = previous.element, section.element
    return (
        first is not None
        and second is not None
        and previous.heading.lower() == section.heading.lower()
        and (first.tag, first.attributes) == (second.tag, second.attributes)
        and is_plausible(previous)
        and is_plausible(section)
        and not set(previous.entries) & set(section.entries)
    )


def nearest_pair(ingredients: list[Section], steps: list[Section]) -> dict[str, Section]:
    """Return the ingredients and steps closest to each other; on a tie, with the best scores."""
    pairs = [
        (
            _shared_depth(first, second),
            not is_how_to_title(second.heading),
            score(first),
            score(second),
            -index,
            first,
            second,
        )
        for index, (first, second) in enumerate(
            product(_likely_sections(ingredients), _likely_sections(steps))
        )
    ]
    if pairs:
        *_, first, second = max(pairs, key=lambda pair: pair[:5])
        return {"ingredients": first, "steps": second}
    unpaired = [*ingredients, *steps]
    return {section.kind: section for section in sorted(unpaired, key=score)}


def _likely_sections(sections: list[Section]) -> list[Section]:
    best = max(map(score, sections), default=0)
    return [section for section in sections if 2 * score(section) >= best]


def _shared_depth(first: Section, second: Section) -> int:
    paths = zip(_ancestor_ids(first.element), _ancestor_ids(second.element), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], paths))


def _ancestor_ids(node: LexborNode | None) -> list[int]:
    ids: list[int] = []
    while node is not None and len(ids) < _MAX_PATH_NODES:
        ids.append(node.mem_id)
        node = node.parent
    return ids[::-1]


_MAX_PATH_NODES = 600


def score(section: Section) -> int:
    """Return a section's plausibility: 0 to 12 for ingredients, 0 to 4 for steps."""
    entries = section.entries
    if section.kind == "ingredients":
        return min(len(entries), 6) + min(count_measured(entries), 6)
    steps = sum(map(is_step, entries))
    return min(max(steps, 1) if section.is_plain_list else steps, 4)


def _has_similar_heading(previous: Section, section: Section) -> bool:
    """Return True for headings such as `Ingredients for the pie`, `Ingredients for the jam`."""
    first_words, second_words = previous.heading.lower().split(), section.heading.lower().split()
    return (
        len(first_words) > 1
        and len(second_words) > 1
        and first_words[0] == second_words[0]
        and first_words[1:] != second_words[1:]
        and previous.element is not None
        and section.element is not None
        and previous.element.tag == section.element.tag
        and not set(previous.entries) & set(section.entries)
    )
