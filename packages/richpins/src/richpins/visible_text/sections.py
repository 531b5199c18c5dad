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

from richpins._plain_text import block_lines, spaced_text
from richpins.document import normalize_space
from richpins.structured_data.sources import Sources
from richpins.visible_text.beside_lists import is_menu, is_unrelated_list
from richpins.visible_text.list_items import (
    NOT_CONTENT,
    SectionKind,
    is_ingredients_list,
    read_entries,
    read_paragraphs,
)
from richpins.visible_text.section import Groups, Section
from richpins.visible_text.section_choice import (
    KINDS,
    is_plausible,
    is_unambiguous,
    join_sections,
    nearest_pair,
    score,
)
from richpins.visible_text.section_headings import KnownHeading, known_headings
from richpins.visible_text.section_walk import collect_after
from richpins.visible_text.vocabulary import (
    AFTERWORD,
    NEXT_PART_HEADING,
    YOU_NEED_HEADING,
    are_ingredients,
    count_amounts,
    is_step,
    mentions_recipe,
    needs_a_list,
    starts_with_measure,
)

_MAX_SECTIONS = 20
"""Maximum number of headings of one kind examined."""
_MAX_LISTS = 300
_MAX_PARAGRAPH_CHARS = 4_000


def best_sections(sources: Sources) -> dict[str, Section]:
    """
    Return the best section for each part of a recipe, preferably one with a heading.

    If there are several, return the ingredients and steps that are closest to each other in the
    tree. The actual recipe contains both, but an article that describes the steps often precedes
    the recipe.
    """
    best: dict[str, Section] = {}
    if not mentions_recipe(sources.words, sources.document.language):
        return best
    headings = known_headings(sources)
    sections_by_kind = join_sections(_sections_by_heading(headings))
    for kind in () if is_unambiguous(sections_by_kind) else KINDS:
        class_section = _section_by_class(sources, kind)
        if class_section is not None and (
            not sections_by_kind[kind] or is_plausible(class_section)
        ):
            sections_by_kind[kind].append(class_section)
    if not any(map(is_plausible, sections_by_kind["ingredients"])):
        amounts_section = _section_by_amounts(sources, headings)
        sections_by_kind["ingredients"].extend(
            [amounts_section] if amounts_section is not None else []
        )
    best = nearest_pair(sections_by_kind["ingredients"], sections_by_kind["steps"])
    following_steps = _steps_after(best.get("ingredients"))
    if following_steps is not None and (
        "steps" not in best or best["steps"].heading == "class" or not score(best["steps"])
    ):
        best["steps"] = following_steps
    _remove_repeated(best, sources)
    return best


def _remove_repeated(best: dict[str, Section], sources: Sources) -> None:
    """Remove the recipe's name from its lists, and ingredients with amounts from its steps."""
    heading = sources.document.tree.css_first("h1")
    name = normalize_space(heading.text()).casefold() if heading is not None else ""
    ingredients_section = best.get("ingredients") if "steps" in best else None
    ingredients = (
        [_word_set(entry) for entry in ingredients_section.entries]
        if ingredients_section is not None
        else []
    )
    for section in best.values():
        if section.kind == "steps":
            section.groups[:] = [
                part for group in section.groups for part in _group_by_names(*group)
            ]
        for index, (group, entries) in enumerate(section.groups):
            kept_entries = [entry for entry in entries if entry.casefold() != name]
            if section.kind == "steps":
                kept_entries = list(_skip_repeated_ingredients(kept_entries, ingredients))
            section.groups[index] = (group, kept_entries)


def _group_by_names(name: str | None, steps: list[str]) -> Groups:
    """Group steps by the short names before them, such as `Wash the leeks`."""
    are_names = [not is_step(step) and len(step.split()) <= _MAX_NAME_WORDS for step in steps]
    sentences = [step for step, is_name in zip(steps, are_names, strict=True) if not is_name]
    if (
        sum(are_names) < _MIN_STEP_NAMES
        or any(pair == (True, True) for pair in pairwise([*are_names, True]))
        or not all(step.endswith(_SENTENCE_ENDS) for step in sentences)
        or sum(map(len, sentences)) < _MIN_MEAN_CHARS * len(sentences)
        or not (are_names[0] or all(map(_is_headline, compress(steps, are_names))))
    ):
        return [(name, steps)]
    groups: Groups = [(name, [])] if name or not are_names[0] else []
    for step, is_name in zip(steps, are_names, strict=True):
        if is_name:
            groups.append((step, []))
        else:
            groups[-1][1].append(step)
    return groups


