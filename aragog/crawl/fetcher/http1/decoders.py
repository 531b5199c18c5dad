"""
Incremental decoders for content and transfer codings, with limited output.

A call returns at most `free_bytes` bytes, so a decompression bomb cannot use up memory. If there is
more output, the decoder sets `overflowed` and drops the rest.

Bytes after the end of a stream are ignored, as in browsers and gzip(1).
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol

import brotli
import zstandard

from aragog.crawl.fetcher.faults import UnsupportedContent
from aragog.crawl.fetcher.http1.head import check_coding_count
from aragog.crawl.fetcher.http1.mislabeled_text import MislabeledTextDecoder

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"

# RFC 9659 limits the window of the zstd content coding to 8 MB.
ZSTD_WINDOW_BYTES = 8 << 20

# Four bytes of zstd can decode to 128 KiB, and the binding cannot limit output, so chunks must be
# small.
ZSTD_CHUNK_BYTES = 512

# Maximum number of members or frames in a stream. bgzip writes one per 64 KB; an attacker can
# write one per 20 bytes.
MAX_STREAM_PARTS = 1000


class Decoder(Protocol):
    """Decodes one coding."""

    overflowed: bool
    """True once output exceeded `free_bytes`. Do not call `feed` after that."""

    def feed(self, data: bytes, free_bytes: int) -> bytes:
        """Return at most `free_bytes` decoded bytes. Raises UnsupportedContent for invalid data."""

    def end(self, free_bytes: int, *, complete: bool) -> bytes:
        """
        Return the remaining output, at most `free_bytes` bytes.

        `complete` is False if the input was cut off.
        """

    def truncation_error(self) -> str | None:
        """Return an error message if the stream ended too early, or None."""


class _Coding(ABC):
    name: ClassVar[str]
    overflowed = False

    def truncation_error(self) -> str | None:
        return None if self._is_complete() else f"{self.name} stream ended early"

    @abstractmethod
    def feed(self, data: bytes, free_bytes: int) -> bytes:
        """See `Decoder.feed`."""

    @abstractmethod
    def _is_complete(self) -> bool:
        """Return True if the stream may end here. An empty stream may."""


class _Gzip(_Coding):
    """Decodes gzip members. Tolerates a missing trailer and data after the last member."""

    name = "gzip"

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(wbits=31)
        self._carry = b""
        self._member_count = 1
        self._has_output = False
        """True once the current member has produced output."""

    def feed(self, data: bytes, free_bytes: int) -> bytes:
        pieces: list[bytes] = []
        data, self._carry = self._carry + data, b""
        while data:
            if self._inflate.eof and not self._start_next_member(data):
                break
            try:
                piece = self._inflate.decompress(data, free_bytes + 1)
            except zlib.error as error:
                if self._member_count > 1 and not self._has_output:
                    break
                raise UnsupportedContent(f"{self.name}: {error}") from error
            self._has_output = self._has_output or bool(piece) or self._member_count == 1
            pieces.append(piece[:free_bytes])
            if len(piece) > free_bytes:
                self.overflowed = True
                break
            free_bytes -= len(piece)
            data = self._inflate.unused_data
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _start_next_member(self, data: bytes) -> bool:
        """
        Start the next member if `data` begins one.

        Returns False if it does not (browsers and gzip(1) skip such data), or if more bytes are
        needed.
        """
        if len(data) == 1 and data == GZIP_MAGIC[:1]:
            self._carry = data
            return False
        if not data.startswith(GZIP_MAGIC):
            return False
        self._member_count += 1
        if self._member_count > MAX_STREAM_PARTS:
            raise UnsupportedContent(f"more than {MAX_STREAM_PARTS} gzip members")
        self._inflate, self._has_output = zlib.decompressobj(wbits=31), False
        return True

    def _is_complete(self) -> bool:
        return self._inflate.eof or not self._has_output or _lacks_only_trailer(self._inflate)


def _lacks_only_trailer(inflate: zlib._Decompress) -> bool:
    """
    Return True if only the checksum is missing.

    Tries to continue with zeros and with 0xff bytes. If only the checksum is missing, zlib takes
    both for the checksum. In any other state, zlib takes them for compressed data. One of them may
    happen to end a block, but never both.
    """
    return all(_reaches_checksum(inflate.copy(), fill) for fill in (bytes(8), b"\xff" * 8))


def _reaches_checksum(inflate: zlib._Decompress, data: bytes) -> bool:
    """Return True if zlib reaches a checksum, correct or not, with the input `data`."""
    try:
        inflate.decompress(data)
    except zlib.error as error:
        return "incorrect data check" in str(error) or "incorrect length check" in str(error)
    return inflate.eof


class _Deflate(_Coding):
    """Decodes `deflate` with a zlib header (RFC 9110) or, as some servers send it, without."""

    name = "deflate"

    def __init__(self) -> None:
        self._inflate: zlib._Decompress | None = None
        self._has_zlib_header = False
        self._first_bytes = b""
        self._has_output = False

    def feed(self, data: bytes, free_bytes: int) -> bytes:
        if self._inflate is None:
            self._first_bytes += data
            if len(self._first_bytes) < 2:
                return b""
            data = self._first_bytes
            self._has_zlib_header = (
                data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0
            )
            self._inflate = zlib.decompressobj(wbits=15 if self._has_zlib_header else -15)
        if self._inflate.eof:
            return b""
        try:
            piece = self._inflate.decompress(data, free_bytes + 1)
        except zlib.error as error:
            if self._has_output or self._first_bytes != data:
                raise UnsupportedContent(f"{self.name}: {error}") from error
            piece = self._decode_raw(data, free_bytes)
        self._has_output = self._has_output or bool(piece)
        if len(piece) > free_bytes:
            self.overflowed = True
        return piece[:free_bytes]

    def _decode_raw(self, data: bytes, free_bytes: int) -> bytes:
        """Try again as raw deflate, in case the first two bytes only looked like a zlib header."""
        self._inflate, self._has_zlib_header = zlib.decompressobj(wbits=-15), False
        try:
            return self._inflate.decompress(data, free_bytes + 1)
        except zlib.error as error:
            raise UnsupportedContent(f"{self.name}: {error}") from error

    def _is_complete(self) -> bool:
        if self._inflate is None:
            return not self._first_bytes
        return self._inflate.eof or (self._has_zlib_header and _lacks_only_trailer(self._inflate))


class _Brotli(_Coding):
    """
    Decodes one stream. If bytes follow its end, the binding raises an error and drops that call's
    output.
    """

    name = "br"

    def __init__(self) -> None:
        self._decompress = brotli.Decompressor()
        self._inputs: list[bytes] = []

    def feed(self, data: bytes, free_bytes: int) -> bytes:
        if self._decompress.is_finished():
            return b""
        try:
            piece = self._process(data, free_bytes)
        except brotli.error as error:
            piece = self._decode_to_end(data, free_bytes, error)
        self._inputs.append(data)
        return piece

    def _process(self, data: bytes, free_bytes: int) -> bytes:
        pieces: list[bytes] = []
        size = 0
        while True:
            piece = self._decompress.process(data, output_buffer_limit=free_bytes + 1 - size)
            pieces.append(piece)
            size += len(piece)
            if size > free_bytes:
                self.overflowed = True
                return b"".join(pieces)[:free_bytes]
            if self._decompress.can_accept_more_data() or self._decompress.is_finished():
                return pieces[0] if len(pieces) == 1 else b"".join(pieces)
            data = b""

    def _decode_to_end(self, data: bytes, free_bytes: int, first_error: brotli.error) -> bytes:
        """Decode everything again, the last chunk byte by byte, to find the stream's end."""
        self._decompress = brotli.Decompressor()
        for previous_input in self._inputs:
            self._decompress.process(previous_input)
        pieces: list[bytes] = []
        try:
            for position in range(len(data)):
                pieces.append(self._process(data[position : position + 1], free_bytes))
                free_bytes -= len(pieces[-1])
                if self.overflowed or self._decompress.is_finished():
                    return b"".join(pieces)
        except brotli.error as error:
            raise UnsupportedContent(f"{self.name}: {error}") from error
        raise UnsupportedContent(f"{self.name}: {first_error}") from first_error

    def _is_complete(self) -> bool:
        return self._decompress.is_finished() or not self._inputs


