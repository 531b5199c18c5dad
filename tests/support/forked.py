"""
Run Python code in a separate process, forked from one that has imported the page readers.

For effects that the test's process must not have: kernel limits, peaks of memory. A fork takes
milliseconds, while a new interpreter would import for half a second, and memory used earlier by the
test's process does not count.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from multiprocessing.context import ForkServerContext
from pathlib import Path

from tests.support.waiting import WITHIN_S

IMPORTED = ["tests.fuzz.fuzz_pages", "aragog.pages.sitemaps", "aragog.crawl.stages.page_limits"]


@dataclass(frozen=True, slots=True)
class Ended:
    """The result of a process. A negative code is the signal that killed it."""

    returncode: int | None
    stdout: str
    stderr: str


@cache
def _forks() -> ForkServerContext:
    """Return the fork server of this test process, which ends with it."""
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload(IMPORTED)
    return forks


def python(code: str, *arguments: str) -> Ended:
    """Run `python -c CODE ARGUMENT …` in a fork. Raises AssertionError if it does not end."""
    with tempfile.TemporaryDirectory(prefix="ar") as directory:
        folder = Path(directory)
        process = _forks().Process(target=_run, args=(code, arguments, directory), daemon=True)
        process.start()
        process.join(WITHIN_S)
        assert process.exitcode is not None, f"still runs after {WITHIN_S:g} s"
        return Ended(process.exitcode, *((folder / name).read_text() for name in ("out", "err")))


def printed(code: str, *arguments: str) -> str:
    """Return what `python` prints. Raises AssertionError if it fails."""
    ended = python(code, *arguments)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def _run(code: str, arguments: tuple[str, ...], folder: str) -> None:
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(Path(folder, name), os.O_CREAT | os.O_WRONLY, 0o600), number)
    sys.argv = ["-c", *arguments]
    exec(code, {"__name__": "__main__"})
