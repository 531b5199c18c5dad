"""
Give back lists and tables that trafilatura takes apart, and the order of the page.

It writes the cells of a table inside a list, and the entries of some lists, as paragraphs one after
the other. What it finds late it appends. The tree of the page says what they were, and where.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from lxml import etree

_NO_LETTERS = re.compile(r"[\W_]+")
_MAX_KEY = 60
_MAX_PARTS = 2_000
_MIN_LETTERS = 12


@dataclass(frozen=True, slots=True)
class _Part:
    """An entry of a list or a cell of a table."""

    letters: str
    is_head: bool = False


@dataclass(frozen=True, slots=True)
class Structure:
    """A list or a table of the page without further ones in it."""

    kind: str
    """`ul`, `ol` or `table`."""
    rows: tuple[tuple[_Part, ...], ...]
    """The rows of a table; the entries of a list are rows of one part."""

    @property
    def parts(self) -> list[_Part]:
        """All parts that have text, in order."""
        return [part for row in self.rows for part in row if part.letters]


def letters_of(text: str) -> str:
    """The letters and digits of a text, which white space and markup do not change."""
    return _NO_LETTERS.sub("", text)


def structures_of(tree: Any) -> list[Structure]:
    """The lists and tables of a page's tree, to be called before trafilatura changes it."""
    found = []
    for element in tree.iter("ul", "ol", "table"):
        if next(element.iterdescendants("ul", "ol", "table"), None) is not None:
            continue
        structure = _table(element) if element.tag == "table" else _list(element)
        least = 2 if structure.kind == "table" else 1
        if least <= len(structure.parts) <= _MAX_PARTS:
            found.append(structure)
    return found


def _list(element: Any) -> Structure:
    entries = [(_part(entry),) for entry in element if entry.tag == "li"]
    return Structure(str(element.tag), tuple(entries))


def _table(element: Any) -> Structure:
    rows = [tuple(_part(cell) for cell in row.iter("td", "th")) for row in element.iter("tr")]
    return Structure("table", tuple(row for row in rows if any(part.letters for part in row)))


def _part(element: Any) -> _Part:
    return _Part(letters_of("".join(element.itertext())), element.tag == "th")


def restore(body: Any, structures: list[Structure], page: str) -> None:
    """Change a body that trafilatura found; `page` is the text of the page's tree."""
    by_first: dict[str, list[Structure]] = defaultdict(list)
    for structure in structures:
        by_first[structure.parts[0].letters].append(structure)
    for parent in list(body.iter("body", "main", "div", "item", "quote")):
        _restore_in(parent, by_first)
    _sort(body, letters_of(page))


def _restore_in(parent: Any, by_first: dict[str, list[Structure]]) -> None:
    children = list(parent)
    at = 0
    while at < len(children):
        run = _matching(children, at, by_first)
        if run is None:
            at += 1
            continue
        structure, groups = run
        count = sum(map(len, groups))
        place, tail = parent.index(children[at]), children[at + count - 1].tail
        made = _made(structure, groups)  # moves the paragraphs
        made.tail = tail
        parent.insert(place, made)
        at += count


def _matching(
    children: list[Any], at: int, by_first: dict[str, list[Structure]]
) -> tuple[Structure, list[list[Any]]] | None:
    if children[at].tag != "p":
        return None
    first = letters_of("".join(children[at].itertext()))
    for structure in by_first.get(first, ()):
        groups = _grouped(children, at, structure)
        if groups is not None:
            return structure, groups
    return None


def _grouped(children: list[Any], at: int, structure: Structure) -> list[list[Any]] | None:
    """The paragraphs of each part; None if they are not those of the structure."""
    parts = structure.parts
    if sum(len(part.letters) for part in parts) < _MIN_LETTERS:
        return None
    groups: list[list[Any]] = []
    for part in parts:
        group, text = [], ""
        while text != part.letters:
            if at >= len(children) or children[at].tag not in {"p", "code"}:
                return None
            text += letters_of("".join(children[at].itertext()))
            group.append(children[at])
            at += 1
            if not part.letters.startswith(text) or (group[-1].tail or "").strip():
                return None
        groups.append(group)
    return groups


def _made(structure: Structure, groups: list[list[Any]]) -> Any:
    left = iter(groups)
    if structure.kind != "table":
        made = etree.Element("list", rend=structure.kind)
        for row in structure.rows:
            if row[0].letters:
                _fill(etree.SubElement(made, "item"), next(left))
        return made
    made = etree.Element("table")
    for row in structure.rows:
        line = etree.SubElement(made, "row")
        for part in row:
            cell = etree.SubElement(line, "cell", {"role": "head"} if part.is_head else {})
            if part.letters:
                _fill(cell, next(left))
    return made


def _fill(element: Any, group: list[Any]) -> None:
    for child in group:
        child.tail = None
        element.append(child)


def _sort(body: Any, page: str) -> None:
    places: list[int] = []
    at = 0
    for child in body:
        key = letters_of("".join(child.itertext()))[:_MAX_KEY]
        place = page.find(key, at) if key else at
        if place < 0:
            place = page.find(key)
        at = place if place >= 0 else at
        places.append(at)
    if places != sorted(places):
        ordered = sorted(zip(places, range(len(places)), list(body), strict=True))
        for _, _, child in ordered:
            body.append(child)  # moves it
