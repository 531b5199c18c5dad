"""
Limits for the analysis of one page, and marks of batches whose analysis began.

The parsers are bounded (`aragog.pages`); the limits of CPU time and memory, which the kernel
enforces, are the last line of defense around them. CPU time beyond the limit raises
`PageTooExpensive` where Python code runs; a parser that stays in C is killed by the kernel at twice
the limit, and its process with it. Memory beyond the limit raises MemoryError, or the parser
crashes. Limits hold only in a process that may die alone, such as a child of Celery's prefork pool:
call `make_expendable` there once. Elsewhere `limited` does nothing.

A mark finds the page whose process was killed. It is a lease in Redis under the batch's body
tokens, acquired before the first page is read and released when the run ends, however it ends; only
the loss of the process leaves it, and the fence of the next run is one higher. Marks
expire after `pipeline.spool_ttl_s`.
"""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import redis

from aragog.crawl.shared_redis.leases import Leases

_ALWAYS_S = 1e9
"""More seconds than any lease has left: each run takes over."""
MAX_RUNS_LOST = 2
"""How many runs of a page on its own may be lost: a restart may cost one, hardly two."""


class RunMarks:
    """The marks. Best effort: where Redis does not answer or is full, no run counts as lost."""

    def __init__(self, client: redis.Redis, *, prefix: str, ttl_s: float) -> None:
        self._leases = Leases(client, f"{prefix}runs", ttl_s, patience_s=0, fenced=True)

    def begin(self, tokens: Sequence[str]) -> int:
        """Mark a run of the batch; how many earlier ones never ended, at most 8. One round trip."""
        with suppress(redis.RedisError):
            (fence,) = self._leases.acquire([_name(tokens)], renewed_s=_ALWAYS_S)
            return fence - 1
        return 0

    def end(self, tokens: Sequence[str]) -> None:
        """The run is over. Doing it twice is harmless."""
        with suppress(redis.RedisError):
            self._leases.release([_name(tokens)])

    def sweep(self) -> int:
        """Drop the marks that have expired; returns how many."""
        with suppress(redis.RedisError):
            return self._leases.sweep()
        return 0


def _name(tokens: Sequence[str]) -> str:
    return " ".join(tokens)


KILLED_AT = 2.0
"""Times the limit: when the kernel kills a process that has stayed in C code since."""
_REPEATED_S = 0.5
_STATM = "/proc/self/statm"
_STATM_BYTES = 200
_DATA_PAGES = 5
_PAGE_BYTES = resource.getpagesize()
_armed: dict[str, float] = {}
"""`here` is set in an expendable process, `limit_s` while a page is analyzed."""
_statm_of: dict[int, int] = {}
"""The open file of this process's sizes, by process id: it shows the process that opened it."""


class PageTooExpensive(BaseException):
    """
    The page took more CPU time than one page may.

    No `Exception`: code that survives the failure of a part must not survive this.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def make_expendable(**_: object) -> None:
    """Let this process be killed by a page. Call it from the main thread."""
    signal.signal(signal.SIGPROF, _stop)
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    _armed["here"] = 1


def _stop(*_: object) -> None:
    if "limit_s" in _armed:
        raise PageTooExpensive(f"took more than {_armed['limit_s']:g} s of CPU time")


@contextmanager
def limited(max_cpu_s: float, max_memory_bytes: int) -> Iterator[None]:
    """
    Run the block within both limits; costs 15 µs.

    Raises:
        PageTooExpensive: the block took more CPU time.
        MemoryError: it took more memory.
    """
    if "here" not in _armed:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = _data_bytes(max_memory_bytes, hard)
    _armed["limit_s"] = max_cpu_s
    signal.setitimer(signal.ITIMER_PROF, max_cpu_s, _REPEATED_S)
    signal.setitimer(signal.ITIMER_VIRTUAL, max_cpu_s * KILLED_AT)
    if most is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    try:
        yield
    finally:
        try:
            _armed.pop("limit_s", None)
        finally:  # if the handler raised just before, it will not again
            _disarm(soft, hard)


def _disarm(soft: int, hard: int) -> None:
    _armed.pop("limit_s", None)
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _data_bytes(more: int, hard: int) -> int | None:
    """The process's data size now plus `more`; None where the system does not report it."""
    try:
        pages = int(os.pread(_statm(), _STATM_BYTES, 0).split()[_DATA_PAGES])
    except (OSError, ValueError, IndexError):
        return None
    most = pages * _PAGE_BYTES + more
    return most if hard == resource.RLIM_INFINITY else min(most, hard)


def _statm() -> int:
    """Return the open file: opening it for each page takes longer than reading it."""
    pid = os.getpid()
    if pid not in _statm_of:
        while _statm_of:
            os.close(_statm_of.popitem()[1])
        _statm_of[pid] = os.open(_STATM, os.O_RDONLY | os.O_CLOEXEC)
    return _statm_of[pid]
