"""Records as lines of JSON."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator, Sequence
from typing import BinaryIO

import zstandard

from aragog.urlstore.transfer.import_export import Read
from aragog.urlstore.transfer.records import BadRecord, UrlRecord, from_json, to_json

MAX_LINE_BYTES = 64 << 20


def read_json_lines(
    stream: BinaryIO, *, after: int = 0, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[Read]:
    """
    The non-empty lines of a stream after the first `after` lines; the last needs no newline.

    A line over `max_line_bytes` is reported as bad and not kept in memory. So is the rest of a file
    that is damaged or cut short, as far as its compression shows it.
    """
    for number in itertools.count(1):
        try:
            line, whole = _line(stream, max_line_bytes)
        except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
            yield number, BadRecord(f"the file cannot be read from here on: {error}")
            return
        if not line:
            return
        if number <= after or not line.strip():
            continue
        if not whole:
            yield number, BadRecord(f"is longer than {max_line_bytes >> 20} MiB")
            continue
        try:
            yield number, from_json(line)
        except BadRecord as error:
            yield number, error


def _line(stream: BinaryIO, max_line_bytes: int) -> tuple[bytes, bool]:
    """The next line, empty at the end; False: the rest of it was skipped."""
    line = rest = stream.readline(max_line_bytes)
    whole = len(line) < max_line_bytes or line.endswith(b"\n")
    while rest and not rest.endswith(b"\n"):
        rest = stream.readline(max_line_bytes)
    return line, whole


class JsonLinesSink:
    """Writes each record as a line of JSON to a stream."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, records: Sequence[UrlRecord]) -> None:
        self._stream.write(b"".join(map(to_json, records)))

    def close(self) -> None:
        self._stream.close()
