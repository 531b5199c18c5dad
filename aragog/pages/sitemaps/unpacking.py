"""The bytes of a sitemap in pieces, without gzip."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

MAX_BYTES = 52_428_800
"""Maximum size after decompression."""
PIECE_BYTES = 65_536
_PACKED_BYTES = 16_384


class Unpacked:
    """A body without gzip (any number of members), in chunks; `complete` if that was all."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.complete = True

    def __iter__(self) -> Iterator[bytes]:
        room = MAX_BYTES
        packed = self._body.startswith(b"\x1f\x8b")
        for piece in self._members() if packed else _slices(self._body):
            yield piece[:room]
            room -= len(piece)
            if room < 0:
                self.complete = False
                return

    def _members(self) -> Iterator[bytes]:
        at, body = 0, self._body
        while body.startswith(b"\x1f\x8b", at):
            inflate = zlib.decompressobj(wbits=31)
            while not inflate.eof and at < len(body):
                data = body[at : at + _PACKED_BYTES]
                at += len(data)
                try:
                    while data:
                        yield inflate.decompress(data, PIECE_BYTES)
                        data = inflate.unconsumed_tail
                except zlib.error:
                    self.complete = False
                    return
            at -= len(inflate.unused_data)
            if not inflate.eof:
                self.complete = False
                return


def _slices(data: bytes) -> Iterator[bytes]:
    return (data[at : at + PIECE_BYTES] for at in range(0, len(data), PIECE_BYTES))
