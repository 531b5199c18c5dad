"""
Keys of the link journal, for rows in its lanes and rows outside ("beside") the lanes.

The changes of a source are always in the lane of its group, in order of time, so lanes can be
compacted in parallel. Each lane is in one bucket. While the file of that bucket is damaged (on
SQLite), changes are written into another bucket, outside its lanes. Versions without lanes wrote
all changes there. Such a row may contain sources of any lane.

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
"""The number of lanes. It must never change, because stored keys depend on it."""
_MARK = 0x80
_KEY_BYTES = 18


class Head(NamedTuple):
    """The oldest row of a lane, or of a bucket's rows outside its lanes."""

    lane: int | None
    """The lane, or None for rows outside the lanes."""
    at_ms: int


def lane_of(naming: Naming, source: bytes) -> int:
    """Return the lane of a source."""
    return naming.group_hash(source)[0] % LANES


def bucket_of_lane(lane: int) -> int:
    """Return the bucket that contains a lane."""
    return lane % BUCKETS


def lane_key(lane: int, at_ms: int, nonce: bytes) -> bytes:
    """Return the key of a lane's row. A lane's keys sort by time."""
    return _start(lane) + at_ms.to_bytes(8) + nonce


def beside_key(bucket: int, at_ms: int, nonce: bytes) -> bytes:
    """Return the key of a row outside the lanes. Such keys of one bucket sort by time."""
    return journal_key(bucket, at_ms, nonce)


def order(key: bytes) -> bytes:
    """
    Return the time and the random bytes of a key, for sorting rows of all lanes and buckets by
    time.
    """
    return key[-16:]


def written_at_ms(key: bytes) -> int:
    """Return when a row was written."""
    return int.from_bytes(key[-16:-8])


def lane_range(lane: int) -> tuple[bytes, bytes]:
    """Return the start and the stop of a scan of a lane."""
    return _start(lane), _after(lane)


def beside_range(bucket: int) -> tuple[bytes, bytes]:
    """Return the start and the stop of a scan of a bucket's rows outside its lanes."""
    return bytes([bucket]), bytes([bucket, _MARK])


def heads(table: CellTable) -> Iterator[Head]:
    """
    Yield the oldest row of each lane, and of each bucket's rows outside the lanes. Takes one short
    scan for each.
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
    """Return when the oldest row that may contain changes of a lane was written, or None."""
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
