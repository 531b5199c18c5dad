"""The text blocks in a page's tree, and which of their pieces are kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from richpins.article.page_texts import PageTexts, Piece

_WIDE = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_WIDE_WEIGHT = 3
"""A character of Chinese, Japanese or Korean is worth this many letters of other scripts."""


@dataclass(frozen=True, slots=True)
class TextBlock:
    """The pieces of one text block."""

    number: int
    pieces: list[Piece]
    letters: str

    @property
    def is_kept(self) -> bool:
        return any(piece.kept and piece.end > piece.start for piece in self.pieces)

    @property
    def weight(self) -> int:
        """The number of letters that a text of this length has in an alphabet."""
        if self.letters.isascii():
            return len(self.letters)
        return len(self.letters) + (_WIDE_WEIGHT - 1) * len(_WIDE.findall(self.letters))

    @property
    def text(self) -> str:
        texts = (
            piece.element.tail if piece.is_tail else piece.element.text for piece in self.pieces
        )
        return " ".join("".join(text or "" for text in texts).split())

    def remove(self) -> None:
        for piece in self.pieces:
            piece.kept = False


def text_blocks(texts: PageTexts) -> Iterator[TextBlock]:
    """Yield the blocks with letters, in document order."""
    for number, pieces in groupby(texts.pieces, key=lambda piece: piece.block):
        block_pieces = list(pieces)
        letters = texts.letters[block_pieces[0].start : block_pieces[-1].end].casefold()
        if letters:
            yield TextBlock(number, block_pieces, letters)
