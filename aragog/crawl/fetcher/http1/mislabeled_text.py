"""Passes through a text body that is wrongly labeled with a content coding."""

from __future__ import annotations

import codecs
from typing import ClassVar, Protocol

from aragog.crawl.fetcher.faults import UnsupportedContent


class Coding(Protocol):
    """The decoder of a body with a content coding; see `decoders.Decoder`."""

    name: ClassVar[str]
    overflowed: bool

    def feed(self, data: bytes, room: int) -> bytes:
        """See `Decoder.feed`."""

    def missing(self) -> str | None:
        """See `Decoder.missing`."""


class UnlessText:
    """
    A decoder of one coding that passes through text labeled with that coding by mistake.

    Browsers show an error for such a body, and RFC 9110 does not say what to do. An error here
    would lose the page, or with robots.txt the whole site, although all of the text has arrived.
    Some texts begin like a coded stream, and decoding would make them empty or garbage. So the
    bytes are checked first: a body is text if its first `_FIRST` bytes contain none that never
    occurs in text. In 140,000 coded streams, one of the first 15 bytes was such a byte or was not
    UTF-8. A shorter body is text if it is UTF-8, or if it cannot be decoded (`end`).

    If binary bytes follow after the body was taken for text, the data is damaged: an error.
    """

    def __init__(self, decoder: Coding, empty: bytes = b"") -> None:
        self._decoder = decoder
        self._empty = empty
        """An empty coded stream that would look like text."""
        self._first = b""
        """Bytes that arrived before it was decided whether the body is text."""
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
        # If a stream was cut this early, its few decoded bytes may really be text: keep nothing.
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
"""Up to this many bytes of a truncated stream may be UTF-8 by chance."""


def _is_text(data: bytes) -> bool:
    return len(data.translate(None, _NO_TEXT)) == len(data)


def _is_utf8(data: bytes) -> bool:
    """Return True if the data is UTF-8. It may end inside a character."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return False
    return True


_NO_TEXT = bytes([*range(0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)])
"""Bytes that never occur in text of an ASCII-compatible encoding (MIME Sniffing section 3)."""