class _Zstd(_Coding):
    """Decodes frames (RFC 8878 section 3). Tolerates data after the last one."""

    name = "zstd"

    def __init__(self) -> None:
        self._context = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_BYTES)
        self._frame = self._context.decompressobj(write_size=65_536)
        self._carry = b""
        self._frame_count = 1
        self._has_output = False
        """True once the current frame has produced output."""
        self._has_started = self._has_ended = False

    def feed(self, data: bytes, free_bytes: int) -> bytes:
        pieces: list[bytes] = []
        data, self._carry = self._carry + data, b""
        position = 0
        while position < len(data) and not self._has_ended:
            if self._frame.eof and not self._start_next_frame(data[position : position + 4]):
                break
            chunk = data[position : position + ZSTD_CHUNK_BYTES]
            try:
                piece = self._frame.decompress(chunk)
            except zstandard.ZstdError as error:
                if self._frame_count > 1 and not self._has_output:
                    self._has_ended = True
                    break
                raise UnsupportedContent(f"{self.name}: {error}") from error
            self._has_started = True
            self._has_output = self._has_output or bool(piece)
            position += len(chunk) - len(self._frame.unused_data)
            pieces.append(piece[:free_bytes])
            if len(piece) > free_bytes:
                self.overflowed = True
                break
            free_bytes -= len(piece)
        return b"".join(pieces)

    def _start_next_frame(self, start: bytes) -> bool:
        """
        Start the next frame if `start` begins one.

        Returns False if it does not, or if more bytes are needed.
        """
        if not _starts_zstd_frame(start):
            self._has_ended = True
            return False
        if len(start) < 4:
            self._carry = start
            return False
        self._frame_count += 1
        if self._frame_count > MAX_STREAM_PARTS:
            raise UnsupportedContent(f"more than {MAX_STREAM_PARTS} zstd frames")
        self._frame = self._context.decompressobj(write_size=65_536)
        self._has_output = False
        return True

    def _is_complete(self) -> bool:
        is_finished = self._has_ended or self._frame.eof or not self._has_started
        return is_finished or (self._frame_count > 1 and not self._has_output)


