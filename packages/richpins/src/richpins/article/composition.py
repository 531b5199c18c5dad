"""
Compose the output tree from the selected parts of the page's own tree.

The output uses the element names that `richpins.article.writing` supports: `head`, `list`, `item`,
`table`, `row`, `cell`, `code`, `quote`, `hi`, `del`, `ref`, `graphic`, `lb`, `p` and `div`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from lxml import etree

from richpins.article.images import ArticleImage
from richpins.article.page_texts import INLINE, PageTexts, letters_of

_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_LISTS = {"ul": "ul", "ol": "ol", "menu": "ul", "dir": "ul", "dl": "dl"}
_ENTRIES = frozenset({"li", "dt", "dd"})
_STYLES = {
    "b": "#b", "strong": "#b", "i": "#i", "em": "#i", "sub": "#sub", "sup": "#sup",
    "tt": "#t", "kbd": "#t", "samp": "#t", "var": "#t",
}  # fmt: skip
_DELETED = frozenset({"del", "s", "strike"})
_CELL_BLOCKS = ("p", "ul", "ol", "dl", "pre", "blockquote")
_MAX_CELL_BLOCKS = 3
"""Table cells with more blocks are part of the page's layout."""
_MAX_SPAN = 100
_MIN_ROWS = 2
_TRANSPARENT = frozenset({"picture", "noscript"})
_NO_BLOCKS = frozenset({*_TRANSPARENT, "br", "img"})
_MAX_DEPTH = 120
"""Elements nested deeper are written as plain text."""


def compose(page: PageTexts, images: Sequence[ArticleImage] = ()) -> Any:
    """Return a body with the kept text and the images next to it."""
    return _Composer(page, images).body()


