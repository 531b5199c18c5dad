"""
Export page content as WARC files (ISO 28500:2017, WARC 1.1), with warcio.

A page is a `response` record. Its body is decoded, so the headers for its encoding are renamed to
`X-Crawler-…`, and Content-Length is the length of the decoded body, as in public crawls. A body
without stored headers becomes a `resource` record. A body that occurred earlier in the export
becomes a `revisit` record with headers only (identical-payload-digest), and so does the last check
of an unchanged page (server-not-modified).

Each record is a gzip member. A fetch's record contains the IP address and the protocols
(`WARC-IP-Address`, and `WARC-Protocol` as proposed by the International Internet Preservation
Consortium). Each file has an index, `….cdxj`. Memory is bounded by the largest page, one file's
index, and 65,536 digests.
"""

from __future__ import annotations

import io
import json
import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self, cast

from warcio.statusandheaders import StatusAndHeaders
from warcio.utils import Digester
from warcio.warcwriter import WARCWriter

from aragog.errors import ConfigError, ContentReplaced, CorruptContent
from aragog.fetch_record.outcome import OutcomeKind
from aragog.runtime.clock import SystemClock
from aragog.transfer.import_export import EVERYTHING, NodeSelection, SelectedNodes
from aragog.urlstore import cdxj, nodes
from aragog.urlstore.bodies import Bodies
from aragog.urlstore.nodes import Nodes, facts_of, text
from aragog.urlstore.object_reads import read_object
from aragog.urlstore.page_content import RESPONSE, complete_metadata
from aragog.urlstore.records import is_allowed, is_expired
from aragog.urlstore.warc_records import archived_headers, iso_date, network_fields, status_line
from zengraph import MultiGraph
from zengraph.records import Row

MAX_FILE_BYTES = 1 << 30
MAX_DIGESTS = 65_536

NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"

_CONTROL = re.compile("[\x00-\x1f\x7f]")
_HTML = ("text/html", "application/xhtml+xml")

TITLE = nodes.field_column("page.title")
COLUMNS = (nodes.URL, nodes.CANONICAL, nodes.SENTINEL, TITLE, *nodes.CONTENT, *RESPONSE)

OnPage = Callable[[str, str, Row], None]
"""Called with the URL, date and node of each written HTML page."""


class _FirstRecord(NamedTuple):
    url: str
    date: str


class _Page(NamedTuple):
    target: str
    date: str
    digest: str
    head: StatusAndHeaders | None
    network: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class WarcReport:
    """The result of an export."""

    records: int
    files: tuple[Path, ...]
    problems: int
    cursor: str | None
    """Where to resume, or None if the export is complete."""


def export_warc(
    zen: MultiGraph,
    bodies: Bodies,
    stem: Path,
    selection: NodeSelection = EVERYTHING,
    *,
    first_file: int = 0,
    max_file_bytes: int = MAX_FILE_BYTES,
    purpose: str | None = None,
    on_problem: Callable[[str, str], None] = lambda *_: None,
    on_progress: Callable[[int], None] = lambda _: None,
    on_page: OnPage = lambda *_: None,
) -> WarcReport:
    """
    Write the content of the selected pages to `stem-00000.warc.gz` and following files.

    Each complete file gets an index, `stem-00000.cdxj`.

    Pages whose `unavailable_after` has passed are skipped, and so are pages whose sites refuse
    `purpose`. A page with damaged or missing content is reported and skipped. To resume, pass the
    report's `cursor`, and `next_file` as `first_file`.

    Raises:
        ConfigError: a file is not writable.
        StoreUnavailable, ContentUnavailable: the files contain complete records only.
    """
    problems, urls = 0, Nodes(zen)
    now_ms = SystemClock().now_ms()
    with (
        _Files(stem, first_file, max_file_bytes) as files,
        SelectedNodes(zen, selection, COLUMNS) as selected,
    ):
        for row in selected:
            url = text(row, nodes.URL)
            if url is None or nodes.content_cell(row) is None or nodes.SENTINEL not in row:
                continue
            facts = facts_of(row)
            if is_expired(facts, now_ms) or not is_allowed(facts, purpose):
                continue
            try:
                content = _read_content(zen, bodies, url, row)
            except (CorruptContent, ContentReplaced) as error:
                problems += 1
                on_problem(url, str(error))
                continue
            if content is None:
                continue
            row, body, meta = content  # noqa: PLW2901 - the node as it was when the content was read
            facts = facts_of(row)
            if is_expired(facts, now_ms) or not is_allowed(facts, purpose):
                continue
            meta = complete_metadata(meta, url, row, urls)
            page = files.add(url, body, meta, facts)
            if str(meta.get("content_type")).partition(";")[0].strip().lower() in _HTML:
                on_page(page.target, page.date, row)
            selected.exported_count += 1
            on_progress(selected.exported_count)
    return WarcReport(files.records, tuple(files.paths), problems, selected.cursor)


