"""A module of tests closes what it opened: a process may have 1,024 files, and runs many modules."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

MAX_LEFT = 250
"""Files that a module may leave open: pools of Celery apps keep some, and servers last a session."""
COLLECTED_FROM = 50

_LINUX = Path("/proc/self/fd")


@pytest.fixture(scope="module", autouse=True)
def closed_files() -> Iterator[None]:
    """Fail a module that leaves many files open; another module would fail in its place."""
    before = _open_files()
    yield
    if _count_left(before) > COLLECTED_FROM:
        gc.collect()  # stores that commands opened in this process
    left = _open_files() - before
    assert left.total() <= MAX_LEFT, f"files left open, by name: {left.most_common(5)}"


def _count_left(before: Counter[str]) -> int:
    return (_open_files() - before).total()


def _open_files() -> Counter[str]:
    names: Counter[str] = Counter()
    for file in (_LINUX if _LINUX.is_dir() else Path("/dev/fd")).iterdir():
        try:
            names[str(file.readlink())] += 1
        except OSError:  # the listing's own, closed by now; or not a link, as on macOS
            names["?"] += 1
    return names
