"""
The body of one answer: pieces from the wire in, decoded bytes out, within bounds.

What arrived stands: a body that ended early is kept and marked, unless nothing of it arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from aragog.fetcher.faults import LimitExceeded, TransportError
from aragog.fetcher.http1.decoders import Decoder

# HTML rarely shrinks below a thirtieth; more than this is made to hurt.
BOMB_RATIO = 100

# As much as a look at the content needs (the WHATWG's MIME sniffing reads 1445 bytes at most).
PEEK_BYTES = 1445


@dataclass(frozen=True, slots=True)
class Body:
    """What became of a body."""

    data: bytes
    truncated_why: str | None
    """None when it is whole."""
    wire_bytes: int
    """As sent, without chunk framing."""
    drained: bool
    """True when the wire's body was read to its end, so that its connection may be used again."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Caps of one body."""

    max_wire_bytes: int
    max_body_bytes: int


def collect(
    pieces: Iterable[bytes],
    decoders: Sequence[Decoder],
    bounds: Bounds,
    look: Callable[[bytes], None] = lambda _: None,
) -> Body:
    """
    All of `pieces`, decoded.

    Args:
        pieces: of the wire; may raise TransportError.
        decoders: in the order of application.
        bounds: beyond them the body is cut, and marked so.
        look: called once with the first decoded bytes (1445, or all there are); may raise
        UnsupportedContent.

    Raises:
        TransportError: it ended before anything arrived, or took too long.
        Excess: a bomb.
        UnsupportedContent: data that does not decode; what `look` raises.
    """
    return _Collector(decoders, bounds, look).collect(pieces)


class _Collector:
    def __init__(
        self, decoders: Sequence[Decoder], bounds: Bounds, look: Callable[[bytes], None]
    ) -> None:
        self._decoders = decoders
        self._bounds = bounds
        self._look: Callable[[bytes], None] | None = look
        self._out: list[bytes] = []
        self._size = 0
        self._wire = 0

    def collect(self, pieces: Iterable[bytes]) -> Body:
        why: str | None = None
        drained = False
        try:
            for piece in pieces:
                if why := self._take(piece):
                    break
            else:
                drained = True
        except TransportError as broken:
            if broken.kind == "timeout" or not self._wire:
                raise
            why = broken.why
        self._peek(final=True)
        if why is None:
            why = next((m for d in reversed(self._decoders) if (m := d.missing())), None)
        data = self._out[0] if len(self._out) == 1 else b"".join(self._out)
        return Body(data, why, self._wire, drained)

    def _take(self, piece: bytes) -> str | None:
        """Keeps what `piece` decodes to; a reason when the body ends here."""
        room = self._bounds.max_wire_bytes - self._wire
        cut = len(piece) > room
        piece = piece[:room] if cut else piece
        self._wire += len(piece)
        for decoder in self._decoders:
            piece = decoder.feed(piece, self._bounds.max_body_bytes - self._size)
            if decoder.overflowed:
                return self._overflow(piece, inner=decoder is not self._decoders[-1])
        room = self._bounds.max_body_bytes - self._size
        if len(piece) > room:
            self._keep(piece[:room])
            return f"cut at {self._bounds.max_body_bytes} bytes"
        self._keep(piece)
        return f"cut at {self._bounds.max_wire_bytes} bytes on the wire" if cut else None

    def _keep(self, piece: bytes) -> None:
        if piece:
            self._out.append(piece)
            self._size += len(piece)
            self._peek(final=False)

    def _peek(self, *, final: bool) -> None:
        if self._look is not None and (final or self._size >= PEEK_BYTES):
            look, self._look = self._look, None
            first = self._out[0] if self._out else b""
            look((first if len(first) >= PEEK_BYTES else b"".join(self._out))[:PEEK_BYTES])

    def _overflow(self, piece: bytes, *, inner: bool) -> str:
        """Past the cap in one coding; `inner` when another one is still to be undone."""
        limit = self._bounds.max_body_bytes
        if inner or limit > BOMB_RATIO * self._wire:
            raise LimitExceeded(f"a bomb: {self._wire} bytes decode to more than {limit}")
        self._keep(piece)
        return f"cut at {limit} bytes"
