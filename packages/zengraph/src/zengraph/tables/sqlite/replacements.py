"""
Records of replaced damaged files, kept until their lost rows are restored.

A new file may lack rows of the damaged one. After the replacement, the caller walks through the
file's keys and restores missing rows. Because a repair may be killed before that, a small note is
written next to the new file before the file is used, and deleted after the walk.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from zengraph.tables import Salvaged

_ENDING = ".salvaged"


def note(done: Salvaged) -> None:
    """
    Store a replacement durably, replacing an earlier note about the same file.

    Raises:
        OSError: writing the note failed.
    """
    path = _path(done)
    fresh = path.with_name(f"{path.name}.new")
    with fresh.open("w", encoding="utf-8") as file:
        json.dump(done._asdict() | {"first_bytes": sorted(done.first_bytes)}, file)
        file.flush()
        os.fsync(file.fileno())
    fresh.rename(path)
    sync_folder(path.parent)


def unfinished(folder: Path) -> list[Salvaged]:
    """Return the replacements whose walk is not complete, ordered by file name."""
    return [_read(path) for path in sorted(folder.glob(f"*{_ENDING}"))]


def forget(done: Iterable[Salvaged]) -> None:
    """Delete the notes of these replacements; safe to repeat."""
    for one in done:
        _path(one).unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to the disk."""
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _path(done: Salvaged) -> Path:
    return Path(done.new).with_suffix(_ENDING)


def _read(path: Path) -> Salvaged:
    try:
        values = json.loads(path.read_text("utf-8"))
        return _parse_result(values, path)
    except (ValueError, TypeError, KeyError, AttributeError):
        # The note is damaged as well, so all keys count as lost. That is safe, because the walk
        # does not change existing nodes.
        new = path.with_suffix(".db")
        return Salvaged(str(new), str(new), 0, 0, 0, frozenset(range(256)))


def _parse_result(values: dict[str, Any], path: Path) -> Salvaged:
    known = {name: values[name] for name in Salvaged._fields}
    # The folder may have moved since then, so use only the note's file names.
    places = {name: str(path.parent / Path(known[name]).name) for name in ("old", "new")}
    return Salvaged(**{**known, **places, "first_bytes": frozenset(known["first_bytes"])})
