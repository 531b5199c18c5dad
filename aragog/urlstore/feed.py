"""
The change feed lists the changes that fetches found in stored pages, for a limited time.

For each batch of changed pages, one row is written before the nodes; its key is the time. After a
crash between the two writes, the batch runs again, so its changes are reported twice but never
lost. Rows become visible shortly after their timestamp, so that readers miss no rows that are
written late. A cursor is the key of the last change that was read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from heapq import merge
from itertools import islice
from typing import Literal

import orjson

from aragog.errors import BadInput, CorruptRow
from aragog.pages.items import field_of
from aragog.urlstore import nodes
from aragog.urlstore.nodes import Nodes
from aragog.urlstore.records import ListPage
from aragog.urlstore.webhook_registry import WebhookRegistry
from aragog.urlstore.write_clock import WriteClock
from urlspelling.domain import host as host_of
from zengraph import MultiGraph
from zengraph.clock import Clock
from zengraph.records import Mutation, Row, TimeLog, append_log

ChangeKind = Literal[
    "new",
    "changed",
    "content",
    "withheld",
    "redirected",
    "gone",
    "back",
    "given_up",
    "withdrawn",
    "reserved",
]
Values = tuple[str | None, str | None]
"""A field's old and new value."""


@dataclass(frozen=True, slots=True)
class Change:
    """The differences between a fetched page and the stored page."""

    url: str
    """The canonical URL."""
    at_ms: int
    """When the page was fetched."""
    kind: ChangeKind
    """What happened to the page:

    `new` (the first fetch of a watched or withdrawn page), `changed` (fields), `content` (only the
    body), `withheld`, `redirected`, `gone` (the first 404 or 410), `back` (available again,
    unchanged), `given_up` (no longer fetched), `withdrawn` (deleted, because the site does not
    allow keeping it), or `reserved` (the site now forbids one more use, such as
    AI training).
    """
    fields: Mapping[str, Values] = field(default_factory=dict)
    """Old and new value by field name, as stored; None if a value is missing or too long."""
    owners: tuple[str, ...] = ()
    """The owners that were watching the page when it was fetched."""
    cursor: str = ""
    """The cursor to continue after this change."""
    content_hash: Values | None = None
    """The content's hash before and after, as in records; None if it did not change."""
    redirected_to: str | None = None
    """The URL that the page now leads to, if it was redirected."""


SETTLE_MS = 2000
"""Delay between a row's timestamp and its visibility."""
MAX_VALUE_BYTES = 4096
"""Longer values (in bytes) are omitted from the feed; the record has them."""

_COLUMN = b"l:v"
_HASH, _TARGET = "\tcontent_hash", "\tredirected_to"
"""Names of values that are not fields. Field names contain no control characters."""
_MAX_TRIES = 3
_DELETE_ROWS = 1000
_CURSOR_BYTES = 20


def changes_put(log: TimeLog, changes: Sequence[Change], now_ms: int) -> Mutation:
    """Return the mutation that writes a batch's changes as one row."""
    entries = [(c.url, c.at_ms, c.kind, _pack_values(c), c.owners) for c in changes]
    nonce = os.urandom(8)
    return append_log(log.open_bucket(nonce[0]), now_ms, nonce, {_COLUMN: orjson.dumps(entries)})


def _pack_values(change: Change) -> dict[str, Values]:
    """
    Return the fields, and the other values under names that no field can have.

    aragog 0.1 ignores those names.
    """
    packed = dict(change.fields)
    if change.content_hash:
        before, now = change.content_hash
        packed[_HASH] = (_as_json(before), _as_json(now))
    if change.redirected_to:
        packed[_TARGET] = (None, _as_json(change.redirected_to))
    return packed


def _as_json(text: str | None) -> str | None:
    return None if text is None else orjson.dumps(text).decode()


def publish(zen: MultiGraph, changes: Sequence[Change], clock: Clock) -> None:
    """
    Write a batch's changes as one row.

    If the write was so slow that readers may have passed the row's timestamp, the row is written
    again with a later one.
    """
    for _ in range(_MAX_TRIES):
        now_ms = clock.now_ms()
        zen.mutate([changes_put(zen.log, changes, now_ms)])
        if clock.now_ms() - now_ms < SETTLE_MS / 2:
            return


