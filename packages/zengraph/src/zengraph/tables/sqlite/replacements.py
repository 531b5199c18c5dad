"""
What repairs replaced and did not finish: one small file beside each new SQLite file.

A new file may lack rows that the damaged one had. The walk after the replacement makes such pages
due again, and must know which keys were in the file. A repair may be killed between the two, so
this is written before the new file is used, and deleted when a walk has reached its end.
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
    Write down a replacement, on the disk before this returns; replaces an earlier note of it.

    Raises:
        OSError: it cannot be written.
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
    """The replacements whose walk has not reached its end, in order of the files' names."""
    return [_read(path) for path in sorted(folder.glob(f"*{_ENDING}"))]


def forget(done: Iterable[Salvaged]) -> None:
    """Delete the notes of these replacements; safe to repeat."""
    for one in done:
        _path(one).unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to the disk."""
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
        return _salvaged(values, path)
    except (ValueError, TypeError, KeyError, AttributeError):
        # The disk damaged the note, too. Pages that are not lost have their nodes, so taking every
        # key for lost makes no other page due.
        new = path.with_suffix(".db")
        return Salvaged(str(new), str(new), 0, 0, 0, frozenset(range(256)))


def _salvaged(values: dict[str, Any], path: Path) -> Salvaged:
    known = {name: values[name] for name in Salvaged._fields}
    # The folder may have been moved since.
    places = {name: str(path.parent / Path(known[name]).name) for name in ("old", "new")}
    return Salvaged(**{**known, **places, "first_bytes": frozenset(known["first_bytes"])})
