"""
Limits of CPU time and memory for the analysis of one page, enforced by the kernel.

The parsers are bounded (`aragog.pages`); this is the last line of defense around them. CPU time
beyond the limit raises `PageTooExpensive` where Python code runs; a parser that stays in C is
killed by the kernel at twice the limit, and its process with it. Memory beyond the limit
raises MemoryError, or the parser crashes. `run_marks` finds the page after its process is gone.

Limits hold only in a process that may die alone, such as a child of Celery's prefork pool: call
`make_expendable` there once. Elsewhere `limited` does nothing.
"""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

KILLED_AT = 2.0
"""Times the limit: when the kernel kills a process that has stayed in C code since."""
_REPEATED_S = 0.5
_STATM = Path("/proc/self/statm")
_DATA_PAGES = 5
_armed: dict[str, float] = {}
"""`here` is set in an expendable process, `limit_s` while a page is analyzed."""


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
    Run the block within both limits; costs 30 µs.

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
        pages = int(_STATM.read_bytes().split()[_DATA_PAGES])
    except (OSError, ValueError, IndexError):
        return None
    most = pages * resource.getpagesize() + more
    return most if hard == resource.RLIM_INFINITY else min(most, hard)
