"""The text blocks of a page's tree, with their pieces and what is kept of them."""

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
        shown = (each.element.tail if each.is_tail else each.element.text for each in self.pieces)
        return " ".join("".join(each or "" for each in shown).split())

    def leave_out(self) -> None:
        for piece in self.pieces:
            piece.kept = False


def text_blocks(texts: PageTexts) -> Iterator[TextBlock]:
    """Yield the blocks with letters, in document order."""
    for number, pieces in groupby(texts.pieces, key=lambda piece: piece.block):
        own = list(pieces)
        letters = texts.letters[own[0].start : own[-1].end].casefold()
        if letters:
            yield TextBlock(number, own, letters)
