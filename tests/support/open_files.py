"""Check that test modules close their files, because a process may only open 1,024."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

MAX_LEFT = 250
"""Files that a module may leave open, such as those of Celery apps' pools and session servers."""
COLLECTED_FROM = 50

_LINUX = Path("/proc/self/fd")


@pytest.fixture(scope="module", autouse=True)
def closed_files() -> Iterator[None]:
    """Fail a module that leaves many files open, because another module would fail instead."""
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
