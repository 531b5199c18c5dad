"""Start a private server, or skip the test if it cannot run."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from deploy.processes import CannotStart
from tests.support.missing_parts import Part, skip_without

T = TypeVar("T")


def start_or_skip(start: Callable[[], T], part: Part) -> T:
    """Return what `start` returns. If it cannot start, skip the test because `part` is missing."""
    try:
        return start()
    except CannotStart as error:
        skip_without(part, str(error))


@contextmanager
def folder_of_a_server(name: str) -> Iterator[Path]:
    """Create a temporary folder, which is removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix=f"aragog-{name}-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