class _Composer:
    def __init__(self, page: PageTexts, images: Sequence[ArticleImage]) -> None:
        self._live: set[Any] = set()
        """Elements that contain anything kept, including images."""
        for piece in page.pieces:
            if piece.kept:
                _add_with_ancestors(self._live, piece.holder)
        self._with_text = frozenset(self._live)
        """Elements that contain kept text."""
        self._images = {image.element: image for image in images if image.near in self._live}
        for image in self._images.values():
            _add_with_ancestors(self._live, image.element)
        _keep_captions(page, self._images.values())
        self._texts: set[Any] = set()
        self._tails: set[Any] = set()
        self._with_letters: set[Any] = set()
        for piece in page.pieces:
            if piece.end > piece.start:
                _add_with_ancestors(self._with_letters, piece.holder)
            if piece.kept:
                (self._tails if piece.is_tail else self._texts).add(piece.element)
                _add_with_ancestors(self._live, piece.holder)
        self._root = page.root

    def body(self) -> Any:
        body = etree.Element("body")
        if self._root in self._live:
            self._fill(self._root, body, None, 0)
        return body

    def _fill(self, source: Any, target: Any, link: str | None, depth: int) -> None:
        """Write an element's kept content; `link` is the target of a link around it."""
        if source in self._texts:
            _add_text(target, source.text)
        for child in source:
            is_live = child in self._live
            if is_live:
                self._add(child, target, link, depth + 1)
            elif child.tag == "br":
                etree.SubElement(target, "lb")
            elif child.tag not in INLINE and child.tag not in _NO_BLOCKS:
                _add_border(target)
            if child in self._tails:
                _add_text(target, child.tail, separate=not is_live and child in self._with_letters)

    def _add(self, child: Any, target: Any, link: str | None, depth: int) -> None:
        tag = child.tag
        if depth > _MAX_DEPTH:
            self._add_flat(child, target)
        elif tag == "img":
            self._add_image(self._images[child], target)
        elif tag in INLINE or tag in _TRANSPARENT:
            self._add_inline(child, target, link, depth)
        elif tag in _LISTS:
            self._add_list(child, target, link, depth)
        elif tag == "table" and not self._is_layout(child):
            self._add_table(child, target, depth)
        elif tag in _HEADINGS:
            self._fill_leaf(child, etree.SubElement(target, "head", rend=tag), link, depth)
        elif tag == "blockquote":
            self._fill(child, etree.SubElement(target, "quote"), link, depth)
        elif self._has_block(child):
            _add_border(target)  # nested containers are omitted
            self._fill(child, target, link, depth)
            _add_border(target)
        else:
            self._fill_leaf(child, etree.SubElement(target, "p"), link, depth)

    def _add_flat(self, element: Any, target: Any) -> None:
        block = etree.SubElement(target, "p")
        for event, descendant in etree.iterwalk(element, events=("start", "end")):
            if event == "start" and descendant in self._texts:
                _add_text(block, f"{descendant.text} ")
            elif event == "end" and descendant is not element and descendant in self._tails:
                _add_text(block, f"{descendant.tail} ")

    def _fill_leaf(self, source: Any, target: Any, link: str | None, depth: int) -> None:
        """Fill a block. A link around the block moves into it, or into the blocks inside it."""
        if link is not None and not self._has_block(source):
            self._fill(source, etree.SubElement(target, "ref", target=link), None, depth)
        else:
            self._fill(source, target, link, depth)

    def _has_block(self, element: Any) -> bool:
        """Return True if an element contains partly kept blocks."""
        return any(e.tag not in INLINE and e.tag not in _NO_BLOCKS for e in self._inside(element))

    def _inside(self, element: Any) -> Iterator[Any]:
        return (each for each in element.iterdescendants() if each in self._live)

    def _add_inline(self, child: Any, target: Any, link: str | None, depth: int) -> None:
        tag = child.tag
        if child not in self._with_text:
            self._fill(
                child, target, link, depth
            )  # a link around images usually leads to a larger image
            return
        if self._has_block(child):
            href = child.get("href") if tag == "a" else None
            self._fill(child, target, href or link, depth)
            return
        if tag == "code":
            element = etree.SubElement(target, "code")
        elif tag == "a" and child.get("href") and link is None:
            element = etree.SubElement(target, "ref", target=child.get("href"))
        elif tag in _STYLES:
            element = etree.SubElement(target, "hi", rend=_STYLES[tag])
        elif tag in _DELETED:
            element = etree.SubElement(target, "del")
        else:
            self._fill(child, target, link, depth)
            return
        self._fill(child, element, link, depth)

    def _add_image(self, image: ArticleImage, target: Any) -> None:
        element = etree.SubElement(target, "graphic", src=image.source, alt=image.alt)
        if image.alone:
            element.set("alone", "1")

    def _add_list(self, child: Any, target: Any, link: str | None, depth: int) -> None:
        element = etree.SubElement(target, "list", rend=_LISTS[child.tag])
        self._fill_list(child, element, link, depth)

    def _fill_list(self, source: Any, element: Any, link: str | None, depth: int) -> None:
        if source in self._texts:
            _add_text(element, source.text)
        for child in source:
            if child in self._live:
                self._add_entry(child, element, link, depth + 1)
            if child in self._tails:
                _add_text(element, child.tail)

    def _add_entry(self, child: Any, element: Any, link: str | None, depth: int) -> None:
        last = element[-1] if len(element) else None
        if child.tag in _ENTRIES:
            self._fill_leaf(child, etree.SubElement(element, "item"), link, depth)
        elif child.tag in _LISTS and last is not None and last.tag == "item":
            self._add_list(child, last, link, depth)
        elif child.tag not in INLINE and any(e.tag in _ENTRIES for e in child if e in self._live):
            self._fill_list(child, element, link, depth)  # groups of terms, or forms around entries
        else:
            self._add(child, etree.SubElement(element, "item"), link, depth)

    def _is_layout(self, table: Any) -> bool:
        """Return True for a table that lays out the page, or that Markdown cannot represent."""
        if any(each.tag == "table" for each in self._inside(table)):
            return True
        if any("\n" in (code.text or "").strip() for code in table.iter("code")):
            return True  # a Markdown cell is one line
        rows = [_cells(row) for row in self._rows(table)]
        if all(len(row) < 2 for row in rows):
            return True
        if len(rows[-1]) == 1 and len(rows) > _MIN_ROWS:
            rows = rows[:-1]  # leave out notes below a table
        return any(_is_part_of_layout(cell) for row in rows for cell in row)

    def _rows(self, table: Any) -> list[Any]:
        return [row for row in table.iterdescendants("tr") if row in self._live]

    def _add_table(self, table: Any, target: Any, depth: int) -> None:
        for caption in table.iterchildren("caption"):
            if caption in self._live:
                self._fill(caption, etree.SubElement(target, "p"), None, depth)
        element = etree.SubElement(target, "table")
        row_spans: dict[int, int] = {}
        for row in self._rows(table):
            cells = _cells(row)
            is_head = all(cell.tag == "th" for cell in cells)
            line = etree.SubElement(element, "row")
            self._fill_row(cells, line, row_spans, {"role": "head"} if is_head else {}, depth)

    def _fill_row(
        self,
        cells: list[Any],
        line: Any,
        row_spans: dict[int, int],
        role: dict[str, str],
        depth: int,
    ) -> None:
        """
        Write the cells into their columns. `row_spans` maps a column to the number of rows that a
        cell above still occupies.
        """
        column = 0
        for cell in [*cells, None]:
            while row_spans.get(column, 0):
                row_spans[column] -= 1
                column += 1
                etree.SubElement(line, "cell", role)
            if cell is None:
                break
            output_cell = etree.SubElement(line, "cell", role)
            if cell in self._live:
                self._fill(cell, output_cell, None, depth)
            for number in range(_span(cell, "colspan")):
                row_spans[column] = _span(cell, "rowspan") - 1
                column += 1
                if number:
                    etree.SubElement(line, "cell", role)