def next_file(stem: Path) -> int:
    """Return the first file number that earlier exports did not use."""
    return next(number for number in count() if not _file_path(stem, number).exists())


def index_path(file: Path) -> Path:
    """Return the path of a WARC file's index."""
    return file.with_name(f"{file.name.removesuffix('.warc.gz')}.cdxj")


def _file_path(stem: Path, number: int) -> Path:
    return stem.with_name(f"{stem.name}-{number:05d}.warc.gz")


def _read_content(
    zen: MultiGraph, bodies: Bodies, url: str, row: Row
) -> tuple[Row, bytes, dict[str, str]] | None:
    """
    Return the node, the body and its metadata. If the node and the body do not match, the node is
    read again.
    """
    first = iter([row])

    def node() -> tuple[str, Row] | None:
        fresh_row = next(first, None) or zen.nodes.get(zen.node_id(url), list(COLUMNS))
        return (url, fresh_row) if nodes.SENTINEL in fresh_row else None

    content = read_object(bodies, node, SystemClock().sleep_s)
    return content and (content.row, content.body, dict(content.meta))


class _Files:
    """WARC files of bounded size, each starting with a `warcinfo` record."""

    def __init__(self, stem: Path, first: int, max_file_bytes: int) -> None:
        self._stem = stem
        self._next = first
        self._max_file_bytes = max_file_bytes
        self._file: BinaryIO | None = None
        self._writer: Any = None
        self._lines: list[str] = []
        self._first_records: OrderedDict[str, _FirstRecord] = OrderedDict()
        self.paths: list[Path] = []
        self.records = 0

    def add(self, url: str, body: bytes, meta: dict[str, str], facts: dict[str, Any]) -> _Page:
        """Write one page's records."""
        writer = self._writer_with_space()
        page = _to_page(url, body, meta, facts)
        first = self._first_records.get(page.digest)
        if first is not None and page.head is not None:
            record = _revisit_record(writer, page, first, page.head)
        else:
            record = _full_record(writer, page, body, meta)
            self._remember_digest(page.digest, _FirstRecord(page.target, page.date))
        self._write(writer, record)
        checked_at_ms = _to_int(facts.get("attempted_at_ms"))
        confirmed = facts.get("outcome") == OutcomeKind.NOT_MODIFIED
        if confirmed and page.head is not None and checked_at_ms:
            status = status_line(HTTPStatus.NOT_MODIFIED)
            head = StatusAndHeaders(status, _validators(page.head), "HTTP/1.1")
            # The facts lack the last check's protocols.
            check = page._replace(date=iso_date(checked_at_ms), network=())
            record = _revisit_record(writer, check, _FirstRecord(page.target, page.date), head)
            record.rec_headers.replace_header("WARC-Profile", NOT_MODIFIED)
            self._write(writer, record)
        return page

    def _write(self, writer: Any, record: Any) -> None:
        file = cast("BinaryIO", self._file)
        offset = file.tell()
        writer.write_record(record)
        self.records += 1
        headers = record.rec_headers.get_header
        capture = cdxj.Capture(
            url=headers("WARC-Target-URI"),
            date=headers("WARC-Date"),
            mime=_mime(record),
            status=record.http_headers.get_statuscode() if record.http_headers else None,
            digest=headers("WARC-Payload-Digest"),
            offset=offset,
            length=file.tell() - offset,
            file=self.paths[-1].name,
        )
        self._lines.append(cdxj.line(capture))

    def _remember_digest(self, digest: str, first: _FirstRecord) -> None:
        self._first_records[digest] = first
        if len(self._first_records) > MAX_DIGESTS:
            self._first_records.popitem(last=False)

    def _writer_with_space(self) -> Any:
        """Return the current file's writer, or a new one if that file is full."""
        if self._file is not None and self._file.tell() < self._max_file_bytes:
            return self._writer
        self._close()
        path = _file_path(self._stem, self._next)
        try:
            self._file = path.open("xb")
        except OSError as error:
            raise ConfigError(f"{path}: cannot be written: {error.strerror}") from error
        self._next += 1
        self.paths.append(path)
        self._writer = WARCWriter(self._file, gzip=True, warc_version="1.1")
        info = {"software": "aragog", "format": "WARC File Format 1.1"}
        # A line break in a name would inject another header.
        name = _CONTROL.sub("_", path.name)
        self._writer.write_record(self._writer.create_warcinfo_record(name, info))
        return self._writer

    def _close(self) -> None:
        if self._file is None:
            return
        self._file.close()
        self._file = None
        lines, self._lines = self._lines, []
        path = index_path(self.paths[-1])
        try:
            cdxj.write_index(path, lines)
        except OSError as error:
            raise ConfigError(f"{path}: cannot be written: {error.strerror}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()


def _to_page(url: str, body: bytes, meta: dict[str, str], facts: dict[str, Any]) -> _Page:
    fetched_at_ms = _to_int(meta.get("fetched_at_ms")) or 0
    # Use the URL that returned the page. The facts only apply if they come from the same fetch.
    is_same_fetch = _to_int(facts.get("fetched_at_ms")) == fetched_at_ms
    target = str(facts.get("final_url") or url) if is_same_fetch else url
    digester = Digester("sha1")
    digester.update(body)
    return _Page(target, iso_date(fetched_at_ms), str(digester), _http_head(meta), _network(meta))


def _network(meta: dict[str, str]) -> list[tuple[str, str]]:
    if "address" not in meta:
        return []
    return network_fields(meta["address"], meta.get("tls"), meta.get("http_version"))


def _mime(record: Any) -> str | None:
    if record.rec_type == "revisit":
        return "warc/revisit"
    headers = record.http_headers or record.rec_headers
    value = headers.get_header("Content-Type")
    return re.split(r"[;\s]", value, maxsplit=1)[0].strip() if value else None


def _full_record(writer: Any, page: _Page, body: bytes, meta: dict[str, str]) -> Any:
    """Return a `response` record, or a `resource` record if no headers are stored."""
    record_type, content_type = "response", ""
    if page.head is None:
        record_type, content_type = (
            "resource",
            meta.get("content_type") or "application/octet-stream",
        )
    else:
        page.head.replace_header("Content-Length", str(len(body)))
    record = writer.create_warc_record(
        page.target,
        record_type,
        payload=io.BytesIO(body),
        length=len(body),
        http_headers=page.head,
        warc_headers_dict={"WARC-Date": page.date},
        warc_content_type=content_type,
    )
    record.rec_headers.headers += page.network
    return record


def _revisit_record(writer: Any, page: _Page, first: _FirstRecord, head: StatusAndHeaders) -> Any:
    """Return a record that refers to an earlier body (identical-payload-digest)."""
    record = writer.create_revisit_record(
        page.target,
        page.digest,
        first.url,
        first.date,
        http_headers=head,
        warc_headers_dict={"WARC-Date": page.date},
    )
    record.rec_headers.headers += page.network
    return record


def _http_head(meta: dict[str, str]) -> StatusAndHeaders | None:
    status = _to_int(meta.get("status"))
    try:
        raw_headers = json.loads(meta.get("headers") or "")
        pairs = [(str(name), str(value)) for name, value in raw_headers]
    except (ValueError, TypeError):
        return None
    if not status:
        return None
    return StatusAndHeaders(status_line(status), archived_headers(pairs), "HTTP/1.1")


def _validators(head: StatusAndHeaders) -> list[tuple[str, str]]:
    return [(n, v) for n, v in head.headers if n.lower() in ("etag", "last-modified", "date")]


def _to_int(value: object) -> int | None:
    try:
        return int(str(value)) if value not in (None, "") else None
    except ValueError:
        return None
