"""A body that is text although a content coding is named: it passes through as it is."""

from __future__ import annotations

import codecs
from typing import ClassVar, Protocol

from aragog.crawl.fetcher.faults import UnsupportedContent


class Coding(Protocol):
    """The decoder of a body with a content coding; see `decoders.Decoder`."""

    name: ClassVar[str]
    overflowed: bool

    def feed(self, data: bytes, room: int) -> bytes:
        """As `Decoder.feed`."""

    def missing(self) -> str | None:
        """As `Decoder.missing`."""


class UnlessText:
    """
    A decoder of one coding; text with a wrong label passes through, whatever the coding.

    Browsers show an error for it, and RFC 9110 leaves it open. Here it would lose the page, and
    with robots.txt the whole site, although all of the text has arrived. Some texts begin as a
    coded stream does and would come out empty or as garbage, so the bytes decide before anything
    is decoded: `_FIRST` bytes without one that text lacks are text. In 140,000 streams the first
    such byte, or the first that is not UTF-8, was one of the first 15. Fewer bytes are text if they
    are UTF-8, or if they are no stream (`end`).

    Text with one binary byte is damaged data, and an error.
    """

    def __init__(self, decoder: Coding, empty: bytes = b"") -> None:
        self._decoder = decoder
        self._empty = empty
        """A stream of nothing that looks like text."""
        self._first = b""
        """The bytes that arrived before the coding was known."""
        self._is_text: bool | None = None
        self.overflowed = False

    def feed(self, data: bytes, room: int) -> bytes:
        if self._is_text is None:
            data = self._first + data
            start = data[:_FIRST]
            if _is_text(start) and len(start) < _FIRST:
                self._first = data
                return b""
            self._is_text, self._first = _is_text(start), b""
        return self._passed(data, room) if self._is_text else self._decoded(data, room)

    def end(self, room: int, *, whole: bool) -> bytes:
        data, self._first = self._first, b""
        if not data or data == self._empty:
            return b""
        if _is_utf8(data) and (whole or len(data) > _CUT):
            self._is_text = True
            return self._passed(data, room)
        try:
            out = self._decoded(data, room)
        except UnsupportedContent:
            self._is_text, self.overflowed = True, False
            return self._passed(data, room)
        # Of a stream that was cut this early nothing is known, and its start may be a text's.
        return b"" if self.missing() else out

    def _decoded(self, data: bytes, room: int) -> bytes:
        out = self._decoder.feed(data, room)
        self.overflowed = self._decoder.overflowed
        return out

    def _passed(self, data: bytes, room: int) -> bytes:
        if not _is_text(data):
            raise UnsupportedContent(f"{self._decoder.name}: the data is of another coding")
        self.overflowed = len(data) > room
        return data[:room]

    def missing(self) -> str | None:
        return None if self._is_text else self._decoder.missing()


_FIRST = 256
_CUT = 16
"""As many bytes of a stream that was cut may be UTF-8 by chance."""


def _is_text(data: bytes) -> bool:
    return len(data.translate(None, _NO_TEXT)) == len(data)


def _is_utf8(data: bytes) -> bool:
    """Whether it is UTF-8, which may end inside a letter."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return False
    return True


_NO_TEXT = bytes([*range(0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)])
"""Bytes that never occur in text of an ASCII-compatible encoding (MIME Sniffing section 3)."""