def _is_headline(name: str) -> bool:
    """Return True for `Make the Rice`: several words, with the longer ones capitalized."""
    words = [word for word in name.split() if len(word) >= _MIN_LONG_WORD_CHARS]
    return len(name.split()) > 1 and bool(words) and all(word[:1].isupper() for word in words)


_MIN_LONG_WORD_CHARS = 4
_MIN_STEP_NAMES, _MAX_NAME_WORDS, _MIN_MEAN_CHARS = 2, 8, 30
_SENTENCE_ENDS = (".", "!", ")", "。", "！")


def _skip_repeated_ingredients(steps: list[str], ingredients: list[set[str]]) -> Iterator[str]:
    """Yield steps without the ingredients that they repeat: `800 g gnocchi`, `salt`, `pepper`."""
    are_sentences = 3 * sum(step.endswith((".", "!")) for step in steps) >= 2 * len(steps)
    for are_steps, run in groupby(steps, key=is_step):
        entries = list(run)
        are_repeated = [_repeats_ingredient(entry, ingredients) for entry in entries]
        if are_sentences and not are_steps:
            are_repeated = [
                is_repeated or starts_with_measure(entry)
                for is_repeated, entry in zip(are_repeated, entries, strict=True)
            ]
        if (
            are_steps
            or not any(are_repeated)
            or not all(
                any(_word_set(entry) <= others for others in ingredients) for entry in entries
            )
        ):
            yield from compress(entries, map(not_, are_repeated))


def _repeats_ingredient(entry: str, ingredients: list[set[str]]) -> bool:
    words = _word_set(entry)
    if entry.endswith((".", "!")) or not words:
        return False
    if not count_amounts([entry]):
        return words in ingredients
    return any(words <= others for others in ingredients) or words <= set().union(*ingredients)


