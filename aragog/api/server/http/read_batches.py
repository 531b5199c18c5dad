"""
Read records for responses. Requests that arrive together share one read, because passing a call to
a thread and back costs as much CPU time as a read. Each request gets its own result, and a failure
of one does not affect the others.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aragog.api.operations.large_reads import ReadTooLarge
from aragog.api.operations.store_reads import ReadStore
from aragog.api.problems import Overloaded
from aragog.api.server.http.compression import MIN_BYTES, compress_body
from aragog.api.server.http.etags import body_tag, coded_tag
from aragog.api.server.http.record_reads import RecordJson, read_hedged
from aragog.api.server.memory import SMALL_BYTES, MemoryLimit
from aragog.api.server.threads import CallThreads, ThreadCall


@dataclass(frozen=True, slots=True)
class Body:
    """A record as a response body."""

    data: bytes
    tag: str
    """The response's ETag."""
    coding: str | None = None
    """The Content-Encoding of `data`, or None."""


Result = Body | Exception | None
"""The result of a read, or None if the URL has no record."""
OnDone = Callable[[Result, int], None]


class RecordRead(ThreadCall):
    """
    A read of one record.

    Args:
        read: reads the store.
        url: the URL, in any spelling.
        fields: the fields to read; None reads all.
        coding: a Content-Encoding that the client accepts, or None.
        on_done: called once on the event loop, with the result and how many bytes `memory` counts
            for it.
        memory: counts large results until they have been sent.
        deadline_s: the deadline, by `time.monotonic`.
    """

    __slots__ = ("_done", "_held_bytes", "_memory", "_result", "coding", "fields", "read", "url")

    def __init__(
        self,
        read: ReadStore,
        url: str,
        fields: tuple[str, ...] | None,
        coding: str | None,
        on_done: OnDone,
        memory: MemoryLimit,
        deadline_s: float,
    ) -> None:
        super().__init__(deadline_s)
        self.read = read
        self.url = url
        self.fields = fields
        self.coding = coding
        self._result: Result = None
        self._held_bytes = 0
        self._memory = memory
        self._done: OnDone | None = on_done

    def run(self) -> None:
        read_all([self])

    def group_filter(self) -> Callable[[object], bool]:
        return _is_record_read

    def run_with(self, others: Sequence[RecordRead]) -> None:
        read_all([self, *others])

    @property
    def abandoned(self) -> bool:
        return self._done is None

    def set_result(self, result: Result) -> None:
        """Store the result if there is memory for it. Runs in a thread."""
        if isinstance(result, Body) and len(result.data) > SMALL_BYTES:
            if self._memory.take(len(result.data)):
                self._held_bytes = len(result.data)
            else:
                result = self._memory.problem()
        self._result = result

    def finish(self) -> None:
        on_done, self._done = self._done, None
        result, self._result = self._result, None  # a thread may still refer to this call
        if on_done is not None:
            on_done(result, self._held_bytes)
        else:
            self._memory.release(self._held_bytes)

    def expire(self) -> None:
        on_done, self._done = self._done, None
        if on_done is not None:
            on_done(TimeoutError(), 0)


def _is_record_read(call: object) -> bool:
    return type(call) is RecordRead


class ReadBatches:
    """
    The reads of one server. It must be used on the server's event loop.

    Args:
        read: reads the store.
        threads: the threads that run the reads.
        deadline_s: how long a read may take.
        memory: counts large results.
    """

    def __init__(
        self, read: ReadStore, threads: CallThreads, deadline_s: float, memory: MemoryLimit
    ) -> None:
        self._read = read
        self._memory = memory
        self._threads = threads
        self._deadline_s = deadline_s

    def submit(
        self,
        url: str,
        fields: tuple[str, ...] | None,
        coding: str | None,
        on_done: OnDone,
    ) -> None:
        if self._threads.is_full:
            on_done(Overloaded(), 0)
            return
        deadline_s = time.monotonic() + self._deadline_s
        self._threads.submit(
            RecordRead(self._read, url, fields, coding, on_done, self._memory, deadline_s)
        )


def read_all(reads: Sequence[RecordRead]) -> None:
    """Read records for several requests, with one read for each set of fields."""
    reads_by_fields: dict[tuple[str, ...] | None, list[RecordRead]] = defaultdict(list)
    for read in reads:
        if not read.abandoned:
            reads_by_fields[read.fields].append(read)
    for fields, group in reads_by_fields.items():
        try:
            records = read_hedged(group[0].read, [read.url for read in group], fields)
            for read, record in zip(group, records, strict=True):
                read.set_result(_to_body(record, read.coding))
        except ReadTooLarge:
            for read in group:
                read_all([read])
        except Exception as error:  # noqa: BLE001 - the reads' callers get the error
            for read in group:
                read.set_result(error)


def _to_body(result: RecordJson | Exception | None, coding: str | None) -> Result:
    if result is None or isinstance(result, Exception):
        return result
    tag = body_tag(result.version, result.data)
    if coding is None or len(result.data) < MIN_BYTES:
        return Body(result.data, tag)
    return Body(compress_body(coding, result.data), coded_tag(tag, coding), coding)