def feed_text(value: bytes | None) -> str | None:
    """Return a field's value as shown in the feed."""
    if value is None or len(value) > MAX_VALUE_BYTES:
        return None
    return value.decode("utf-8", "replace")


class Changes:
    """Reads the feed in row order, and deletes old changes."""

    def __init__(self, zen: MultiGraph) -> None:
        self._log = zen.log
        self._nodes = Nodes(zen)
        self._zen = zen

    def end(self, now_ms: int) -> str:
        """Return the cursor after all visible changes."""
        return (now_ms - SETTLE_MS + 1).to_bytes(8).hex() + "00" * (_CURSOR_BYTES - 8)

    def page(
        self,
        cursor: str | None,
        now_ms: int,
        limit: int,
        *,
        owner: str | None = None,
        host: str | None = None,
        item: tuple[str, str | None] | None = None,
    ) -> ListPage[Change]:
        """
        Return up to `limit` changes after the cursor (None: from the oldest), and the next cursor.

        The next cursor is never None, because new changes may follow. With an owner, host or item,
        one call examines at most 10,000 changes, so a page may be empty although its cursor
        advances. Takes one multi-get to omit the values of withdrawn pages.

        Raises:
            BadInput: the cursor is not from this feed.
        """
        result: list[Change] = []
        last = cursor or "00" * _CURSOR_BYTES
        for read_count, change in enumerate(self._changes_after(_parse_cursor(last), now_ms)):
            if len(result) == limit or read_count == 10_000:
                break
            last = change.cursor
            if owner is not None and owner not in change.owners:
                continue
            if host is not None and host_of(change.url) != host:
                continue
            if item is not None:
                fields = {n: v for n, v in change.fields.items() if _belongs_to_item(n, *item)}
                if not fields:
                    continue
                change = replace(change, fields=fields)  # noqa: PLW2901 - only this item's fields
            result.append(change)
        return ListPage(self._hide_withdrawn_values(result, now_ms), last)

    def _hide_withdrawn_values(self, changes: Sequence[Change], now_ms: int) -> list[Change]:
        """
        Remove the values of deleted and expired pages, and of pages whose nodes are in damaged
        files.
        """
        urls = {change.url for change in changes if change.fields}
        readable = [url for url in urls if self._zen.serves(self._zen.node_id(url)[0])]
        rows = self._nodes.read(readable, [nodes.WITHDRAWN, nodes.SENTINEL]) if readable else {}
        hidden_until_ms = dict.fromkeys(urls, now_ms)
        hidden_until_ms |= {url: nodes.hidden_until_ms(row, now_ms) for url, row in rows.items()}
        return [
            replace(change, fields={})
            if change.at_ms <= hidden_until_ms.get(change.url, -1)
            else change
            for change in changes
        ]

    def _changes_after(self, after: bytes, now_ms: int) -> Iterator[Change]:
        stop = now_ms - SETTLE_MS + 1
        buckets = [self._bucket_rows(bucket, after, stop) for bucket in self._log.buckets]
        try:
            for key, row in merge(*buckets, key=lambda item: item[0]):
                for change in _unpack(key, row):
                    if bytes.fromhex(change.cursor) > after:
                        yield change
        finally:
            for rows in buckets:
                rows.close()

    def _bucket_rows(
        self, bucket: int, after: bytes, stop: int
    ) -> Generator[tuple[bytes, Row], None, None]:
        start, end = after[:16], max(stop, 0).to_bytes(8)
        if start < end:
            with closing(self._log.between(bucket, start, end)) as rows:
                yield from rows

    def purge(self, is_gone: Callable[[str], bool]) -> int:
        """
        Delete the changes to URLs for which `is_gone` returns True. Returns how many were deleted.

        Other changes in the same row keep their cursors.
        """
        count = 0
        for bucket in self._log.buckets:
            if not self._log.serves(bucket):
                continue
            with closing(self._log.all(bucket)) as rows:
                for key, row in rows:
                    entries = orjson.loads(row[_COLUMN].value)
                    kept_entries = [
                        entry if entry and not is_gone(entry[0]) else None for entry in entries
                    ]
                    if kept_entries != entries:
                        count += sum(map(bool, entries)) - sum(map(bool, kept_entries))
                        cells = {_COLUMN: orjson.dumps(kept_entries)}
                        self._log.replace(bucket, key, cells, row[_COLUMN].at_ms)
        return count

    def sweep(self, before_ms: int) -> int:
        """Delete rows older than `before_ms`, at most 1,000 per bucket. Returns their number."""
        count = 0
        for bucket in self._log.buckets:
            if not self._log.serves(bucket):
                continue
            with closing(self._log.between(bucket, b"", max(before_ms, 0).to_bytes(8))) as rows:
                keys = [(key, row[_COLUMN].at_ms) for key, row in islice(rows, _DELETE_ROWS)]
            if keys:
                self._log.delete_many(bucket, keys)
                count += len(keys)
        return count


