"""
Records which SQLite files are damaged, in memory shared by all processes.

Each file has a generation, one byte of the memory-mapped file `generations`. If it is even, the
file is in use. If it is odd, the file is damaged and set aside: nothing is written to it, and reads
return the rows that SQLite can still read. A repair writes the readable rows into a new file and
makes the generation even again, so every process opens the new file at its next call. File names
contain the generation (`05.db`, then `05.2.db`), so no two databases ever share a write-ahead log.
"""

from __future__ import annotations

import logging
import mmap
import re
import threading
from pathlib import Path

from zengraph._remedies import DEFAULT, Remedies
from zengraph.errors import InvalidConfig

log = logging.getLogger(__name__)

LAST_GENERATION = 254
_STATE = "generations"
_STATE_BYTES = 256
_NAME = re.compile(r"([0-9a-f]{2})(?:\.(\d{1,3}))?\.db")


class Health:
    """
    The generations of a folder's files, shared by threads and forked processes.

    Raises:
        InvalidConfig: the file `generations` is too short.
    """

    def __init__(self, folder: Path, count: int, remedies: Remedies = DEFAULT) -> None:
        self.remedy = f"{remedies.salvage} to save its rows into a new file"
        self._folder = folder
        self._count = count
        self._lock = threading.Lock()
        self._state = _map_state(folder)

    def generation(self, number: int) -> int:
        """Return a file's generation; odd if the file is set aside."""
        return self._state[number]

    def path(self, number: int, generation: int | None = None) -> Path:
        """Return a file's path in a generation; None means the current one."""
        file_generation = (self._state[number] if generation is None else generation) & ~1
        return self._folder / (
            f"{number:02x}.{file_generation}.db" if file_generation else f"{number:02x}.db"
        )

    def damaged(self) -> list[int]:
        return [number for number in range(self._count) if self._state[number] & 1]

    def set_aside(self, number: int, generation: int, reason: str) -> None:
        """
        Stop writing to a file, in every process. Only the process that finds the damage first logs
        it.

        Does nothing if a repair has replaced that generation in the meantime.
        """
        with self._lock:
            if self._state[number] != generation or generation & 1:
                return
            self._put(number, self._state[number] + 1)
        log.error(
            "%s is damaged (%s): nothing more is written to it; the other %d files stay in use; %s",
            self.path(number), reason, self._count - 1, self.remedy,
        )  # fmt: skip

    def replace(self, number: int) -> None:
        """Switch a file that is set aside to its next generation."""
        self._put(number, self._state[number] + 1)

    def _put(self, number: int, generation: int) -> None:
        if generation > LAST_GENERATION + 1:
            remedy = "export the data and import it into a new folder"
            raise InvalidConfig(f"{self.path(number)} was repaired too many times: {remedy}")
        state = self._state
        state[number] = generation
        if isinstance(state, mmap.mmap):
            state.flush()


def _map_state(folder: Path) -> mmap.mmap | bytearray:
    """Return the shared state, or a private copy of it if the folder is read-only."""
    path = folder / _STATE
    try:
        if not path.exists():
            fresh = folder / f"{_STATE}.new"
            fresh.write_bytes(_initial_state(folder))
            fresh.rename(path)
        with path.open("r+b") as file:
            return mmap.mmap(file.fileno(), _STATE_BYTES)
    except OSError:
        return bytearray(path.read_bytes() if path.exists() else _initial_state(folder))
    except ValueError as error:
        remedy = "delete it; it is then created again from the names of the files"
        raise InvalidConfig(f"{path}: {error}; {remedy}") from error


def has_state(folder: Path) -> bool:
    """Return True if the file `generations` exists, so that `Health` does not create it."""
    return (folder / _STATE).exists()


def _initial_state(folder: Path) -> bytes:
    state = bytearray(_STATE_BYTES)
    for name in (path.name for path in folder.glob("*.db")):
        if match := _NAME.fullmatch(name):
            number, generation = int(match[1], 16), int(match[2] or 0)
            state[number] = max(state[number], generation)
    return bytes(state)


def count_files(folder: Path) -> int:
    """Return the number of files, not counting replacements."""
    return len(set(_file_numbers(folder)))


def _file_numbers(folder: Path) -> list[int]:
    return [int(match[1], 16) for p in folder.glob("*.db") if (match := _NAME.fullmatch(p.name))]


def files_in_use(folder: Path) -> list[Path]:
    """
    Return the path of each file's current generation, which may not exist yet. The generation comes
    from the stored state, because a repair may have deleted the replaced file.
    """
    if not folder.is_dir():
        return []
    health = Health(folder, count := max(_file_numbers(folder), default=-1) + 1)
    return [health.path(number) for number in range(count)]


def old_files(folder: Path) -> list[Path]:
    """Damaged files (and their logs) that a repair has replaced but not deleted."""
    state = _map_state(folder)
    paths = []
    for path in sorted(folder.glob("*.db*")):
        match = _NAME.fullmatch(path.name.removesuffix("-wal").removesuffix("-shm"))
        if match and int(match[2] or 0) < state[int(match[1], 16)] & ~1:
            paths.append(path)
    return paths
