"""
The records of a WARC file (ISO 28500), compressed with gzip or not, each with bounded memory.

What cannot be read as a record is reported, and reading continues with the next line that begins a
record: a damaged record costs no other.
"""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO, cast

from aragog.transfer.lines import DAMAGED, bounded_line

MAX_HEADER_BYTES = 65_536
"""All named fields of one record; a URL is the longest of them."""
_SKIPPED_BYTES = 65_536
_VERSION = re.compile(rb"WARC/\d\.\d+\s*$")
_GZIP = b"\x1f\x8b"


class BadWarc(ValueError):
    """A part of the file is no record; never raised to callers."""


@dataclass(slots=True)
class WarcRecord:
    """One record; its block is read before the next record is asked for."""

    fields: Mapping[str, str]
    """The first value of each named field, by lower-case name."""
    left: int
    """Bytes of the block that were not read yet."""
    _stream: BinaryIO

    @property
    def kind(self) -> str:
        """The WARC-Type: `response`, `resource`, ..."""
        return self.fields.get("warc-type", "")

    @property
    def is_cut_off(self) -> bool:
        """After the block was read: the file ends within it, or cannot be decompressed there."""
        return self.left > 0

    def read(self, most: int) -> bytes:
        """Up to `most` of the next bytes of the block; b"" at its end, and where it is damaged."""
        data = b""
        with suppress(*DAMAGED):
            data = self._stream.read(min(most, self.left)) if self.left else b""
        self.left -= len(data)
        return data

    def skip(self) -> None:
        """Pass over what is left of the block."""
        while self.left and self.read(_SKIPPED_BYTES):
            pass


def read_records(stream: BinaryIO) -> Iterator[tuple[int, WarcRecord | BadWarc]]:
    """
    Yield the records of a file with their numbers, from 1, and what is no record.

    The stream stays open. A file that is damaged, or cut short, ends with a report.
    """
    buffered = stream if isinstance(stream, io.BufferedReader) else _buffered(stream)
    is_packed = buffered.peek(2)[:2] == _GZIP
    source = cast("BinaryIO", gzip.GzipFile(fileobj=buffered)) if is_packed else buffered
    number = 0
    try:
        for record in _records(source):
            number += 1
            yield number, record
    except DAMAGED as error:
        yield number + 1, BadWarc(f"the file ends here: {error}")


def _buffered(stream: BinaryIO) -> io.BufferedReader:
    return io.BufferedReader(cast("io.RawIOBase", stream))


def _records(stream: BinaryIO) -> Iterator[WarcRecord | BadWarc]:
    is_lost = False
    while version := _next_line(stream):
        if not _VERSION.match(version):
            if not is_lost:
                yield BadWarc("is no record; the next one is looked for")
            is_lost = True
            continue
        try:
            fields = _fields(stream)
            record = WarcRecord(fields, _length(fields), stream)
        except BadWarc as problem:
            yield problem
            is_lost = True
            continue
        is_lost = False
        yield record
        record.skip()
        if record.is_cut_off:
            yield BadWarc("the file ends within the record before, or is damaged there")
            return


def _next_line(stream: BinaryIO) -> bytes:
    """The next line that is not blank; b"" at the end."""
    while (line := bounded_line(stream, MAX_HEADER_BYTES)[0]) and not line.strip():
        pass
    return line


def _fields(stream: BinaryIO) -> dict[str, str]:
    fields: dict[str, str] = {}
    name, room = "", MAX_HEADER_BYTES
    while (line := stream.readline(room + 1)).strip():
        room -= len(line)
        if room < 0:
            raise BadWarc(f"has a header of more than {MAX_HEADER_BYTES:,} bytes")
        text = line.decode("utf-8", "surrogateescape").rstrip("\r\n")
        if text[0] in " \t" and name:
            fields[name] = f"{fields[name]} {text.strip()}"
            continue
        name, _, value = text.partition(":")
        name = name.strip().lower()
        fields.setdefault(name, value.strip())
    return fields


def _length(fields: Mapping[str, str]) -> int:
    length = fields.get("content-length", "")
    if not (length.isascii() and length.isdigit() and len(length) < 19):
        raise BadWarc(f"has no Content-Length: {length[:40]!r}")
    return int(length)
