"""
Rotate the logs of a standalone aragog by size.

The processes keep their logs open, so a log is copied and then truncated, like logrotate's
`copytruncate`. Lines written between the copy and the truncation are lost, at most a few for a log
of 50 MB.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from aragog.standalone.processes import create_private


def rotate_all(folder: Path, *, max_bytes: int, count: int) -> None:
    """
    Rotate every `*.log` in a folder that is larger than `max_bytes`. Never raises OSError.

    Args:
        folder: the folder with the logs.
        max_bytes: a larger log becomes `NAME.log.1`, which becomes `NAME.log.2`, and so on.
        count: how many rotated logs to keep per log. The oldest is removed.
    """
    try:
        logs = [log for log in folder.glob("*.log") if log.stat().st_size > max_bytes]
    except OSError:
        return
    for log in logs:
        try:
            _rotate(log, count)
        except OSError:  # no space for the copy: the next call retries
            _rotated_path(log, 1).unlink(missing_ok=True)


def _rotate(log: Path, count: int) -> None:
    for number in range(count - 1, 0, -1):
        if _rotated_path(log, number).exists():
            _rotated_path(log, number).replace(_rotated_path(log, number + 1))
    with (
        log.open("r+b") as current,
        open(_rotated_path(log, 1), "wb", opener=create_private) as copy,
    ):
        shutil.copyfileobj(current, copy, 1 << 20)
        os.ftruncate(current.fileno(), 0)


def _rotated_path(log: Path, number: int) -> Path:
    return log.with_name(f"{log.name}.{number}")
