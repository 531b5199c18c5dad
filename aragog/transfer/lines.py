"""Read lines from untrusted files, with limited memory per line."""

from __future__ import annotations

import gzip
import itertools
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import zstandard

DAMAGE_ERRORS = (OSError, EOFError, zlib.error, zstandard.ZstdError, gzip.BadGzipFile)
"""Exceptions raised when a compressed file is damaged or truncated."""


SKIPPED_BYTES = 1 << 20


class TextLine(NamedTuple):
    """A line of text, or the reason why it could not be read."""

    number: int
    """Line number, from 1."""
    text: str
    """The line, including its newline; bytes that are not UTF-8 become surrogates."""
    problem: str = ""
    """
    Why the line was skipped (too long) or reading stopped (damaged file); empty for a complete
    line.
    """


def text_lines(stream: BinaryIO, max_bytes: int) -> Iterator[TextLine]:
    """Yield the lines of a stream. At most `max_bytes` of a line are kept in memory."""
    for number in itertools.count(1):
        try:
            line, is_whole = bounded_line(stream, max_bytes)
        except DAMAGE_ERRORS as error:
            yield TextLine(number, "", f"the file cannot be read from here on: {error}")
            return
        if not line:
            return
        if number == 1:
            line = line.removeprefix(BOM_UTF8)
        if is_whole:
            yield TextLine(number, line.decode("utf-8", "surrogateescape"))
        else:
            yield TextLine(number, "", f"is longer than {max_bytes >> 20} MiB")


def bounded_line(stream: BinaryIO, max_bytes: int) -> tuple[bytes, bool]:
    """
    Return the next line (empty at the end), and False if it was too long and its rest was
    skipped.
    """
    line = rest = stream.readline(max_bytes)
    is_whole = len(line) < max_bytes or line.endswith(b"\n")
    while rest and not rest.endswith(b"\n"):
        rest = stream.readline(min(max_bytes, SKIPPED_BYTES))
    return line, is_whole
