"""
Limits the CPU time and memory for analyzing one page, and records which batches are being analyzed.

The parsers have their own limits (`aragog.pages`). The limits here are the last resort, enforced by
the kernel. At the CPU limit, Python code gets a `PageTooExpensive`. At twice the limit, a process
that stays in C code is killed. Too much memory raises MemoryError or crashes the parser. The limits
only apply in processes that may be killed, such as children of Celery's prefork pool. Such
processes must call `make_expendable`. Elsewhere `limit_resources` has no effect.

These records (`RunMarks`) identify a page that killed its process. A record is a lease in Redis,
named after the batch's body tokens. It is acquired before the first page is read, and released when
the run ends or fails. If the process dies, the lease remains, and the next run gets a higher
fencing token. Leases expire after `pipeline.spool_ttl_s`.
"""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import redis

from aragog.crawl.shared_redis.leases import Leases

_LONGER_THAN_ANY_LEASE_S = 1e9
"""Makes each run take over the lease."""
MAX_RUNS_LOST = 2
"""How many times a process may die while it analyzes a page alone. The first death may be due to a
restart, but hardly a second one."""


class RunMarks:
    """Records of started runs. Best effort: if Redis fails or is full, no run counts as lost."""

    def __init__(self, client: redis.Redis, *, prefix: str, ttl_s: float) -> None:
        self._leases = Leases(client, f"{prefix}runs", ttl_s, patience_s=0, fenced=True)

    def start_run(self, tokens: Sequence[str]) -> int:
        """
        Record the start of a run. Returns how many earlier runs never ended (up to 8). Takes one
        round trip.
        """
        with suppress(redis.RedisError):
            (fence,) = self._leases.acquire(
                [_lease_name(tokens)], renewed_s=_LONGER_THAN_ANY_LEASE_S
            )
            return fence - 1
        return 0

    def end_run(self, tokens: Sequence[str]) -> None:
        """Record the end of a run. Safe to repeat."""
        with suppress(redis.RedisError):
            self._leases.release([_lease_name(tokens)])

    def sweep(self) -> int:
        """Delete expired records. Returns how many."""
        with suppress(redis.RedisError):
            return self._leases.sweep()
        return 0


def _lease_name(tokens: Sequence[str]) -> str:
    return " ".join(tokens)


KILL_FACTOR = 2.0
"""At this multiple of the limit, the kernel kills a process that stays in C code."""
_TIMER_INTERVAL_S = 0.5
_STATM = "/proc/self/statm"
_STATM_BYTES = 200
_DATA_PAGES = 5
_PAGE_BYTES = resource.getpagesize()
_process_state: dict[str, float] = {}
"""`here` is set in an expendable process; `limit_s` while a page is analyzed."""
_statm_by_pid: dict[int, int] = {}
"""The open `statm` files by process ID. After a fork, an open file still shows the process that
opened it."""


class PageTooExpensive(BaseException):
    """
    The page took more CPU time than allowed.

    Not a subclass of `Exception`, so that the handlers of failed parts do not catch it.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def make_expendable(**_: object) -> None:
    """Allow a page to kill this process. Call it from the main thread."""
    signal.signal(signal.SIGPROF, _raise_if_limited)
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    _process_state["here"] = 1


def _raise_if_limited(*_: object) -> None:
    if "limit_s" in _process_state:
        raise PageTooExpensive(f"took more than {_process_state['limit_s']:g} s of CPU time")


@contextmanager
def limit_resources(max_cpu_s: float, max_memory_bytes: int) -> Iterator[None]:
    """
    Run the block within both limits. Setting and removing them takes 15 µs.

    Raises:
        PageTooExpensive: the block took too much CPU time.
        MemoryError: the block took too much memory.
    """
    if "here" not in _process_state:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    max_bytes = _data_bytes(max_memory_bytes, hard)
    _process_state["limit_s"] = max_cpu_s
    signal.setitimer(signal.ITIMER_PROF, max_cpu_s, _TIMER_INTERVAL_S)
    signal.setitimer(signal.ITIMER_VIRTUAL, max_cpu_s * KILL_FACTOR)
    if max_bytes is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (max_bytes, hard))
    try:
        yield
    finally:
        try:
            _process_state.pop("limit_s", None)
        finally:  # also if the handler has just raised; it cannot raise again
            _disarm(soft, hard)


def _disarm(soft: int, hard: int) -> None:
    _process_state.pop("limit_s", None)
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _data_bytes(extra_bytes: int, hard: int) -> int | None:
    """
    Return the current data size plus `extra_bytes`. None if the operating system does not report
    it.
    """
    try:
        pages = int(os.pread(_open_statm(), _STATM_BYTES, 0).split()[_DATA_PAGES])
    except (OSError, ValueError, IndexError):
        return None
    max_bytes = pages * _PAGE_BYTES + extra_bytes
    return max_bytes if hard == resource.RLIM_INFINITY else min(max_bytes, hard)


def _open_statm() -> int:
    """Return the open file. Opening it for each page would take longer than reading it."""
    pid = os.getpid()
    if pid not in _statm_by_pid:
        while _statm_by_pid:
            os.close(_statm_by_pid.popitem()[1])
        _statm_by_pid[pid] = os.open(_STATM, os.O_RDONLY | os.O_CLOEXEC)
    return _statm_by_pid[pid]
