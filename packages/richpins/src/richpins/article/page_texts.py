"""
Split a page's tree, and the tree that a library returned, into text blocks.

The two trees are compared by their letters, because white space and markup differ.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import Any

from lxml import etree

_NO_LETTERS = re.compile(r"[\W_]+")
NO_TEXT = frozenset({"script", "style", "noscript", "iframe", "noframes"})
_INVISIBLE = NO_TEXT | {"head", "title"}
_FORMULA = (
    "math semantics mrow mi mo mn mtext mspace msup msub msubsup munder mover munderover mfrac"
    " msqrt mroot mstyle mpadded mphantom menclose mfenced mtable mtr mtd mmultiscripts annotation"
    " annotation-xml"
)
"""MathML elements are inline, because a formula is part of a line."""
INLINE = frozenset(
    f"{_FORMULA} "
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd mark nobr q ruby s samp"
    " small span strike strong sub sup time tt u var wbr".split()
)
_LISTS_AND_TABLES = frozenset({"ul", "ol", "dl", "table"})
_SKIPPABLE_BLOCKS = _LISTS_AND_TABLES | {
    "p", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "code", "figure",
}  # fmt: skip
_KINDS = {
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6", "head"), "heading"),
    **dict.fromkeys(("li", "dt", "dd", "item"), "entry"),
    **dict.fromkeys(("td", "th", "cell"), "cell"),
    **dict.fromkeys(("code", "pre"), "code"),
}
_INLINE_OUTPUT = frozenset({*INLINE, "hi", "ref", "lb", "br", "graphic", "img"})


def letters_of(text: str) -> str:
    """Return the letters and digits of a string, without white space and punctuation."""
    return _NO_LETTERS.sub("", text)


@dataclass(slots=True)
class Piece:
    """A string in a tree: the text in an element, or the text after it."""

    element: Any
    is_tail: bool
    start: int
    """Offset of the piece's letters in the page's letters."""
    end: int
    block: int
    """Index of the piece's text block."""
    kept: bool = False

    @property
    def holder(self) -> Any:
        """The element that contains the string."""
        return self.element.getparent() if self.is_tail else self.element


@dataclass(slots=True)
class PageTexts:
    """All strings in a tree, in document order."""

    root: Any
    letters: str
    pieces: list[Piece]
    kinds: list[str]
    """The kind of each block: heading, list entry, cell, code or other text."""
    starts: list[int]
    """The offset of each block's letters, in ascending order."""
    wholes: list[tuple[int, int]]
    """The first and last piece of each list and data table. Nested lists and tables come first."""
    spans: dict[Any, tuple[int, int]]
    """The first and last piece of each element that may be between other blocks of an article."""


@dataclass(frozen=True, slots=True)
class ChosenBlock:
    """A text block that a library selected."""

    kind: str
    letters: str
    parts: tuple[str, ...]


def texts_of(tree: Any) -> PageTexts:
    """Return all strings in a page's tree that may be displayed."""
    pieces: list[Piece] = []
    kinds, starts, parts = [""], [0], []
    enclosing = [""]
    wholes: list[tuple[int, int]] = []
    spans: dict[Any, tuple[int, int]] = {}
    open_spans: list[int] = []
    offset = 0

    def begin_block() -> None:
        kinds.append(enclosing[-1])
        starts.append(offset)

    def add(element: Any, text: str | None, *, is_tail: bool) -> None:
        nonlocal offset
        if text:
            letters = letters_of(text)
            pieces.append(Piece(element, is_tail, offset, offset + len(letters), len(kinds) - 1))
            parts.append(letters)
            offset += len(letters)

    hidden = 0
    for event, element in etree.iterwalk(tree, events=("start", "end")):
        tag = element.tag
        is_block = tag not in INLINE and tag != "br"
        if event == "start":
            enclosing.append(_KINDS.get(tag, "") if is_block else enclosing[-1])
            hidden += tag in _INVISIBLE
            if is_block:
                begin_block()
            if tag in _SKIPPABLE_BLOCKS:
                open_spans.append(len(pieces))
            if not hidden:
                add(element, element.text, is_tail=False)
        else:
            enclosing.pop()
            if tag in _SKIPPABLE_BLOCKS:
                spans[element] = (open_spans.pop(), len(pieces))
                if tag in _LISTS_AND_TABLES and (tag != "table" or _is_data(element)):
                    wholes.append(spans[element])
            hidden -= tag in _INVISIBLE
            if is_block:
                begin_block()
            if not hidden:
                add(element, element.tail, is_tail=True)
    return PageTexts(tree, "".join(parts), pieces, kinds, starts, wholes, spans)


def _is_data(table: Any) -> bool:
    """Return True if a table seems to contain data, not page layout."""
    parts = table.iterdescendants("table", "h1", "h2", "h3", "h4", "h5", "h6", "form")
    return next(parts, None) is None and sum(1 for _ in islice(table.iter("tr"), 2)) > 1


def blocks_of(body: Any) -> list[ChosenBlock]:
    """Return the text blocks in a library's tree, whatever its element names."""
    blocks: list[ChosenBlock] = []
    run: list[str] = []
    enclosing = ["", ""]

    def end_run() -> None:
        letters = "".join(run)
        if letters:
            blocks.append(ChosenBlock(enclosing[-1], letters, tuple(filter(None, run))))
        run.clear()

    for event, element in etree.iterwalk(body, events=("start", "end")):
        is_block = element.tag not in _INLINE_OUTPUT or _is_code_block(element)
        if is_block:
            end_run()
        if event == "start":
            enclosing.append(_KINDS.get(element.tag, "") if is_block else enclosing[-1])
            run.append(letters_of(element.text or ""))
        else:
            enclosing.pop()
            run.append(letters_of(element.tail or "") if element is not body else "")
    end_run()
    return blocks


def _is_code_block(element: Any) -> bool:
    return element.tag == "code" and "\n" in "".join(element.itertext())
