"""
How test processes collect: each begins with another part, and the garbage collector rests in the meantime.

Every worker of pytest-xdist collects all tests. Where nothing is compiled yet, as after a clone, most
of that time goes into rewriting the assertions of the test modules. Each worker begins with another
part of the files and finds the other parts compiled. `tests.support.scheduling` puts the tests into
the same order in all workers.

What collection makes lives until the end, so the garbage collector need not look at it: by default
it would, again and again, at more than a million objects.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

# Files of these folders belong to one part each; a part has some hundred tests.
DEPTH = 2


def parts_of(folder: Path, depth: int = DEPTH) -> list[Path]:
    """The test files and folders that are `depth` levels below the folder, sorted."""
    if depth == 0 or folder.is_file():
        return [folder]
    entries = (entry for entry in folder.iterdir() if _has_tests(entry))
    return [part for entry in sorted(entries) for part in parts_of(entry, depth - 1)]


def _has_tests(path: Path) -> bool:
    return any(path.rglob("test_*.py")) if path.is_dir() else path.match("test_*.py")


def rotated(parts: list[Path], worker: int, workers: int) -> list[Path]:
    """The parts, beginning with the first one of this worker's share."""
    first = worker * len(parts) // workers
    return parts[first:] + parts[:first]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """In a worker that collects everything: with its own part first."""
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
