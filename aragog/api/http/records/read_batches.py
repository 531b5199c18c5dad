"""
Read records for many requests with one call into a thread.

A call into a thread and back costs as much CPU as the read itself. So requests that arrive while
others are being read wait for a moment and share a call: one under light load, up to `MOST` under
heavy load. Requests of a batch have their own results; one that fails does not affect the others.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from aragog.api.hedging import ReadStore
from aragog.api.http.compression import LEAST_BYTES, compressed
from aragog.api.http.records.record_json import RecordJson, read_hedged
from aragog.api.http.records.store_threads import StoreThreads
from aragog.api.problems import Overloaded
from aragog.settings import ServingSettings

MOST = 64
"""Requests of one batch."""
PATIENCE_S = 0.001
"""While a batch is read, another begins when it is full, or after this time."""


@dataclass(frozen=True, slots=True)
class Body:
    """A record as the body of a response."""

    data: bytes
    tag: str
    """The ETag."""
    coding: str | None = None
    """The Content-Encoding."""


Result = Body | Exception | None
"""None: there is no record of the URL."""


@dataclass(frozen=True, slots=True)
class Read:
    """One request for a record."""

    url: str
    fields: tuple[str, ...] | None
    coding: str | None
    """What the client accepts."""
    done: Callable[[Result], None]
    """Called on the event loop, once."""


class ReadBatches:
    """
    The reads of one server; used only on its event loop.

    Args:
        read: reads the store.
        threads: where the reads run.
        settings: limits and deadlines.
    """

    def __init__(self, read: ReadStore, threads: StoreThreads, settings: ServingSettings) -> None:
        self._read = read
        self._threads = threads
        self._deadline_s = settings.deadline_ms / 1000
        self._most_requests = settings.max_in_flight
        self._most_batches = settings.threads
        self._waiting: list[Read] = []
        self._running = 0
        self._reading = 0
        self._begins_soon = False
        self._timer: asyncio.TimerHandle | None = None

    def submit(self, read: Read) -> None:
        """Read a record soon, and call `read.done` with the result, or with an error."""
        if self._reading + len(self._waiting) >= self._most_requests:
            read.done(Overloaded())
            return
        self._waiting.append(read)
        if not self._begins_soon:
            self._begins_soon = True
            asyncio.get_running_loop().call_soon(self._begin)

    def _begin(self, *, late: bool = False) -> None:
        """Begin batches as far as it pays; later requests share the next ones."""
        self._begins_soon = False
        while self._waiting and self._running < self._most_batches:
            if not (late or self._running == 0 or len(self._waiting) >= MOST):
                break
            reads, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
            self._start(reads)
        if self._waiting and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(PATIENCE_S, self._late)

    def _late(self) -> None:
        self._timer = None
        self._begin(late=True)

    def _start(self, reads: Sequence[Read]) -> None:
        self._running += 1
        self._reading += len(reads)
        try:
            call = partial(read_all, self._read, reads)
            self._threads.start(call, self._deadline_s, partial(self._finish, reads))
        except Overloaded as error:
            self._finish(reads, error)

    def _finish(self, reads: Sequence[Read], results: Sequence[Result] | Exception) -> None:
        self._running -= 1
        self._reading -= len(reads)
        if isinstance(results, Exception):
            results = [results] * len(reads)
        for read, result in zip(reads, results, strict=True):
            read.done(result)
        if self._waiting and not self._begins_soon:
            self._begins_soon = True
            asyncio.get_running_loop().call_soon(self._begin)


def read_all(make: ReadStore, reads: Sequence[Read]) -> list[Result]:
    """
    The result of each read, in order.

    Args:
        make: reads the store.
        reads: what to read.
    """
    groups: dict[tuple[str, ...] | None, list[int]] = defaultdict(list)
    for place, read in enumerate(reads):
        groups[read.fields].append(place)
    results: list[Result] = [None] * len(reads)
    for fields, places in groups.items():
        result = read_hedged(make, [reads[place].url for place in places], fields)
        for place, record in zip(places, result, strict=True):
            results[place] = _body(record, reads[place].coding)
    return results


def _body(result: RecordJson | Exception | None, coding: str | None) -> Result:
    if result is None or isinstance(result, Exception):
        return result
    tag = body_tag(result.version, result.data)
    if coding is None or len(result.data) < LEAST_BYTES:
        return Body(result.data, tag)
    return Body(compressed(coding, result.data), f'{tag[:-1]}-{coding}"', coding)


def body_tag(version: str, body: bytes) -> str:
    """The ETag of a record: its version, which `If-Match` of a write compares, and a hash."""
    return f'"{version}.{hashlib.blake2b(body, digest_size=8).hexdigest()}"'
