"""
Read a dump of Nutch's crawldb: `nutch readdb crawldb -dump FOLDER`, with or without `-format csv`.

Each URL becomes a record with the time of its next fetch (`due_at_ms`) and the fields
`nutch.status` and `nutch.score`. URLs that Nutch has given up on (gone) or resolved to another URL
(redirects, duplicates) are skipped, because aragog detects these cases itself. Only one entry is in
memory at a time.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import BinaryIO

import orjson

from aragog.transfer.json_lines import BadRecord, ReadRecord, UrlRecord
from aragog.transfer.lines import TextLine, text_lines

STATUSES = frozenset({"db_unfetched", "db_fetched", "db_notmodified"})
_CSV_HEADER = "Url,Status code,Status name,Fetch Time"
_ENTRY = re.compile(r"(\S+)\tVersion: \d+\s*$")
_STATUS = re.compile(r"\d+ \((\w+)\)")
_DATE = re.compile(r"(\w{3} \w{3} \d{1,2} \d\d:\d\d:\d\d) (?:[A-Z][\w:+-]* )?(\d{4})")
MAX_LINE_BYTES = 1 << 20
MAX_VALUES = 100
"""Maximum number of lines kept per entry; Nutch writes eleven."""

Entry = tuple[int, str, Mapping[str, str]]
"""An entry's first line number, its URL, and its values or a `problem`."""


def is_csv(first_line: str) -> bool:
    """True if a dump with this first line is in CSV format."""
    return first_line.startswith(_CSV_HEADER)


def read_nutch(stream: BinaryIO, *, after: int = 0) -> Iterator[ReadRecord]:
    """
    Yield the URLs of a dump, each with the line where its entry starts.

    Args:
        stream: the dump.
        after: entries up to this line are skipped.
    """
    # Java writes CSV in Latin-1. Escaped URLs are ASCII, so reading them as UTF-8 is safe.
    lines = text_lines(stream, MAX_LINE_BYTES)
    first = next(lines, TextLine(1, ""))
    is_csv_dump = is_csv(first.text)
    entries = _csv_entries(lines) if is_csv_dump else _text_entries(itertools.chain([first], lines))
    for number, url, values in entries:
        if number > after and (record := _to_record(url, values)) is not None:
            yield number, record


def _csv_entries(lines: Iterable[TextLine]) -> Iterator[Entry]:
    names = ("url", "code", "status", "fetch time")
    for number, line, problem in lines:
        row = _parse_row(line)
        if problem:
            yield number, "", {"problem": problem}
        elif len(row) < 9:
            yield number, "", {"problem": f"has {len(row)} columns, not 11"}
        else:
            yield number, row[0], {**dict(zip(names, row, strict=False)), "score": row[8]}


def _parse_row(line: str) -> list[str]:
    try:
        return next(csv.reader([line]), [])
    except csv.Error:  # a field of more than 128 KiB
        return []


def _text_entries(lines: Iterable[TextLine]) -> Iterator[Entry]:
    first_line, url, values = 0, "", dict[str, str]()
    for number, line, problem in lines:
        if problem:
            yield number, "", {"problem": problem}
        elif match := _ENTRY.match(line):
            if first_line:
                yield first_line, url, values
            first_line, url, values = number, match[1], {}
        elif first_line:
            name, colon, value = line.partition(": ")
            if colon and not line[:1].isspace() and len(values) < MAX_VALUES:
                values.setdefault(name.lower(), value.strip())
        elif line.strip():
            yield number, "", {"problem": "is not a crawldb dump"}
            return
    if first_line:
        yield first_line, url, values


def _to_record(url: str, values: Mapping[str, str]) -> UrlRecord | BadRecord | None:
    if problem := values.get("problem"):
        return BadRecord(problem)
    status_text = values.get("status", "")
    status = match[1] if (match := _STATUS.match(status_text)) else status_text
    if status not in STATUSES:
        return (
            None if status.startswith("db_") else BadRecord(f"has no status: {status_text!r:.100}")
        )
    try:
        due_at_ms = _date_to_ms(values.get("fetch time", ""))
        score = float(values.get("score", "nan"))
    except ValueError as error:
        return BadRecord(str(error))
    fields = {"nutch.status": orjson.dumps(status), "nutch.score": orjson.dumps(score)}
    return UrlRecord(url=url, fields=fields, due_at_ms=due_at_ms)


def _date_to_ms(text: str) -> int:
    """
    Convert `Thu Jan 01 00:00:00 UTC 2015`, as written by Java's Date, to ms.

    Time zone abbreviations are ambiguous and are treated as UTC.
    """
    match = _DATE.fullmatch(text)
    if not match:
        raise ValueError(f"has no fetch time: {text!r:.100}")
    parsed = datetime.strptime(f"{match[1]} {match[2]} +0000", "%a %b %d %H:%M:%S %Y %z")
    return max(0, int(parsed.timestamp() * 1000))
