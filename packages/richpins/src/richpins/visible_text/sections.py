"""
Find the parts of a recipe among a page's visible lists.

Candidates are lists under known headings, lists of amounts, and lists in elements with a matching
class name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import compress, groupby, pairwise
from operator import not_

from selectolax.lexbor import LexborNode

from richpins._plain_text import lines_of, parted_text
from richpins.document import normalize_space
from richpins.structured_data.sources import Sources
from richpins.visible_text.beside_lists import is_menu, is_trail
from richpins.visible_text.list_items import (
    NOT_CONTENT,
    SectionKind,
    are_called_ingredients,
    entries_of,
    paragraphs_of,
)
from richpins.visible_text.section import Groups, Section
from richpins.visible_text.section_choice import (
    KINDS,
    are_clear,
    is_plausible,
    join,
    nearest,
    score,
)
from richpins.visible_text.section_headings import Head, heads_of
from richpins.visible_text.section_walk import collect_after
from richpins.visible_text.vocabulary import (
    ENDS,
    IS_AFTERWORD,
    IS_NEEDED,
    amounts,
    are_ingredients,
    is_mentioned,
    is_step,
    needs_a_list,
    starts_measured,
)

_MAX_SECTIONS = 20
"""Maximum elements of one kind that are examined."""
_MAX_LISTS = 300
_MAX_PARAGRAPH_CHARS = 4_000


def best_sections(sources: Sources) -> dict[str, Section]:
    """
    Return the best section for each part of a recipe, preferably one with a heading.

    If there are several sections for both parts, it returns the ingredients and steps that are
    closest in the tree. A recipe card contains both, and often follows an article that also
    describes the steps.
    """
    best: dict[str, Section] = {}
    if not is_mentioned(sources.words, sources.document.language):
        return best
    heads = heads_of(sources)
    found = join(_by_headings(heads))
    for kind in () if are_clear(found) else KINDS:
        called = _by_class(sources, kind)
        if called is not None and (not found[kind] or is_plausible(called)):
            found[kind].append(called)
    if not any(map(is_plausible, found["ingredients"])):
        unnamed = _by_amounts(sources, heads)
        found["ingredients"].extend([unnamed] if unnamed is not None else [])
    best = nearest(found["ingredients"], found["steps"])
    following = _steps_behind(best.get("ingredients"))
    if following is not None and (
        "steps" not in best or best["steps"].heading == "class" or not score(best["steps"])
    ):
        best["steps"] = following
    _remove_repeated(best, sources)
    return best


def _remove_repeated(best: dict[str, Section], sources: Sources) -> None:
    """Remove the recipe's name from its lists, and ingredients with amounts from its steps."""
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
                kept = list(_without_ingredients(kept, ingredients))
            section.groups[number] = (group, kept)


def _by_names(name: str | None, steps: list[str]) -> Groups:
    """Group steps by the short names above them, such as `Wash the leeks` above its explanation."""
    names = [not is_step(step) and len(step.split()) <= _MAX_NAME_WORDS for step in steps]
    sentences = [step for step, is_name in zip(steps, names, strict=True) if not is_name]
    if (
        sum(names) < _MIN_NAMES
        or any(both == (True, True) for both in pairwise([*names, True]))
        or not all(step.endswith(_ENDS) for step in sentences)
        or sum(map(len, sentences)) < _MIN_CHARS * len(sentences)
        or not (names[0] or all(map(_is_headline, compress(steps, names))))
    ):
        return [(name, steps)]
    groups: Groups = [(name, [])] if name or not names[0] else []
    for step, is_name in zip(steps, names, strict=True):
        if is_name:
            groups.append((step, []))
        else:
            groups[-1][1].append(step)
    return groups


def _is_headline(name: str) -> bool:
    """Return True for `Make the Rice`: several words, with the longer ones capitalized."""
    words = [word for word in name.split() if len(word) >= _LONG_WORD]
    return len(name.split()) > 1 and bool(words) and all(word[:1].isupper() for word in words)


_LONG_WORD = 4
_MIN_NAMES, _MAX_NAME_WORDS, _MIN_CHARS = 2, 8, 30
_ENDS = (".", "!", ")", "。", "！")


def _without_ingredients(steps: list[str], ingredients: list[set[str]]) -> Iterator[str]:
    """Yield steps without the ingredients that they repeat: `800 g gnocchi`, `salt`, `pepper`."""
    ended = 3 * sum(step.endswith((".", "!")) for step in steps) >= 2 * len(steps)
    for are_steps, run in groupby(steps, key=is_step):
        entries = list(run)
        again = [_repeats(entry, ingredients) for entry in entries]
        if ended and not are_steps:
            again = [a or starts_measured(entry) for a, entry in zip(again, entries, strict=True)]
        if (
            are_steps
            or not any(again)
            or not all(any(_words(e) <= others for others in ingredients) for e in entries)
        ):
            yield from compress(entries, map(not_, again))


def _repeats(entry: str, ingredients: list[set[str]]) -> bool:
    """Return True if a step only repeats an ingredient, such as `800 g gnocchi`."""
    words = _words(entry)
    if entry.endswith((".", "!")) or not words:
        return False
    if not amounts([entry]):
        return words in ingredients
    return any(words <= others for others in ingredients) or words <= set().union(*ingredients)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