def _starts_zstd_frame(start: bytes) -> bool:
    """Return True if these (up to four) bytes begin a frame or a skippable frame."""
    is_skippable = 0x50 <= start[0] <= 0x5F and b"\x2a\x4d\x18".startswith(start[1:])
    return ZSTD_MAGIC.startswith(start) or is_skippable


_DECODERS: dict[str, Callable[[], Decoder]] = {
    "gzip": lambda: MislabeledTextDecoder(_Gzip()),
    "x-gzip": lambda: MislabeledTextDecoder(_Gzip()),
    "deflate": lambda: MislabeledTextDecoder(_Deflate()),
    "x-deflate": lambda: MislabeledTextDecoder(_Deflate()),
    "br": lambda: MislabeledTextDecoder(_Brotli(), empty_body=b";"),
    "zstd": lambda: MislabeledTextDecoder(_Zstd()),
}

ACCEPT_ENCODING = "gzip, deflate, br, zstd"


def decoders_for(content_codings: Sequence[str], transfer_codings: Sequence[str]) -> list[Decoder]:
    """
    Return the decoders, in the order to apply them.

    Unknown names get no decoder: servers send charsets and media types here (`UTF-8`, `binary`,
    `text/html`), and browsers pass such bodies through. Real codings that were not requested
    (`compress`) get none either. The caller decides what to do with such a body.

    Raises:
        TransportError: more than five codings.
    """
    names = [name.partition(";")[0].rstrip() for name in (*content_codings, *transfer_codings)]
    names = [name for name in names if name in _DECODERS]
    check_coding_count(names, "content")
    return [_DECODERS[name]() for name in reversed(names)]


def has_unknown_coding(values: Sequence[str]) -> bool:
    """Return True if Content-Encoding names a coding without a decoder."""
    names = {
        part.partition(";")[0].strip() for value in values for part in value.lower().split(",")
    }
    return bool(names - _DECODERS.keys() - {"identity", "none", ""})
