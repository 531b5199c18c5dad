"""
Find the parts of a page's tree that a library selected, given the text that it returned.

The library's own tree may lack lists, tables and spaces of the page. But the letters of its blocks
occur in the page, and so identify the selected parts. The output is built from those parts alone
(`richpins.article.composition`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from richpins.article.page_texts import ChosenBlock, PageTexts, Piece, letters_of

_MIN_LONG_LETTERS = 40
"""A sequence of this many letters rarely occurs twice on a page."""
_MAX_GAP = 400
"""Maximum letters between two consecutive words of a block."""
_SEED_LETTERS = 12
_MAX_MISSES = 200
_MAX_CANDIDATES = 30
_MIN_SHARE_BY_KIND = {"heading": 0.85}
_MIN_SHARE = 0.25
"""A block is written completely if at least this fraction was selected."""
_INLINE_WORDS = frozenset({"a", "code", "span", "tt", "kbd", "samp", "var"})
_MAX_LINK_SHARE = 0.3
_MIN_LIST_SHARE = 0.6
"""A list or table is written completely if at least this fraction was selected."""


def select(page: PageTexts, chosen: Iterable[ChosenBlock]) -> float:
    """
    Mark the pieces of a page that a library selected. Return the fraction of the selected letters
    that was found in the page.

    Long blocks are located first, and short ones between them.
    """
    search = _Search(page, list(chosen))
    share = search.run()
    _keep_marked(page, search.marks)
    _keep_repeated(page)
    _keep_between(page)
    _keep_announced(page)
    return share


class _Search:
    def __init__(self, page: PageTexts, chosen: list[ChosenBlock]) -> None:
        self._page = page
        self._chosen = chosen
        self._positions: list[int | None] = [None] * len(chosen)
        self.marks = bytearray(len(page.letters))

    def run(self) -> float:
        self._locate_long()
        missing = 0
        end = None
        following = self._next_starts()
        for number, block in enumerate(self._chosen):
            position = self._positions[number]
            if position is None:
                position = self._locate_short(block, end, following[number])
            if position is None:
                lost, end = self._mark_parts(block, end or 0)
                missing += lost
            else:
                self._mark(position, len(block.letters))
                end = position + len(block.letters)
        total = sum(len(block.letters) for block in self._chosen)
        return 1 - missing / total if total else 0.0

    def _locate_long(self) -> None:
        letters, offset = self._page.letters, 0
        for number, block in enumerate(self._chosen):
            if len(block.letters) >= _MIN_LONG_LETTERS:
                position = letters.find(block.letters, offset)
                position = position if position >= 0 else letters.find(block.letters)
                if position >= 0:
                    self._positions[number] = position
                    offset = position + len(block.letters)
                    self._mark(position, len(block.letters))

    def _next_starts(self) -> list[int | None]:
        """Return, for each block, the start of the next located block."""
        following: list[int | None] = []
        start: int | None = None
        for position in reversed(self._positions):
            following.append(start)
            start = position if position is not None else start
        return following[::-1]

    def _mark(self, start: int, length: int) -> None:
        self.marks[start : start + length] = b"\1" * length

    def _locate_short(
        self, block: ChosenBlock, end: int | None, following: int | None
    ) -> int | None:
        first, last = end or 0, following if following is not None else len(self._page.letters)
        between = list(self._occurrences(block.letters, first, last)) if first < last else []
        candidates = between or list(self._occurrences(block.letters, 0, None))
        if not candidates:
            return None
        return min(candidates, key=lambda offset: self._cost(block, offset, end, following))

    def _occurrences(self, letters: str, start: int, stop: int | None) -> Iterator[int]:
        page = self._page.letters
        count = 0
        offset = page.find(letters, start, stop)
        while offset >= 0 and count < _MAX_CANDIDATES:
            if not self.marks[offset]:
                count += 1
                yield offset
            offset = page.find(letters, offset + len(letters), stop)

    def _cost(
        self, block: ChosenBlock, offset: int, end: int | None, following: int | None
    ) -> tuple[bool, bool, int]:
        stop = offset + len(block.letters)
        kind, is_whole = self._kind_at(offset)
        distances = [abs(offset - end)] if end is not None else []
        distances += [abs(following - stop)] if following is not None else []
        if end is not None and 0 not in distances:
            distances = distances[
                :1
            ]  # with neighbors on both sides, only the distance to the previous one counts
        return kind != block.kind, not is_whole, min(distances, default=0)

    def _kind_at(self, start: int) -> tuple[str, bool]:
        """Return the kind of the block at an offset, and whether the block starts there."""
        low, high = 0, len(self._page.starts)
        while low + 1 < high:
            middle = (low + high) // 2
            if self._page.starts[middle] <= start:
                low = middle
            else:
                high = middle
        # Blocks without letters start at the same offset; the last one has the letters.
        return self._page.kinds[low], self._page.starts[low] == start

    def _mark_parts(self, block: ChosenBlock, offset: int) -> tuple[int, int]:
        """
        Mark the parts of a block that was not found as a whole. Return the number of missing
        letters and the block's end.
        """
        missing = 0
        for part in block.parts:
            position = self._page.letters.find(part, offset, offset + _MAX_GAP + len(part))
            if position < 0:
                lost_letters, offset = self._mark_runs(part, offset)
                missing += lost_letters
            else:
                self._mark(position, len(part))
                offset = position + len(part)
        return missing, offset

    def _mark_runs(self, part: str, offset: int) -> tuple[int, int]:
        """Mark the longest runs of letters that a part and the page share, in the same order."""
        letters = self._page.letters
        number, missing, misses = 0, 0, 0
        while number < len(part):
            seed = part[number : number + _SEED_LETTERS]
            position = letters.find(seed, offset, offset + _MAX_GAP)
            if position < 0 and len(seed) == _SEED_LETTERS and misses < _MAX_MISSES:
                misses += 1
                position = letters.find(seed, offset)
                position = position if position >= 0 else letters.find(seed)
            if position < 0:
                number, missing = number + 1, missing + 1
                continue
            length = _common_length(part, number, letters, position)
            self._mark(position, length)
            number, offset = number + length, position + length
        return missing, offset


def _common_length(one: str, start: int, other: str, other_start: int) -> int:
    length, step = 0, 32
    while step:
        stop = length + step
        chunk = one[start + length : start + stop]
        if chunk and chunk == other[other_start + length : other_start + stop]:
            length += len(chunk)
        else:
            step //= 2
    return length


def _keep_marked(page: PageTexts, marks: bytearray) -> None:
    by_block: dict[int, list[Piece]] = {}
    for piece in page.pieces:
        by_block.setdefault(piece.block, []).append(piece)
        marked = marks.count(1, piece.start, piece.end)
        piece.kept = 2 * marked > piece.end - piece.start
    for number, pieces in by_block.items():
        min_share = _MIN_SHARE_BY_KIND.get(page.kinds[number], _MIN_SHARE)
        kept = sum(piece.end - piece.start for piece in pieces if piece.kept)
        if not kept:
            continue
        total = sum(piece.end - piece.start for piece in pieces)
        if kept >= min_share * total or _has_only_inline_words(pieces, total):
            for piece in pieces:
                piece.kept = True
        else:
            _keep_gaps(pieces, kept)
            _keep_punctuation(pieces)
    for first, last in page.wholes:
        items = page.pieces[first:last]
        kept = sum(piece.end - piece.start for piece in items if piece.kept)
        if kept and kept >= _MIN_LIST_SHARE * (items[-1].end - items[0].start):
            for piece in items:
                piece.kept = True


def _has_only_inline_words(pieces: list[Piece], total: int) -> bool:
    """
    Return True if all that is kept of a sentence is in links or code.

    trafilatura may lose an entry's text and keep only the elements in it.
    """
    inline = [piece for piece in pieces if piece.holder.tag in _INLINE_WORDS]
    letters = sum(piece.end - piece.start for piece in inline)
    kept = {id(piece) for piece in pieces if piece.kept and piece.end > piece.start}
    return kept <= {id(piece) for piece in inline} and letters <= _MAX_LINK_SHARE * total


def _keep_gaps(pieces: list[Piece], kept: int) -> None:
    """Keep short pieces between kept ones in a block, so that words do not merge."""
    kept_indexes = [
        index for index, piece in enumerate(pieces) if piece.kept and piece.end > piece.start
    ]
    between = pieces[kept_indexes[0] : kept_indexes[-1]]
    if (
        sum(piece.end - piece.start for piece in between if not piece.kept)
        <= kept + _MIN_LONG_LETTERS
    ):
        for piece in between:
            piece.kept = True


def _keep_punctuation(pieces: list[Piece]) -> None:
    """Keep a piece without letters if the piece before it, or else the one after it, is kept."""
    before = next((piece.kept for piece in pieces if piece.end > piece.start), False)
    for piece in pieces:
        if piece.end == piece.start:
            piece.kept = before
        before = piece.kept


def _keep_repeated(page: PageTexts) -> None:
    """
    Keep paragraphs that repeat a fully kept sibling, such as refrains.

    trafilatura omits repeated text, because it is usually a menu.
    """
    kept: set[tuple[Any, str]] = set()
    omitted: list[tuple[tuple[Any, str], Piece]] = []
    for piece in page.pieces:
        if (
            piece.is_tail
            or piece.end - piece.start < _MIN_LONG_LETTERS
            or piece.holder.tag not in _PARAGRAPHS
        ):
            continue
        paragraph = piece.holder.getparent(), page.letters[piece.start : piece.end]
        if piece.kept:
            kept.add(paragraph)
        else:
            omitted.append((paragraph, piece))
    for paragraph, piece in omitted:
        if paragraph in kept:
            piece.kept = True


_PARAGRAPHS = frozenset({"p", "div", "li", "blockquote"})


def _keep_between(page: PageTexts) -> None:
    """
    Keep blocks between two partly kept siblings.

    trafilatura omits repeated paragraphs, headings, some lists, and code in figures.
    """
    kept_elements: set[Any] = set()
    for piece in page.pieces:
        if piece.kept and piece.end > piece.start:
            element = piece.holder
            while element is not None and element not in kept_elements:
                kept_elements.add(element)
                element = element.getparent()
    for parent in [element for element in kept_elements if len(element) > MIN_SIBLINGS]:
        children = list(parent)
        kept = [number for number, child in enumerate(children) if child in kept_elements]
        if len(kept) < MIN_SIBLINGS:
            continue
        for child in children[kept[0] + 1 : kept[-1]]:
            if child not in kept_elements and child in page.spans and _may_stand_between(child):
                for piece in page.pieces[slice(*page.spans[child])]:
                    piece.kept = True


MIN_SIBLINGS = 2


def _keep_announced(page: PageTexts) -> None:
    for element, (first, last) in page.spans.items():
        inside = page.pieces[first:last]
        if element.tag not in _ANNOUNCED or any(
            piece.kept and piece.end > piece.start for piece in inside
        ):
            continue
        announcing = _announcing_letters(page, first) if inside else 0
        if announcing >= _MIN_ANNOUNCING_SENTENCE or (announcing and _may_stand_between(element)):
            for piece in inside:
                piece.kept = True


_ANNOUNCED = frozenset({"ul", "ol", "blockquote", "pre", "code"})
_MIN_ANNOUNCING_SENTENCE = 50
"""
A sentence with this many letters may announce a list of links. A shorter text, such as
`Read also:`, announces teasers.
"""


def _announcing_letters(page: PageTexts, first: int) -> int:
    """Return how many letters of the text that ends with a colon before a piece are kept, or 0."""
    for number in range(first - 1, max(-1, first - 1 - _MAX_PIECES_BEFORE), -1):
        piece = page.pieces[number]
        text = (piece.element.tail if piece.is_tail else piece.element.text) or ""
        if text.strip():
            is_announced = piece.kept and text.rstrip().endswith((":", "："))
            return piece.end - page.starts[piece.block] if is_announced else 0
    return 0


_MAX_PIECES_BEFORE = 20
"""Maximum pieces examined before a list. White space counts as a piece."""


def _may_stand_between(block: Any) -> bool:
    """Return True for a block with few links, unless it is a figure without code."""
    if block.tag == "figure" and not any("\n" in (code.text or "") for code in block.iter("code")):
        return False
    total = len(letters_of("".join(block.itertext())))
    links = sum(len(letters_of("".join(link.itertext()))) for link in block.iter("a"))
    return links <= _MAX_LINK_SHARE * total
