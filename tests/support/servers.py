"""Start a private server, or skip the test where it cannot run."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from deploy.processes import CannotStart

T = TypeVar("T")


def start_or_skip(start: Callable[[], T]) -> T:
    """What `start` returns; where it cannot start the test is skipped, but fails when CI=true."""
    try:
        return start()
    except CannotStart as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"not here: {error}")


@contextmanager
def folder_of_a_server(name: str) -> Iterator[Path]:
    """A temporary folder, removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix=f"aragog-{name}-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
