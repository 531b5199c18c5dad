"""Start a process whose output is appended to a log that only its owner can read."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def spawn(
    argv: Sequence[str], environ: Mapping[str, str], log: Path, **options: Any
) -> subprocess.Popen[bytes]:
    """
    Start `argv` without standard input; `options` are those of `subprocess.Popen`.

    Raises:
        OSError: the kernel or the disk refuses.
    """
    with open(log, "ab", opener=create_private) as output:
        return subprocess.Popen(
            argv,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            **options,
        )


def create_private(path: str, flags: int) -> int:
    """An opener for `open`: creates a missing file that only its owner can read."""
    return os.open(path, flags | os.O_CREAT, 0o600)
