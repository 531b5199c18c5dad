"""Start a private server, or skip the test where it cannot run."""

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
    """What `start` returns; where it cannot start, the test is skipped for want of `part`."""
    try:
        return start()
    except CannotStart as error:
        skip_without(part, str(error))


@contextmanager
def folder_of_a_server(name: str) -> Iterator[Path]:
    """A temporary folder, removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix=f"aragog-{name}-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
