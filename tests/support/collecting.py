"""
Collect tests: each process begins with a different part, and garbage collection is off meanwhile.

Every worker of pytest-xdist collects all tests. If nothing is compiled yet, as after a clone, most
of the time is spent rewriting the assertions of test modules. So each worker begins with a different
part of the files, and later finds the other parts compiled. `tests.support.scheduling` puts the
tests into the same order in all workers.

Collected objects live until the end, so garbage collection, which would visit more than a million
of them again and again, is useless.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

# The files of a folder at this depth belong to one part of some hundred tests.
DEPTH = 2


def parts_of(folder: Path, depth: int = DEPTH) -> list[Path]:
    """Return the test files and folders `depth` levels below the folder, sorted."""
    if depth == 0 or folder.is_file():
        return [folder]
    entries = (entry for entry in folder.iterdir() if _has_tests(entry))
    return [part for entry in sorted(entries) for part in parts_of(entry, depth - 1)]


def _has_tests(path: Path) -> bool:
    return any(path.rglob("test_*.py")) if path.is_dir() else path.match("test_*.py")


def rotated(parts: list[Path], worker: int, workers: int) -> list[Path]:
    """Return the parts, rotated to begin with this worker's share."""
    first = worker * len(parts) // workers
    return parts[first:] + parts[:first]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Collect this worker's own part first, if it collects everything."""
    config = session.config
    told = getattr(config, "workerinput", None)
    if told is not None and config.args == config.getini("testpaths"):
        number = int(told["workerid"].removeprefix("gw"))
        parts = [part for name in config.args for part in parts_of(config.rootpath / name)]
        config.args = [str(part) for part in rotated(parts, number, told["workercount"])]
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