_WORD = re.compile(r"\w+")


def _steps_behind(ingredients: Section | None) -> Section | None:
    """Return steps that follow the ingredients without a heading."""
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
            if section.is_enough and _may_be_named(section, text):
                yield section


def _may_be_named(section: Section, heading: str) -> bool:
    """Return True if the entries may follow a heading such as `You need` or `Come fare …`."""
    if IS_NEEDED.fullmatch(heading):
        return 5 * amounts(section.entries) >= 2 * section.count
    return section.listed > 0 or not needs_a_list(heading)


def _by_amounts(sources: Sources, heads: list[Head]) -> Section | None:
    """Return the longest list of amounts without a known heading, plus similar lists near it."""
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
    """Return the entries of a list without nested lists, or the lines of a paragraph."""
    if node.tag != "p":
        inner = node.css("ul,ol,table")  # this also matches the list itself
        return entries_of(node, "ingredients") if len(inner) < 2 else []
    if node.css_first("br") is None or len(node.text()) > _MAX_PARAGRAPH_CHARS:
        return []
    lines = lines_of(node)
    return [_BULLETS.sub("", line) for line in lines] if len(lines) > 2 else []


_BULLETS = re.compile(r"^[•·▢☐*–—✓◦▪■□●○-]+\s*")


def _around(node: LexborNode) -> set[int]:
    """Return the ids of the two elements around a list."""
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
    """Return True for two lists in the same element, with the same class and no common entry."""
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
    """
    Return the element with the most list entries, among those with a class for this part of a
    recipe.
    """
    best: Section | None = None
    loose: list[str] = []
    read: dict[int, list[str]] = {}
    for node in sources.document.tree.css(_CLASS_QUERIES[kind])[:200]:
        if node.tag in NOT_CONTENT or node.tag in {"html", "body", "a", "input"}:
            continue
        lists = [node] if node.tag in {"ul", "ol"} else node.css("ul,ol")[:10]
        section = Section(kind, "class", at=node)
        for element in lists:
            if is_trail(element) or _is_of_another_part(element):
                continue
            if kind == "steps" and (is_menu(element) or are_called_ingredients(element)):
                continue
            if element.mem_id not in read:
                read[element.mem_id] = entries_of(element, kind)
            section.add_entries(read[element.mem_id], is_ordered=element.tag == "ol")
        if best is not None and _is_beside(best, section):
            best.groups.extend(section.groups)
        elif best is None or section.count > best.count:
            best = section
        if lists or any(
            element.mem_id != node.mem_id for element in node.css(_CLASS_QUERIES[kind])
        ):
            continue  # its smaller inner elements are examined separately
        text = parted_text(node)
        if 2 < len(text) < (200 if kind == "ingredients" else 2_000):
            loose.extend([text] if kind == "ingredients" else _steps_of(node))
    if kind == "steps":
        best = _better(best, _by_step_class(sources))
    if best is not None and best.count >= (2 if kind == "ingredients" else 1):
        return best
    if len(loose) >= (3 if kind == "ingredients" else 1):
        section = Section(kind, "class")
        section.add(list(dict.fromkeys(loose)), surely=True)
        return section
    return None


def _is_of_another_part(element: LexborNode) -> bool:
    """Return True for a list right below a heading such as `Tips`."""
    at = element.prev
    while at is not None and (at.tag or "")[:1] in {"-", "!"} and not at.text(strip=True):
        at = at.prev
    if at is None or at.tag not in {"h2", "h3", "h4", "h5", "h6"}:
        return False
    return ENDS.fullmatch(normalize_space(at.text())) is not None


def _better(first: Section | None, other: Section | None) -> Section | None:
    """Return the section with more steps."""
    both = [section for section in (first, other) if section is not None]
    return max(both, key=lambda section: sum(map(is_step, section.entries)), default=None)


def _by_step_class(sources: Sources) -> Section | None:
    """Return the longest row of adjacent elements whose classes each name a step."""
    rows: dict[tuple[int, str], list[LexborNode]] = {}
    for node in sources.document.tree.css('[class*="step" i]')[:_MAX_STEP_ELEMENTS]:
        named = node.attributes.get("class") or ""
        if node.tag in _BLOCKS and node.parent is not None and _IS_STEP_CLASS.search(named):
            rows.setdefault((node.parent.mem_id, node.tag or ""), []).append(node)
    row = max(rows.values(), key=len, default=[])
    if len(row) < _MIN_ROW or not all(map(is_step, map(parted_text, row))):
        return None
    section = Section("steps", "class", at=row[0])
    for node in row:
        heading = node.css_first("h2,h3,h4,h5,h6")
        if heading is not None:
            section.begin_group(normalize_space(heading.text()))
        texts = paragraphs_of(node, "steps")
        section.add(texts[1:] if heading is not None else texts)
    return section


_MAX_STEP_ELEMENTS = 300
_MIN_ROW = 3
_BLOCKS = frozenset({"div", "section", "article"})
_IS_STEP_CLASS = re.compile(
    r"(?:\A|[\s_-])step(?:[_-]{1,2}(?:item|row|wrapper|container|block))?(?:\Z|[\s\d]|--)",
    re.IGNORECASE,
)
