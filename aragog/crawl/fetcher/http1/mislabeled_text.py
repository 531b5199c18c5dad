"""Handles text bodies that a Content-Encoding header wrongly declares as compressed."""

from __future__ import annotations

import codecs
from typing import ClassVar, Protocol

from aragog.crawl.fetcher.faults import UnsupportedContent


class Coding(Protocol):
    """The decoder of a content coding; see `decoders.Decoder`."""

    name: ClassVar[str]
    overflowed: bool

    def feed(self, data: bytes, free_bytes: int) -> bytes:
        """See `Decoder.feed`."""

    def truncation_error(self) -> str | None:
        """See `Decoder.truncation_error`."""


class MislabeledTextDecoder:
    """
    Wraps a decoder, and passes through text that was never encoded.

    Browsers show an error for such a body. We would lose the page (or, for robots.txt, the whole
    site) although its text has arrived. Some text begins like encoded data, so the bytes are
    checked first: a body is text if each of its first `_PROBE_BYTES` bytes can occur in text. We
    tried 140,000 encoded streams: the first 15 bytes of each contained a byte that does not occur
    in text, or were not UTF-8. A shorter body is text if it is UTF-8, or if it cannot be decoded
    (`end`).

    If a body classified as text later contains binary bytes, the decoder raises
    `UnsupportedContent`.
    """

    def __init__(self, decoder: Coding, empty_body: bytes = b"") -> None:
        self._decoder = decoder
        self._encoded_empty_body = empty_body
        """An empty body's encoded form, if it looks like text."""
        self._prefix = b""
        """Bytes received before the body was classified."""
        self._is_text: bool | None = None
        self.overflowed = False

    def feed(self, data: bytes, free_bytes: int) -> bytes:
        if self._is_text is None:
            data = self._prefix + data
            start = data[:_PROBE_BYTES]
            if _is_text(start) and len(start) < _PROBE_BYTES:
                self._prefix = data
                return b""
            self._is_text, self._prefix = _is_text(start), b""
        return (
            self._pass_through(data, free_bytes)
            if self._is_text
            else self._decode(data, free_bytes)
        )

    def end(self, free_bytes: int, *, complete: bool) -> bytes:
        data, self._prefix = self._prefix, b""
        if not data or data == self._encoded_empty_body:
            return b""
        if _is_utf8(data) and (complete or len(data) > _MAX_AMBIGUOUS_BYTES):
            self._is_text = True
            return self._pass_through(data, free_bytes)
        try:
            decoded = self._decode(data, free_bytes)
        except UnsupportedContent:
            self._is_text, self.overflowed = True, False
            return self._pass_through(data, free_bytes)
        # If the stream was cut off this early, the decoded bytes may be text that was never
        # encoded. Drop them.
        return b"" if self.truncation_error() else decoded

    def _decode(self, data: bytes, free_bytes: int) -> bytes:
        decoded = self._decoder.feed(data, free_bytes)
        self.overflowed = self._decoder.overflowed
        return decoded

    def _pass_through(self, data: bytes, free_bytes: int) -> bytes:
        if not _is_text(data):
            raise UnsupportedContent(f"{self._decoder.name}: the data has another coding")
        self.overflowed = len(data) > free_bytes
        return data[:free_bytes]

    def truncation_error(self) -> str | None:
        return None if self._is_text else self._decoder.truncation_error()


_PROBE_BYTES = 256
_MAX_AMBIGUOUS_BYTES = 16
"""A truncated encoded stream up to this length may be UTF-8 by chance."""


def _is_text(data: bytes) -> bool:
    return len(data.translate(None, _NON_TEXT_BYTES)) == len(data)


def _is_utf8(data: bytes) -> bool:
    """Return True if the data is UTF-8, possibly ending inside a character."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return False
    return True


_NON_TEXT_BYTES = bytes([*range(0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)])
"""Bytes that never occur in ASCII-compatible text (MIME Sniffing section 3)."""
