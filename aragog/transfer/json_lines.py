"""
The file format of a URL record: one line of JSON, and files of such lines.

    {"url": "https://a.example/", "fields": {"product.price": 19.90, "team.note": "cheap"},
     "typed": true, "at_ms": {"product.price": 1700000000000, "team.note": 1700000000000}}

| key | contents |
|---|---|
| `url` | the URL in any spelling; the only required key |
| `typed` | if true, `fields` has JSON values; otherwise it has the stored bytes as text |
| `fields` | values by name; see `aragog.transfer.typed_fields` |
| `fields_base64` | exact bytes in base64 by name, where `fields` is inexact; takes precedence |
| `at_ms` | when the values were observed: one number for all, or one per field name; default: now |
| `provenance` | the place where the value was found, by field name |
| `canonical_url` | the URL whose alias this one is; see also `canonical_at_ms` and `provisional` |
| `due_at_ms` | when to fetch the page again |
| `links` | list of [url, text, rel] |
| `facts` | metadata of the last fetch; imports use what identifies a page (`identity_evidence`) |
| `content_key`, `content_hash`, `content_bytes` | written by an export, not imported |

Files whose names end in `.gz` or `.zst` are compressed.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import io
import itertools
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

import orjson
import zstandard

from aragog.errors import ConfigError, InvalidField
from aragog.transfer.lines import DAMAGE_ERRORS, bounded_line
from aragog.transfer.typed_fields import TypedFields
from aragog.urlstore.field_formats import parse
from aragog.urlstore.records import Fact, OutLink
from aragog.urlstore.write_clock import MAX_AT_MS

_STRINGS = ("canonical_url", "content_key", "content_hash")
_NUMBERS = ("canonical_at_ms", "due_at_ms", "content_bytes")


class BadRecord(ValueError):
    """
    A line that cannot be imported, with the reason. `read_json_lines` yields it, and `from_json`
    raises it.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlRecord:
    """The data of one URL in an import or export file."""

    url: str
    fields: Mapping[str, bytes] = field(default_factory=dict)
    at_ms: Mapping[str, int] = field(default_factory=dict)
    """When each field was observed; by default, the time of the import."""
    provenance: Mapping[str, str] = field(default_factory=dict)
    canonical_url: str | None = None
    """The URL of which this one is an alias, or None."""
    canonical_at_ms: int | None = None
    provisional: bool = False
    due_at_ms: int | None = None
    links: Sequence[OutLink] | None = None
    facts: Mapping[str, Fact] = field(default_factory=dict)
    content_key: str | None = None
    content_hash: str | None = None
    content_bytes: int | None = None

    @property
    def weight_bytes(self) -> int:
        """Return the approximate size in memory."""
        return 500 + sum(map(len, self.fields.values())) + 200 * len(self.links or ())


ReadRecord = tuple[int, UrlRecord | BadRecord]
"""The number of a line or row, from 1, and its content."""

_KEYS = {*UrlRecord.__dataclass_fields__, "fields_base64", "typed"}


def to_json(record: UrlRecord, types: TypedFields) -> bytes:
    """Return the record as one line, including the newline."""
    values, inexact = _json_and_inexact(record.fields, types)
    tables = {
        "fields": values,
        "fields_base64": inexact,
        "at_ms": dict(record.at_ms),
        "provenance": dict(record.provenance),
        "facts": dict(record.facts),
    }
    raw: dict[str, Any] = {"url": record.url}
    if values:
        raw["typed"] = True
    raw |= {name: table for name, table in tables.items() if table}
    for name in (*_STRINGS, *_NUMBERS):
        value = getattr(record, name)
        if value is not None:
            raw[name] = value
    if record.provisional:
        raw["provisional"] = True
    if record.links is not None:
        raw["links"] = [list(link) for link in record.links]
    return orjson.dumps(raw, option=orjson.OPT_APPEND_NEWLINE)


