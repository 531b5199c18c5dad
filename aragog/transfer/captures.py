"""
Read indexes of web archives: CDXJ, and CDX with or without its header line.

Each capture becomes a record with the fields `archive.captured_at`, `archive.mime` and
`archive.digest`, timestamped with the capture time, so a URL's latest capture wins. Captures of
errors and redirects are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import BinaryIO

import orjson

from aragog.transfer.json_lines import BadRecord, ReadRecord, UrlRecord
from aragog.transfer.lines import text_lines

# The column letters of files without a header line, in two variants.
_COLUMNS = {11: "NbamskrMSVg", 9: "NbamskrVg"}
_NAMES = {"a": "url", "b": "timestamp", "m": "mime", "s": "status", "k": "digest"}
_CDXJ = re.compile(r"\s(\S+)\s+(?=\{)")
"""Matches the timestamp between the key and the JSON. Keys may contain spaces."""
_TIMESTAMP = re.compile(r"\d{4,14}")
MAX_LINE_BYTES = 1 << 20


def read_captures(stream: BinaryIO, *, after: int = 0) -> Iterator[ReadRecord]:
    """
    Yield the captures of an index with their line numbers.

    Args:
        stream: the index.
        after: number of lines to skip.
    """
    columns: str | None = None
    for number, line, problem in text_lines(stream, MAX_LINE_BYTES):
        parts = line.split()
        if problem:
            yield number, BadRecord(problem)
        elif parts[:1] == ["CDX"]:
            columns = "".join(parts[1:])
        elif number > after and parts and not line.startswith("!"):
            try:
                if (record := _to_record(_parse_capture(line, parts, columns))) is not None:
                    yield number, record
            except BadRecord as error:
                yield number, error


def _parse_capture(line: str, parts: Sequence[str], columns: str | None) -> Mapping[str, str]:
    if match := _CDXJ.search(line):
        try:
            values = orjson.loads(line[match.end() :])
        except orjson.JSONDecodeError as error:
            raise BadRecord(f"is not CDXJ: {error}") from None
        return {**{name: str(value) for name, value in values.items()}, "timestamp": match[1]}
    letters = columns or _COLUMNS.get(len(parts), "")
    if len(letters) != len(parts):
        raise BadRecord(f"has {len(parts)} columns, so it is neither CDXJ nor CDX with 9 or 11")
    columns_and_values = zip(letters, parts, strict=True)
    return {_NAMES[letter]: part for letter, part in columns_and_values if letter in _NAMES}


def _to_record(capture: Mapping[str, str]) -> UrlRecord | None:
    try:
        url, at_ms = capture["url"], _timestamp_to_ms(capture["timestamp"])
    except KeyError as missing:
        raise BadRecord(f"has no {missing}") from None
    status, mime = capture.get("status", "-"), capture.get("mime", "-")
    is_page = status.startswith("2") or (status == "-" and mime == "warc/revisit")
    if not is_page:
        return None
    captured_at = datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    values = {"captured_at": captured_at, "mime": mime, "digest": capture.get("digest", "-")}
    fields = {f"archive.{n}": orjson.dumps(value) for n, value in values.items() if value != "-"}
    return UrlRecord(url=url, fields=fields, at_ms=dict.fromkeys(fields, at_ms))


def _timestamp_to_ms(timestamp: str) -> int:
    """Convert `20150101120000` to ms. A shorter timestamp means the start of its period."""
    if not _TIMESTAMP.fullmatch(timestamp):
        raise BadRecord(f"has no valid timestamp: {timestamp!r:.40}")
    full = timestamp + "00000101000000"[len(timestamp) :]
    try:
        parsed = datetime.strptime(full, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        raise BadRecord(f"has no valid timestamp: {timestamp!r:.40}") from None
    return max(0, int(parsed.timestamp() * 1000))