def _word_set(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


_WORD = re.compile(r"\w+")


def _steps_after(ingredients: Section | None) -> Section | None:
    if ingredients is None or not ingredients.following_steps:
        return None
    if 5 * count_amounts(ingredients.entries) < 2 * ingredients.count:
        return None
    return Section("steps", f"behind {ingredients.heading}", ingredients.following_steps)


def _sections_by_heading(headings: list[KnownHeading]) -> Iterator[Section]:
    heading_kinds = {node.mem_id: kind for node, kind, _ in headings}
    examined_counts = Counter[str]()
    for node, kind, text in headings:
        examined_counts[kind] += 1
        if kind != "end" and examined_counts[kind] <= _MAX_SECTIONS:
            section = Section(kind, text, element=node)
            collect_after(node, section, heading_kinds)
            if section.has_enough_entries and _fits_heading(section, text):
                yield section


def _fits_heading(section: Section, heading: str) -> bool:
    """Return False for a heading such as `You need` or `Come fare …` without a list below it."""
    if YOU_NEED_HEADING.fullmatch(heading):
        return 5 * count_amounts(section.entries) >= 2 * section.count
    return section.listed_count > 0 or not needs_a_list(heading)


def _section_by_amounts(sources: Sources, headings: list[KnownHeading]) -> Section | None:
    """Return the longest list of amounts without a known heading, plus similar lists nearby."""
    lists = [
        (node, entries)
        for node in sources.document.tree.css("ul,ol,table,p")[:_MAX_LISTS]
        if 5 * count_amounts(entries := _list_lines(node)) >= 3 * len(entries) > 0
    ]
    certain_lists = [(node, entries) for node, entries in lists if are_ingredients(entries)]
    if not certain_lists:
        return None
    longest, _ = max(certain_lists, key=lambda pair: len(pair[1]))
    ancestors = _nearest_ancestors(longest)
    nearby_lists = [
        (node, entries)
        for node, entries in lists
        if _nearest_ancestors(node) & ancestors and (node.tag != "p" or are_ingredients(entries))
    ]
    section = Section("ingredients", "amounts", element=longest)
    for _, entries in nearby_lists:
        section.add(entries)
    collect_after(nearby_lists[-1][0], section, {node.mem_id: kind for node, kind, _ in headings})
    return section


def _list_lines(node: LexborNode) -> list[str]:
    """Return a list's entries without nested lists, or a paragraph's lines."""
    if node.tag != "p":
        inner = node.css("ul,ol,table")  # this also matches the list itself
        return read_entries(node, "ingredients") if len(inner) < 2 else []
    if node.css_first("br") is None or len(node.text()) > _MAX_PARAGRAPH_CHARS:
        return []
    lines = block_lines(node)
    return [_LEADING_BULLETS.sub("", line) for line in lines] if len(lines) > 2 else []


_LEADING_BULLETS = re.compile(r"^[•·▢☐*–—✓◦▪■□●○-]+\s*")


def _nearest_ancestors(node: LexborNode) -> set[int]:
    parent = node.parent
    grandparent = parent.parent if parent is not None else None
    return {
        element.mem_id
        for element in (parent, grandparent)
        if element is not None and element.tag != "body"
    }


def _lines_without_afterwords(node: LexborNode) -> list[str]:
    return [line for line in block_lines(node) if not AFTERWORD.search(line)]


def _is_sibling_list(previous: Section, section: Section) -> bool:
    first, second = previous.element, section.element
    if first is None or second is None or first.parent is None or second.parent is None:
        return False
    return (
        first.parent.mem_id == second.parent.mem_id
        and (first.tag, first.attributes.get("class"))
        == (second.tag, second.attributes.get("class"))
        and section.count >= section.min_count
        and not set(previous.entries) & set(section.entries)
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


def _section_by_class(sources: Sources, kind: SectionKind) -> Section | None:
    best: Section | None = None
    loose_texts: list[str] = []
    entries_by_id: dict[int, list[str]] = {}
    for node in sources.document.tree.css(_CLASS_QUERIES[kind])[:200]:
        if node.tag in NOT_CONTENT or node.tag in {"html", "body", "a", "input"}:
            continue
        lists = [node] if node.tag in {"ul", "ol"} else node.css("ul,ol")[:10]
        section = Section(kind, "class", element=node)
        for element in lists:
            if is_unrelated_list(element) or _belongs_to_next_part(element):
                continue
            if kind == "steps" and (is_menu(element) or is_ingredients_list(element)):
                continue
            if element.mem_id not in entries_by_id:
                entries_by_id[element.mem_id] = read_entries(element, kind)
            section.add_entries(entries_by_id[element.mem_id], is_ordered=element.tag == "ol")
        if best is not None and _is_sibling_list(best, section):
            best.groups.extend(section.groups)
        elif best is None or section.count > best.count:
            best = section
        if lists or any(
            element.mem_id != node.mem_id for element in node.css(_CLASS_QUERIES[kind])
        ):
            continue  # the elements in it are examined separately
        text = spaced_text(node)
        if 2 < len(text) < (200 if kind == "ingredients" else 2_000):
            loose_texts.extend([text] if kind == "ingredients" else _lines_without_afterwords(node))
    if kind == "steps":
        best = _section_with_more_steps(best, _section_by_step_class(sources))
    if best is not None and best.count >= (2 if kind == "ingredients" else 1):
        return best
    if len(loose_texts) >= (3 if kind == "ingredients" else 1):
        section = Section(kind, "class")
        section.add(list(dict.fromkeys(loose_texts)), is_certain=True)
        return section
    return None


def _belongs_to_next_part(element: LexborNode) -> bool:
    """Return True for a list right below a heading such as `Tips`."""
    previous = element.prev
    while (
        previous is not None
        and (previous.tag or "")[:1] in {"-", "!"}
        and not previous.text(strip=True)
    ):
        previous = previous.prev
    if previous is None or previous.tag not in {"h2", "h3", "h4", "h5", "h6"}:
        return False
    return NEXT_PART_HEADING.fullmatch(normalize_space(previous.text())) is not None


def _section_with_more_steps(first: Section | None, other: Section | None) -> Section | None:
    sections = [section for section in (first, other) if section is not None]
    return max(sections, key=lambda section: sum(map(is_step, section.entries)), default=None)


def _section_by_step_class(sources: Sources) -> Section | None:
    rows: dict[tuple[int, str], list[LexborNode]] = {}
    for node in sources.document.tree.css('[class*="step" i]')[:_MAX_STEP_ELEMENTS]:
        class_name = node.attributes.get("class") or ""
        if node.tag in _BLOCKS and node.parent is not None and _STEP_ROW_CLASS.search(class_name):
            rows.setdefault((node.parent.mem_id, node.tag or ""), []).append(node)
    longest_row = max(rows.values(), key=len, default=[])
    if len(longest_row) < _MIN_ROW_STEPS or not all(map(is_step, map(spaced_text, longest_row))):
        return None
    section = Section("steps", "class", element=longest_row[0])
    for node in longest_row:
        heading = node.css_first("h2,h3,h4,h5,h6")
        if heading is not None:
            section.begin_group(normalize_space(heading.text()))
        texts = read_paragraphs(node, "steps")
        section.add(texts[1:] if heading is not None else texts)
    return section


_MAX_STEP_ELEMENTS = 300
_MIN_ROW_STEPS = 3
_BLOCKS = frozenset({"div", "section", "article"})
_STEP_ROW_CLASS = re.compile(
    r"(?:\A|[\s_-])step(?:[_-]{1,2}(?:item|row|wrapper|container|block))?(?:\Z|[\s\d]|--)",
    re.IGNORECASE,
)