def from_json(line: bytes, types: TypedFields) -> UrlRecord:
    """
    Parse a line's record. Keys that `to_json` writes may be missing.

    Raises:
        BadRecord: not a JSON object, an unknown key, or a value of the wrong type.
    """
    try:
        raw = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise BadRecord(f"is not JSON: {error}") from None
    if not isinstance(raw, dict):
        raise BadRecord("is not a JSON object")
    if _get_checked(raw, "typed", bool, "true or false"):
        return from_mapping({**raw, "fields": _typed_fields(line, types)})
    return from_mapping(raw)


def _typed_fields(line: bytes, types: TypedFields) -> dict[str, bytes]:
    fields = {}
    try:
        raw = parse(line)  # orjson would lose digits of numbers
    except ValueError as error:
        raise BadRecord(f"is not JSON: {error}") from None
    for name, value in (_get_checked(raw, "fields", dict, "an object") or {}).items():
        try:
            fields[name] = types.from_json(name, value)
        except InvalidField as error:
            raise BadRecord(f"fields.{name}: {error.reason}") from None
        except ValueError as error:
            raise BadRecord(f"fields.{name}: {error}") from None
    return fields


def from_mapping(raw: dict[str, Any]) -> UrlRecord:
    """Build a record from a dict of plain values; see `from_json`."""
    unknown = raw.keys() - _KEYS
    if unknown:
        raise BadRecord(f"{', '.join(sorted(map(repr, unknown)))} is not a key of a record")
    url = raw.get("url")
    if not isinstance(url, str) or not url:
        raise BadRecord("url is missing" if url is None else "url must be a string")
    fields = _fields(raw)
    values: dict[str, Any] = {name: _get_checked(raw, name, str, "a string") for name in _STRINGS}
    values |= {name: _timestamp(name, raw.get(name)) for name in _NUMBERS}
    return UrlRecord(
        url=url,
        fields=fields,
        at_ms=_timestamps(raw.get("at_ms"), fields),
        provenance=_table(raw, "provenance", str, "strings"),
        provisional=bool(_get_checked(raw, "provisional", bool, "true or false")),
        links=_links(raw.get("links")),
        facts=_get_checked(raw, "facts", dict, "an object") or {},
        **values,
    )


