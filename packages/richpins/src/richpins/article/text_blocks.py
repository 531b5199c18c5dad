"""The text blocks in a page's tree, and which of their pieces are kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from richpins.article.page_texts import PageTexts, Piece


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