def _cells(row: Any) -> list[Any]:
    return [cell for cell in row if cell.tag in {"td", "th"}]


def _span(cell: Any, name: str) -> int:
    """Return how many columns or rows a cell spans, 1 to 100."""
    value = (cell.get(name) or "").strip()
    return min(max(int(value), 1), _MAX_SPAN) if value.isdecimal() else 1


def _is_part_of_layout(cell: Any) -> bool:
    """Return True if a cell contains many blocks, or a heading followed by text."""
    if sum(1 for _ in cell.iterdescendants(*_CELL_BLOCKS)) > _MAX_CELL_BLOCKS:
        return True
    headings = [letters_of("".join(each.itertext())) for each in cell.iterdescendants(*_HEADINGS)]
    return bool(headings) and "".join(headings) != letters_of("".join(cell.itertext()))


def _add_border(target: Any) -> None:
    """Add an empty block to separate the text before it from the text after it."""
    etree.SubElement(target, "div")


def _add_with_ancestors(elements: set[Any], element: Any) -> None:
    while element is not None and element not in elements:
        elements.add(element)
        element = element.getparent()


def _keep_captions(page: PageTexts, images: Iterable[ArticleImage]) -> None:
    """Keep the captions of standalone images, unless the text already contains them."""
    captions = {i.caption for i in images if i.caption is not None}
    if not captions:
        return
    kept_letters = "".join(page.letters[p.start : p.end] for p in page.pieces if p.kept)
    captions = {each for each in captions if letters_of(each.text_content()) not in kept_letters}
    inside = {element for caption in captions for element in caption.iter()}
    for piece in page.pieces:
        if piece.holder in inside:
            piece.kept = True


def _add_text(target: Any, text: str | None, *, separate: bool = False) -> None:
    if not text:
        return
    last = target[-1] if len(target) else None
    before = (target.text if last is None else last.tail) or ""
    if separate and before[-1:].isalnum() and text[0].isalnum():
        text = f" {text}"
    if last is None:
        target.text = before + text
    else:
        last.tail = before + text