def _parse_cursor(cursor: str) -> bytes:
    try:
        position = bytes.fromhex(cursor)
    except ValueError as error:
        raise BadInput(f"cursor: {cursor[:80]!r} is not a cursor of the change feed") from error
    if len(position) != _CURSOR_BYTES:
        raise BadInput(f"cursor: {cursor[:80]!r} is not a cursor of the change feed")
    return position


def _unpack(key: bytes, row: Row) -> Iterable[Change]:
    try:
        entries = orjson.loads(row[_COLUMN].value)
        for number, entry in enumerate(entries):
            if entry is None:  # `purge` has deleted this change
                continue
            url, at_ms, kind, fields, owners = entry
            values: dict[str, Values] = {n: (before, now) for n, (before, now) in fields.items()}
            hashes, target = values.pop(_HASH, None), values.pop(_TARGET, None)
            cursor = (key + number.to_bytes(4)).hex()
            yield Change(
                url, at_ms, kind, values, tuple(owners), cursor,
                hashes and (_from_json(hashes[0]), _from_json(hashes[1])),
                target and _from_json(target[1]),
            )  # fmt: skip
    except (KeyError, ValueError, TypeError) as error:
        raise CorruptRow("f", key.hex(), f"cannot be read: {error}") from error


def _from_json(text: str | None) -> str | None:
    return None if text is None else str(orjson.loads(text))


def item_name(field: str, key: str) -> str:
    """Return an item's name in the feed, for example `items.cards["L-1"]`."""
    return f"{field}[{json.dumps(key, ensure_ascii=False)}]"


def _belongs_to_item(name: str, kind: str, key: str | None) -> bool:
    """Return True if a name in the feed belongs to an item of this kind and key (None for any)."""
    field = field_of(kind)
    if key is None:
        return name == field or name.startswith(f"{field}[")
    item = item_name(field, key)
    return name == item or name.startswith(f"{item}.")


class Feed:
    """Reads the change feed and removes old changes; threads may share it."""

    def __init__(self, zen: MultiGraph, clock: WriteClock) -> None:
        self.webhooks = WebhookRegistry(zen)
        self._changes = Changes(zen)
        self._clock = clock

    def changes(
        self,
        cursor: str | None = None,
        limit: int = 100,
        *,
        owner: str | None = None,
        host: str | None = None,
        item: tuple[str, str | None] | None = None,
    ) -> ListPage[Change]:
        """
        Return up to `limit` changes after the cursor (None: from the oldest), and the next cursor.

        `owner` selects the pages that this owner watched at the time, `host` one host's pages, and
        `item` one kind of item, or one item by its key. Each change is returned at least once. A
        page may be empty although more changes follow.

        Raises:
            BadInput: the cursor is not from this feed.
        """
        return self._changes.page(
            cursor, self._clock.now_ms(), limit, owner=owner, host=host, item=item
        )

    def end(self) -> str:
        return self._changes.end(self._clock.now_ms())

    def sweep(self, retention_s: float) -> int:
        """Delete changes older than `retention_s`. Returns the number of deleted rows."""
        return self._changes.sweep(self._clock.now_ms() - int(retention_s * 1000))
