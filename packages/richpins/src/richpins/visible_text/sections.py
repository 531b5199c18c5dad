"""
Find the parts of a recipe in a page's visible lists.

These are lists under known headings, lists of amounts, and lists inside elements whose class names
identify them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise, product, takewhile
from typing import Literal

from selectolax.lexbor import LexborNode

from richpins._permalinks import without_trailing_sign
from richpins._plain_text import lines_of, parted_text
from richpins.document import normalize_space
from richpins.structured_data.sources import Sources
from richpins.visible_text.beside_lists import is_menu, is_trail
from richpins.visible_text.list_items import NOT_CONTENT, SectionKind, entries_of
from richpins.visible_text.section_walk import (
    HEADINGS,
    MAX_HEADING_CHARS,
    Groups,
    Section,
    collect_after,
)
from richpins.visible_text.vocabulary import (
    ENDS,
    IS_AFTERWORD,
    IS_INGREDIENTS,
    IS_NEEDED,
    IS_STEPS,
    amounts,
    are_ingredients,
    is_mentioned,
    is_step,
    lasts,
    measured,
    only_speaks_of_steps,
)

_MAX_HEADINGS = 4_000
_MAX_SECTIONS = 20
"""Maximum number of elements of one kind that are examined."""
_MAX_LISTS = 300
_MAX_PARAGRAPH_CHARS = 4_000

HeadingKind = SectionKind | Literal["end"]


def best_sections(sources: Sources) -> dict[str, Section]:
    """
    Return the best section for each part of a recipe, preferably one with a heading.

    Of several ingredients and several steps, those are chosen that have the smallest element of the
    page in common: a recipe's card has both, and comes after a text that describes the steps.
    """
    best: dict[str, Section] = {}
    if not is_mentioned(sources.words, sources.document.language):
        return best
    heads = _without_times(_once_only(list(_heads(sources))))
    found = _joined(_by_headings(heads))
    found["steps"] = _one_after_another([s for s in found["steps"] if _score(s)])
    if len(found["steps"]) < _LEAST_RECIPES:
        found["ingredients"] = _parts_of_one(found["ingredients"])
    is_clear = all(
        len(found[kind]) == 1 and _is_plausible(found[kind][0]) and not _is_title(found[kind][0])
        for kind in _KINDS
    )
    for kind in () if is_clear else _KINDS:
        called = _by_class(sources, kind)
        if called is not None and (not found[kind] or _is_plausible(called)):
            found[kind].append(called)
    if not any(map(_is_plausible, found["ingredients"])):
        unnamed = _by_amounts(sources, heads)
        found["ingredients"].extend([unnamed] if unnamed is not None else [])
    best = _nearest(found["ingredients"], found["steps"])
    following = _steps_behind(best.get("ingredients"))
    if following is not None and (
        "steps" not in best or best["steps"].heading == "class" or not _score(best["steps"])
    ):
        best["steps"] = following
    _remove_repeated(best, sources)
    return best


def _remove_repeated(best: dict[str, Section], sources: Sources) -> None:
    """Remove the name of the recipe from its lists, and amounts of ingredients from its steps."""
    heading = sources.document.tree.css_first("h1")
    name = normalize_space(heading.text()).casefold() if heading is not None else ""
    named = best.get("ingredients") if "steps" in best else None
    ingredients = [_words(entry) for entry in named.entries] if named is not None else []
    for section in best.values():
        if section.kind == "steps":
            section.groups[:] = [part for group in section.groups for part in _by_names(*group)]
        for number, (group, entries) in enumerate(section.groups):
            kept = [entry for entry in entries if entry.casefold() != name]
            if section.kind == "steps":
                kept = [entry for entry in kept if not _repeats(entry, ingredients)]
            section.groups[number] = (group, kept)


def _by_names(name: str | None, steps: list[str]) -> Groups:
    """Divide steps at the names that stand above them: `Wash the leeks` above what that means."""
    names = [not is_step(step) and len(step.split()) <= _MAX_NAME_WORDS for step in steps]
    sentences = [step for step, is_name in zip(steps, names, strict=True) if not is_name]
    if (
        sum(names) < _LEAST_NAMES
        or not names[0]
        or any(both == (True, True) for both in pairwise([*names, True]))
        or not all(step.endswith(_ENDS) and len(step) >= _LEAST_CHARS for step in sentences)
    ):
        return [(name, steps)]
    groups: Groups = [(name, [])] if name else []
    for step, is_name in zip(steps, names, strict=True):
        if is_name:
            groups.append((step, []))
        else:
            groups[-1][1].append(step)
    return groups


_LEAST_NAMES, _MAX_NAME_WORDS, _LEAST_CHARS = 2, 8, 30
_ENDS = (".", "!", ")", "。", "！")


def _repeats(entry: str, ingredients: list[set[str]]) -> bool:
    """Return True for an amount of an ingredient, `800 g gnocchi`, which is no sentence."""
    if not amounts([entry]) or entry.endswith((".", "!")):
        return False
    words = _words(entry)
    return any(words <= others for others in ingredients)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


_WORD = re.compile(r"\w+")


_KINDS: tuple[SectionKind, ...] = ("ingredients", "steps")


Head = tuple[LexborNode, HeadingKind, str]


def _once_only(heads: list[Head]) -> list[Head]:
    """Return the headings without labels that each step has: `Step`, `Step`, `Step`."""
    counts = Counter(text for _, kind, text in heads if kind == "steps")
    return [head for head in heads if head[1] != "steps" or counts[head[2]] <= _MAX_SAME]


_MAX_SAME = 2


def _without_times(heads: list[Head]) -> list[Head]:
    """Return the headings without captions of a time, `Preparation: 20 min`, if others are left."""
    named = [node.mem_id for node, kind, _ in heads if kind == "steps"]
    timed = {node.mem_id for node, kind, _ in heads if kind == "steps" and _is_before_a_time(node)}
    if len(timed) == len(named):
        return heads
    return [head for head in heads if head[0].mem_id not in timed]


def _is_plausible(section: Section) -> bool:
    if section.kind == "steps":
        return _score(section) > 0
    return 2 * measured(section.entries) >= section.count


def _joined(sections: Iterator[Section]) -> dict[str, list[Section]]:
    """Return the sections by kind; `Ingredients for the sauce` continues the one before it."""
    found: dict[str, list[Section]] = {kind: [] for kind in _KINDS}
    for section in sections:
        same = found[section.kind]
        if same and _continues(same[-1], section):
            same[-1].groups.extend(section.groups)
        else:
            same.append(section)
    return found


def _parts_of_one(sections: list[Section]) -> list[Section]:
    """Join the ingredients under equal headings where the page has the steps of one recipe only."""
    joined: list[Section] = []
    for section in sections:
        before = joined[-1] if joined else None
        if before is not None and _is_another_part(before, section):
            before.groups.extend(section.groups)
        else:
            joined.append(section)
    return joined


_LEAST_RECIPES = 2


def _one_after_another(sections: list[Section]) -> list[Section]:
    """Join steps under headings side by side that name two parts: `Preparation` and `Method`."""
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
    """Return True for steps under the title of the page, `How to make leek soup`."""
    at = section.at
    return at is not None and at.tag == "h1" and only_speaks_of_steps(section.heading)


def _is_another_part(before: Section, section: Section) -> bool:
    """Return True for two lists of amounts under the same heading that have no entry in common."""
    first, other = before.at, section.at
    return (
        first is not None
        and other is not None
        and before.heading.lower() == section.heading.lower()
        and (first.tag, first.attributes) == (other.tag, other.attributes)
        and _is_plausible(before)
        and _is_plausible(section)
        and not set(before.entries) & set(section.entries)
    )


def _nearest(ingredients: list[Section], steps: list[Section]) -> dict[str, Section]:
    """Return the pair with the most of the page's structure in common; of equals the longest."""
    pairs = [
        (
            _shared_depth(first, other),
            not only_speaks_of_steps(other.heading),
            _score(first),
            _score(other),
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
    return {section.kind: section for section in sorted(alone, key=_score)}


def _likely(sections: list[Section]) -> list[Section]:
    """Return the sections that have at least half of what the best one has."""
    best = max(map(_score, sections), default=0)
    return [section for section in sections if 2 * _score(section) >= best]


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


def _score(section: Section) -> int:
    entries = section.entries
    if section.kind == "ingredients":
        return min(len(entries), 6) + min(measured(entries), 6)
    steps = sum(map(is_step, entries))
    return min(max(steps, 1) if section.is_list else steps, 4)


def _continues(previous: Section, section: Section) -> bool:
    """Return True for `Ingredients for the sauce` after `Ingredients for the filling`."""
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


def _steps_behind(ingredients: Section | None) -> Section | None:
    """Return steps that follow the ingredients without a heading of their own."""
    if ingredients is None or not ingredients.then:
        return None
    if 5 * amounts(ingredients.entries) < 2 * ingredients.count:
        return None
    return Section("steps", f"behind {ingredients.heading}", ingredients.then)


def _by_headings(heads: list[Head]) -> Iterator[Section]:
    places = {node.mem_id: kind for node, kind, _ in heads}
    looked_into = Counter[str]()
    for node, kind, text in heads:
        looked_into[kind] += 1
        if kind != "end" and looked_into[kind] <= _MAX_SECTIONS:
            section = Section(kind, text, at=node)
            collect_after(node, section, places)
            if section.is_enough and not (
                IS_NEEDED.fullmatch(text) and 5 * amounts(section.entries) < 2 * section.count
            ):
                yield section


def _heads(sources: Sources) -> Iterator[tuple[LexborNode, HeadingKind, str]]:
    """Yield elements whose own text is a known heading, in document order."""
    for count, node in enumerate(sources.document.tree.css(HEADINGS)):
        if count > _MAX_HEADINGS:
            return
        tag = node.tag or ""
        text = node.text(deep=tag[:1] == "h" and len(tag) == 2)
        if not text or len(text) > 4 * MAX_HEADING_CHARS:
            continue
        text = without_trailing_sign(normalize_space(text))
        if text[-1:] == "#":
            text = text[:-1].rstrip()  # the sign of a link to the heading
        if not 2 <= len(text) <= MAX_HEADING_CHARS:
            continue
        if not text[0].isalpha():
            text = _undecorated(text)
        if tag in _TITLES and (parts := _PARTS.split(text))[1:]:
            text = next(filter(_is_heading, (parts[-1], parts[0])), text)
        if IS_INGREDIENTS.fullmatch(text) or IS_NEEDED.fullmatch(text):
            if not _is_in_menu(node):
                yield node, "ingredients", text
        elif IS_STEPS.fullmatch(text):
            if not _is_in_menu(node):
                yield node, "steps", text
        elif tag in {"h2", "h3", "h4", "h5"} and ENDS.fullmatch(text):
            yield node, "end", text


_TITLES = frozenset({"h2", "h3", "h4", "h5"})
_PARTS = re.compile(r"\s{1,9}[–—|-]\s{1,9}|:\s{1,9}")


def _is_in_menu(node: LexborNode) -> bool:
    at = node.parent
    for _ in range(_MAX_CLIMB):
        if at is None:
            return False
        if at.tag in {"nav", "footer"}:
            return True
        at = at.parent
    return False


_MAX_CLIMB = 12


def _is_before_a_time(node: LexborNode) -> bool:
    """Return True for the caption of a duration: `Preparation`, `20 min`."""
    at: LexborNode | None = node
    for _ in range(_MAX_AROUND):
        if at is None or at.tag == "body":
            return False
        following = at.next
        while following is not None:
            text = normalize_space(following.text() or "")
            if text:
                return lasts(text.lstrip(":–- "))
            following = following.next
        at = at.parent
    return False


_MAX_AROUND = 3


def _is_heading(text: str) -> bool:
    return IS_INGREDIENTS.fullmatch(text) is not None or IS_STEPS.fullmatch(text) is not None


def _undecorated(text: str) -> str:
    """Return a heading without the pictures and numbers before it."""
    for place, char in enumerate(text):
        if char.isalpha():
            return text[place:]
    return text


def _by_amounts(sources: Sources, heads: list[Head]) -> Section | None:
    """Return the longest list of amounts without a known heading, and the similar lists near it."""
    lists = [
        (node, entries)
        for node in sources.document.tree.css("ul,ol,table,p")[:_MAX_LISTS]
        if 5 * amounts(entries := _listed(node)) >= 3 * len(entries) > 0
    ]
    sure = [each for each in lists if are_ingredients(each[1])]
    if not sure:
        return None
    longest, _ = max(sure, key=lambda each: len(each[1]))
    around = _around(longest)
    beside = [
        (node, entries)
        for node, entries in lists
        if _around(node) & around and (node.tag != "p" or are_ingredients(entries))
    ]
    section = Section("ingredients", "amounts", at=longest)
    for _, entries in beside:
        section.add(entries)
    collect_after(beside[-1][0], section, {node.mem_id: kind for node, kind, _ in heads})
    return section


def _listed(node: LexborNode) -> list[str]:
    """Return the entries of a list without inner lists, or the lines of a paragraph."""
    if node.tag != "p":
        inner = node.css("ul,ol,table")  # which also finds the list itself
        return entries_of(node, "ingredients") if len(inner) < 2 else []
    if node.css_first("br") is None or len(node.text()) > _MAX_PARAGRAPH_CHARS:
        return []
    lines = lines_of(node)
    return [_BULLETS.sub("", line) for line in lines] if len(lines) > 2 else []


_BULLETS = re.compile(r"^[•·▢☐*–—✓◦▪■□●○-]+\s*")


def _around(node: LexborNode) -> set[int]:
    """Return the two elements around a list."""
    parent = node.parent
    outer = parent.parent if parent is not None else None
    return {
        element.mem_id
        for element in (parent, outer)
        if element is not None and element.tag != "body"
    }


def _steps_of(node: LexborNode) -> list[str]:
    return [line for line in lines_of(node) if not IS_AFTERWORD.search(line)]


def _is_beside(before: Section, section: Section) -> bool:
    """Return True for another list of the same class in the same element, without its entries."""
    first, other = before.at, section.at
    if first is None or other is None or first.parent is None or other.parent is None:
        return False
    return (
        first.parent.mem_id == other.parent.mem_id
        and (first.tag, first.attributes.get("class")) == (other.tag, other.attributes.get("class"))
        and section.count >= section.least
        and not set(before.entries) & set(section.entries)
    )


_CLASS_QUERIES = {
    "ingredients": (
        '[class*="ingredient" i],[id*="ingredient" i],[class*="zutat" i],[class*="ingredienser" i]'
    ),
    "steps": (
        '[class*="instruction" i],[class*="direction" i],[class*="preparation" i],'
        '[class*="method" i],[id*="instruction" i],[id*="direction" i],[id*="method" i],'
        '[class*="zubereitung" i],[class*="recipe-step" i],[class*="steps" i]'
    ),
}


def _by_class(sources: Sources, kind: SectionKind) -> Section | None:
    """Return the element with the most list entries whose class names this part of a recipe."""
    best: Section | None = None
    loose: list[str] = []
    read: dict[int, list[str]] = {}
    for node in sources.document.tree.css(_CLASS_QUERIES[kind])[:200]:
        if node.tag in NOT_CONTENT or node.tag in {"html", "body", "a", "input"}:
            continue
        lists = [node] if node.tag in {"ul", "ol"} else node.css("ul,ol")[:10]
        section = Section(kind, "class", at=node)
        for element in lists:
            if is_trail(element) or (kind == "steps" and is_menu(element)):
                continue
            if element.mem_id not in read:
                read[element.mem_id] = entries_of(element, kind)
            section.add(read[element.mem_id])
        if best is not None and _is_beside(best, section):
            best.groups.extend(section.groups)
        elif best is None or section.count > best.count:
            best = section
        if lists or any(
            element.mem_id != node.mem_id for element in node.css(_CLASS_QUERIES[kind])
        ):
            continue  # the smaller ones inside it are examined separately
        text = parted_text(node)
        if 2 < len(text) < (200 if kind == "ingredients" else 2_000):
            loose.extend([text] if kind == "ingredients" else _steps_of(node))
    if best is not None and best.count >= (2 if kind == "ingredients" else 1):
        return best
    if len(loose) >= (3 if kind == "ingredients" else 1):
        section = Section(kind, "class")
        section.add(list(dict.fromkeys(loose)), surely=True)
        return section
    return None