def _json_and_inexact(
    fields: Mapping[str, bytes], types: TypedFields
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return values as JSON, and as base64 if JSON does not restore their exact bytes."""
    values, inexact = {}, {}
    for name, value in fields.items():
        try:
            values[name], is_exact = types.to_json(name, value)
        except ValueError:
            is_exact = False
        if not is_exact:
            inexact[name] = base64.b64encode(value).decode()
    return values, inexact


def _fields(raw: Mapping[str, Any]) -> dict[str, bytes]:
    strings = _get_checked(raw, "fields", dict, "an object") or {}
    fields = {name: _bytes(name, value) for name, value in strings.items()}
    for name, value in _table(raw, "fields_base64", str, "strings").items():
        try:
            fields[name] = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raise BadRecord(f"fields_base64.{name} is not base64") from None
    return fields


def _bytes(name: str, value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError:
            raise BadRecord(f"fields.{name} contains half of a surrogate pair") from None
    raise BadRecord(
        f"fields.{name} must be a string, got {type(value).__name__}; "
        'use "typed": true for JSON values'
    )


def _timestamps(raw: object, fields: Mapping[str, bytes]) -> dict[str, int]:
    if raw is None:
        return {}
    if isinstance(raw, dict):
        return {
            str(name): _required_timestamp(f"at_ms.{name}", value) for name, value in raw.items()
        }
    at_ms = _required_timestamp("at_ms", raw)
    return dict.fromkeys(fields, at_ms)


def _required_timestamp(name: str, value: object) -> int:
    at_ms = _timestamp(name, value)
    if at_ms is None:
        raise BadRecord(f"{name} must be a number")
    return at_ms


def _timestamp(name: str, value: object) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadRecord(f"{name} must be a whole number, got {value!r:.80}")
    if not 0 <= value <= MAX_AT_MS:
        raise BadRecord(f"{name}: {value} is out of range; use milliseconds since 1970")
    return value


def _links(raw: object) -> tuple[OutLink, ...] | None:
    if raw is None:
        return None
    if not isinstance(raw, list | tuple):
        raise BadRecord("links must be a list")
    links = []
    for link in raw:
        parts = [link] if isinstance(link, str) else link
        if (
            not isinstance(parts, list | tuple)
            or not 1 <= len(parts) <= 3
            or not all(isinstance(part, str) for part in parts)
        ):
            raise BadRecord("each link in links must be a URL or [url, text, rel]")
        links.append(OutLink(*parts))
    return tuple(links)


def _table(raw: Mapping[str, Any], name: str, value_type: type, expected: str) -> dict[str, Any]:
    table = _get_checked(raw, name, dict, "an object") or {}
    if not all(isinstance(value, value_type) for value in table.values()):
        raise BadRecord(f"the values of {name} must be {expected}")
    return dict(table)


def _get_checked(raw: Mapping[str, Any], name: str, value_type: type, expected: str) -> Any:
    value = raw.get(name)
    if value is not None and not isinstance(value, value_type):
        raise BadRecord(f"{name} must be {expected}, got {value!r:.80}")
    return value


MAX_LINE_BYTES = 64 << 20


def read_json_lines(
    stream: BinaryIO,
    types: TypedFields | None = None,
    *,
    after: int = 0,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[ReadRecord]:
    """
    Yield the non-empty lines of a stream after the first `after` lines.

    A line over `max_line_bytes` is reported as bad and not kept in memory. The rest of a damaged or
    truncated compressed file is reported too.
    """
    types = types or TypedFields()
    for number in itertools.count(1):
        try:
            line, is_whole = bounded_line(stream, max_line_bytes)
        except DAMAGE_ERRORS as error:
            yield number, BadRecord(f"the file cannot be read from here on: {error}")
            return
        if not line:
            return
        if number == 1:
            line = line.removeprefix(BOM_UTF8)
        if number <= after or not line.strip():
            continue
        if not is_whole:
            yield number, BadRecord(f"is longer than {max_line_bytes >> 20} MiB")
            continue
        try:
            yield number, from_json(line, types)
        except BadRecord as error:
            yield number, error


class JsonLinesSink:
    """Writes each record to a stream as a line of JSON."""

    def __init__(self, stream: BinaryIO, types: TypedFields | None = None) -> None:
        self._stream = stream
        self._types = types or TypedFields()

    def write(self, records: Sequence[UrlRecord]) -> None:
        self._stream.write(b"".join(to_json(record, self._types) for record in records))

    def close(self) -> None:
        self._stream.close()


def open_to_read(path: Path) -> BinaryIO:
    """
    Open a file for reading; `.gz` and `.zst` files are decompressed.

    Raises:
        ConfigError: it cannot be opened.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    if path.suffix == ".gz":
        return cast("BinaryIO", gzip.GzipFile(fileobj=file))
    if path.suffix == ".zst":
        reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        return cast("BinaryIO", io.BufferedReader(cast("io.RawIOBase", reader)))
    return file


def open_to_write(path: Path, *, append: bool = False) -> BinaryIO:
    """
    Open a file for writing, compressed if its name ends in `.gz` or `.zst`.

    Raises:
        ConfigError: it cannot be opened.
    """
    try:
        file = path.open("ab" if append else "wb")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from error
    if path.suffix == ".gz":
        return cast("BinaryIO", _GzipWriter(gzip.GzipFile(fileobj=file, mode="wb"), file))
    if path.suffix == ".zst":
        return cast("BinaryIO", zstandard.ZstdCompressor().stream_writer(file))
    return file


class _GzipWriter:
    """Closes a GzipFile and its underlying file, which GzipFile leaves open."""

    def __init__(self, packed: gzip.GzipFile, file: BinaryIO) -> None:
        self._gzip_file = packed
        self._file = file

    def write(self, data: bytes) -> int:
        return self._gzip_file.write(data)

    def close(self) -> None:
        self._gzip_file.close()
        self._file.close()
