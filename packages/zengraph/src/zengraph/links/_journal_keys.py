"""
Keys of the link journal, for rows in its lanes and rows outside ("beside") them.

The group of a source's name determines its lane. A lane's rows are in order of time, so lanes can
be compacted in parallel. Each lane is in one bucket. While that bucket's file is damaged (on
SQLite), changes are written into another bucket, outside its lanes. Versions without lanes wrote
all changes this way. Such a row may contain sources of any lane.

    bucket, 1 byte; 128 + lane, 1 byte; time, 8 bytes; 8 random bytes    a row of a lane
    bucket, 1 byte; time, 8 bytes; 8 random bytes                        a row outside the lanes
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple

from zengraph._codec import BUCKETS, journal_key
from zengraph._naming import Naming
from zengraph.tables import CellTable

LANES = 64
"""Stored keys depend on the number of lanes, so it must never change."""
_MARK = 0x80
_KEY_BYTES = 18


class Head(NamedTuple):
    """The oldest row of a lane, or of a bucket's rows outside its lanes."""

    lane: int | None
    """The lane, or None for rows outside the lanes."""
    at_ms: int


def lane_of(naming: Naming, source: bytes) -> int:
    return naming.group_hash(source)[0] % LANES


def bucket_of_lane(lane: int) -> int:
    return lane % BUCKETS


def lane_key(lane: int, at_ms: int, nonce: bytes) -> bytes:
    """Return a row's key in a lane. The keys sort by time."""
    return _start(lane) + at_ms.to_bytes(8) + nonce


def beside_key(bucket: int, at_ms: int, nonce: bytes) -> bytes:
    """Return a row's key outside the lanes. The keys of a bucket sort by time."""
    return journal_key(bucket, at_ms, nonce)


def order(key: bytes) -> bytes:
    """Return a key's time and random bytes, which sort rows of all lanes and buckets by time."""
    return key[-16:]


def written_at_ms(key: bytes) -> int:
    return int.from_bytes(key[-16:-8])


def lane_range(lane: int) -> tuple[bytes, bytes]:
    """Return the start and the stop of a scan of a lane."""
    return _start(lane), _after(lane)


def beside_range(bucket: int) -> tuple[bytes, bytes]:
    """Return the start and the stop of a scan of a bucket's rows outside its lanes."""
    return bytes([bucket]), bytes([bucket, _MARK])


def heads(table: CellTable) -> Iterator[Head]:
    """
    Yield the oldest row of each lane, and of each bucket outside its lanes. Takes a short scan for
    each.
    """
    for bucket in range(BUCKETS):
        start, stop = bytes([bucket]), bytes([bucket + 1])
        while start < stop:
            with closing(table.scan(start, stop, limit=1)) as rows:
                key = next((key for key, _ in rows), None)
            if key is None:
                break
            lane = key[1] - _MARK if len(key) == _KEY_BYTES else None
            yield Head(lane, written_at_ms(key))
            start = bytes([bucket, _MARK]) if lane is None else _after(lane)


def any_beside(table: CellTable) -> bool:
    """Return True if there are rows outside the lanes. Takes sixteen short scans."""
    for bucket in range(BUCKETS):
        with closing(table.scan(*beside_range(bucket), limit=1)) as rows:
            if any(True for _ in rows):
                return True
    return False


def oldest_ms(table: CellTable, lane: int) -> int | None:
    """Return the time of the oldest row that may contain a lane's changes, or None."""
    ranges = [lane_range(lane), *map(beside_range, range(BUCKETS))]
    oldest = []
    for start, stop in ranges:
        with closing(table.scan(start, stop, limit=1)) as rows:
            oldest += [written_at_ms(key) for key, _ in rows]
    return min(oldest, default=None)


def _start(lane: int) -> bytes:
    return bytes([lane % BUCKETS, _MARK + lane])


def _after(lane: int) -> bytes:
    return bytes([lane % BUCKETS, _MARK + lane + 1])
