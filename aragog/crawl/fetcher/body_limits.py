"""
Collects and decodes a response body, within size limits.

An incomplete body is kept and marked as truncated, unless it is empty or timed out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from aragog.crawl.fetcher.faults import LimitExceeded, TransportError
from aragog.crawl.fetcher.http1.decoders import Decoder
from aragog.fetch_record.outcome import UnreachableKind

# HTML rarely compresses better than 30:1. A ratio above 100:1 is treated as an attack.
BOMB_RATIO = 100

# Bytes used for MIME sniffing (WHATWG MIME Sniffing section 5).
SNIFF_BYTES = 1445

# A compressed body is decoded in units of this size, counted from its start. Otherwise, the result
# of an error or a bomb would depend on how the data was split into packets.
UNIT_BYTES = 8192


@dataclass(frozen=True, slots=True)
class DecodedBody:
    """A received body."""

    data: bytes
    truncated_why: str | None
    """Why the body is incomplete; None if it is complete."""
    wire_bytes: int
    """Received bytes, without chunk framing."""
    is_drained: bool
    """True if the body was read to the end, so the connection can be reused."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Size limits for one body."""

    max_wire_bytes: int
    """Limit for the body as sent, including chunk lines and their extensions."""
    max_body_bytes: int
    """Limit for the body after decompression."""
    truncate_oversized: bool = False
    """True to truncate a body instead of refusing it if its Content-Length is too large or if it
    looks like a decompression bomb (for robots.txt, RFC 9309 section 2.5)."""


def collect(
    pieces: Iterable[bytes],
    decoders: Sequence[Decoder],
    bounds: Bounds,
    sniff: Callable[[bytes], None] = lambda _: None,
    framing_bytes: Callable[[], int] = lambda: 0,
) -> DecodedBody:
    """
    Decode `pieces` and return the body.

    Args:
        pieces: the received bytes; may raise TransportError.
        decoders: applied in this order.
        bounds: limits at which the body is truncated.
        sniff: called once with up to 1445 decoded bytes; may raise UnsupportedContent.
        framing_bytes: returns the size of chunk lines or frame headers so far.

    Raises:
        TransportError: no part of the body arrived, or it took too long.
        LimitExceeded: the body is a decompression bomb.
        UnsupportedContent: the data cannot be decoded, or `sniff` raised it.
    """
    return _Collector(decoders, bounds, sniff, framing_bytes).collect(pieces)


class _Collector:
    def __init__(
        self,
        decoders: Sequence[Decoder],
        bounds: Bounds,
        sniff: Callable[[bytes], None],
        framing_bytes: Callable[[], int],
    ) -> None:
        self._decoders = decoders
        self._bounds = bounds
        self._sniff: Callable[[bytes], None] | None = sniff
        self._framing_bytes = framing_bytes
        self._pieces: list[bytes] = []
        self._size = 0
        self._wire_bytes = 0
        self._incomplete_unit = b""
        self._decoded_wire_bytes = 0
        """Number of received bytes passed to the decoders."""

    def collect(self, pieces: Iterable[bytes]) -> DecodedBody:
        reason: str | None = None
        is_drained = False
        try:
            for piece in pieces:
                if reason := self._receive(piece):
                    break
            else:
                is_drained = True
                reason = self._decode_rest(complete=True)
        except TransportError as error:
            if error.kind is UnreachableKind.TIMEOUT or not self._wire_bytes:
                raise
            reason = self._decode_rest() or error.reason
        self._sniff_start(final=True)
        if reason is None:
            reason = next(
                (m for d in reversed(self._decoders) if (m := d.truncation_error())), None
            )
        data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        return DecodedBody(data, reason, self._wire_bytes, is_drained)

    def _receive(self, piece: bytes) -> str | None:
        """Decode and keep `piece`. If this truncates the body, returns the reason."""
        free_bytes = self._bounds.max_wire_bytes - self._wire_bytes - self._framing_bytes()
        is_cut = len(piece) > free_bytes
        piece = piece[: max(0, free_bytes)] if is_cut else piece
        self._wire_bytes += len(piece)
        reason = self._decode_units(piece) if self._decoders else self._keep_within_limit(piece)
        if reason is None and is_cut:
            reason = self._decode_rest()
            reason = reason or f"truncated at {self._bounds.max_wire_bytes} bytes on the wire"
        return reason

    def _decode_units(self, piece: bytes) -> str | None:
        data, position = self._incomplete_unit + piece if self._incomplete_unit else piece, 0
        while len(data) - position >= UNIT_BYTES:
            if reason := self._decode(data[position : position + UNIT_BYTES]):
                self._incomplete_unit = b""
                return reason
            position += UNIT_BYTES
        self._incomplete_unit = data[position:]
        return None

    def _decode_rest(self, *, complete: bool = False) -> str | None:
        """Decode the last unit, which may be incomplete, and finish the decoders."""
        data, self._incomplete_unit = self._incomplete_unit, b""
        if data and (reason := self._decode(data)):
            return reason
        for number, decoder in enumerate(self._decoders):
            unit = decoder.end(self._bounds.max_body_bytes - self._size, complete=complete)
            if decoder.overflowed:
                return self._handle_overflow(unit, inner=decoder is not self._decoders[-1])
            if unit and (reason := self._decode_with(self._decoders[number + 1 :], unit)):
                return reason
        return None

    def _decode(self, unit: bytes) -> str | None:
        self._decoded_wire_bytes += len(unit)
        return self._decode_with(self._decoders, unit)

    def _decode_with(self, decoders: Sequence[Decoder], unit: bytes) -> str | None:
        """Run `unit` through these decoders, which end the chain, and keep the output."""
        for decoder in decoders:
            unit = decoder.feed(unit, self._bounds.max_body_bytes - self._size)
            if decoder.overflowed:
                return self._handle_overflow(unit, inner=decoder is not self._decoders[-1])
        return self._keep_within_limit(unit)

    def _keep_within_limit(self, piece: bytes) -> str | None:
        free_bytes = self._bounds.max_body_bytes - self._size
        if len(piece) > free_bytes:
            self._keep(piece[:free_bytes])
            return f"truncated at {self._bounds.max_body_bytes} bytes"
        self._keep(piece)
        return None

    def _keep(self, piece: bytes) -> None:
        if piece:
            self._pieces.append(piece)
            self._size += len(piece)
            self._sniff_start(final=False)

    def _sniff_start(self, *, final: bool) -> None:
        if self._sniff is not None and (final or self._size >= SNIFF_BYTES):
            sniff, self._sniff = self._sniff, None
            first_piece = self._pieces[0] if self._pieces else b""
            start = first_piece if len(first_piece) >= SNIFF_BYTES else b"".join(self._pieces)
            sniff(start[:SNIFF_BYTES])

    def _handle_overflow(self, piece: bytes, *, inner: bool) -> str:
        """Handle output beyond the limit. `inner` is False for output of the last decoder."""
        limit, wire = self._bounds.max_body_bytes, self._decoded_wire_bytes
        if inner or (limit > BOMB_RATIO * wire and not self._bounds.truncate_oversized):
            raise LimitExceeded(f"decompression bomb: {wire} bytes decode to more than {limit}")
        self._keep(piece)
        return f"truncated at {limit} bytes"
