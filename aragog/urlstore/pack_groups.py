"""
Groups records when packs are rewritten, and decides which packs to rewrite. No I/O.

A dictionary made from a host's records makes them a quarter to a half smaller. The dictionary takes
20 to 40 KB of its pack, so it is only worthwhile for a host with about a megabyte of pages. Records
of smaller hosts are grouped without one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

MIN_RAW_BYTES = 1_048_576
"""A host with fewer bytes of decompressed records gets no dictionary."""
MIN_HOST_BYTES = 262_144
"""The same limit, in bytes of records that are compressed without a dictionary."""
MIN_SHARE = 0.5
"""
Fresh (newly written) packs are rewritten if hosts above that limit have this share of the packs'
bytes.
"""
GROUP_BYTES = 67_108_864
"""How many bytes of packs are rewritten together; all their records are in memory."""
WAIT_MS = 3_600_000
"""Milliseconds that fresh packs of less than `GROUP_BYTES` wait for more packs."""

T = TypeVar("T")


class FreshPack(NamedTuple):
    """A pack as the store stage wrote it, with records from many batches."""

    name: str
    size: int
    at_ms: int
    hosts: Mapping[bytes, int]
    """Bytes per host, for the largest hosts."""
    dictionary: int = 0
    """The id of its shared dictionary, or 0."""


def fresh_groups(packs: Iterable[FreshPack], now_ms: int) -> Iterator[list[FreshPack]]:
    """
    Yield groups of about `GROUP_BYTES`, in pack order.

    The remaining packs become a group once the oldest has waited for `WAIT_MS`.
    """
    group: list[FreshPack] = []
    for pack in packs:
        group.append(pack)
        if sum(one.size for one in group) >= GROUP_BYTES:
            yield group
            group = []
    if group and min(one.at_ms for one in group) <= now_ms - WAIT_MS:
        yield group


def is_worthwhile(packs: Sequence[FreshPack]) -> bool:
    """Return True if hosts with enough bytes for a dictionary have half of the packs' bytes."""
    return sum(_large_hosts(packs)) >= MIN_SHARE * sum(pack.size for pack in packs)


def large_hosts(packs: Sequence[FreshPack]) -> int:
    """Return how many hosts have enough bytes for a dictionary."""
    return len(_large_hosts(packs))


def _large_hosts(packs: Sequence[FreshPack]) -> list[int]:
    of_hosts: dict[bytes, int] = {}
    for pack in packs:
        for host, size in pack.hosts.items():
            of_hosts[host] = of_hosts.get(host, 0) + size
    return [size for size in of_hosts.values() if size >= MIN_HOST_BYTES]


def parts(
    records: Sequence[T],
    host_of: Callable[[T], bytes],
    size_of: Callable[[T], int],
    raw_size_of: Callable[[T], int],
    most: int,
) -> Iterator[tuple[list[T], bool]]:
    """
    Yield the records for each new pack, and True if they are from one host and should get a
    dictionary.

    A part has at most `most` bytes of compressed records, unless a single record is larger.
    """
    by_host: dict[bytes, list[T]] = {}
    for record in records:
        by_host.setdefault(host_of(record), []).append(record)
    rest: list[T] = []
    for some in by_host.values():
        if sum(map(raw_size_of, some)) < MIN_RAW_BYTES:
            rest += some
            continue
        yield from ((part, True) for part in _equal_parts(some, size_of, most))
    yield from ((part, False) for part in _equal_parts(rest, size_of, most))


def _equal_parts(records: Sequence[T], size_of: Callable[[T], int], most: int) -> Iterator[list[T]]:
    """The parts have about equal size, so that none is too small for a dictionary."""
    total = sum(map(size_of, records))
    target_bytes = total / -(-total // most) if total else 0
    part: list[T] = []
    size = 0
    for record in records:
        if part and size + size_of(record) > most:
            yield part
            part, size = [], 0
        part.append(record)
        size += size_of(record)
        if size >= target_bytes:
            yield part
            part, size = [], 0
    if part:
        yield part
