"""
The append-only files of the private Redis: detect problems and repair them.

A manifest lists a base file (a snapshot) and the incremental files that continue it:

    file appendonly.aof.2.base.rdb seq 2 type b
    file appendonly.aof.2.incr.aof seq 2 type i

The server reads only the files in the manifest. If a line is missing, it silently starts without
that file's jobs; without a manifest, it starts empty. If a file is damaged in the middle, the
server does not start, and its log suggests a repair program that the wheels do not include. The
format is that of Redis 7 and Valkey (`aof.c`).
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

FOLDER = "appendonlydir"
MANIFEST = "appendonly.aof.manifest"
_MANIFEST_LINE = re.compile(r"file (\S+) seq (\d+) type ([bhi])")
_FILE_NAME = re.compile(r"appendonly\.aof\.(\d+)\.(base|incr)\.(rdb|aof)")
_SNAPSHOT_MAGICS = (b"REDIS", b"VALKEY")
_MAX_ARGUMENTS = 1 << 20
_MAX_ARGUMENT_BYTES = 1 << 29
"""Maximum argument length, as in the server (`proto-max-bulk-len`)."""
_MAX_LINE_BYTES = 64
DAMAGED_SUFFIX = ".damaged"
MARKER = "appendonly.written"
"""A file next to the folder, created once a server writes append-only files."""


@dataclass(frozen=True, slots=True)
class Damage:
    """The first damage in a file."""

    file: Path
    at_byte: int
    """Everything before this offset is readable."""
    total_bytes: int

    def __str__(self) -> str:
        return (
            f"{self.file} is damaged at byte {self.at_byte:,} of {self.total_bytes:,}: the "
            "rest cannot be read"
        )


class AppendOnlyFiles:
    """
    The files in the folder of a stopped server.

    Args:
        folder: the server's folder, possibly empty.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / FOLDER
        self._manifest = self.folder / MANIFEST
        self._marker = folder / MARKER

    def mark(self) -> None:
        """Record that a server writes the files. From then on, it must not start without them."""
        if not self._marker.exists():
            self._marker.write_text("The folder next to this file contains the jobs of a server.\n")

    def are_lost(self) -> bool:
        """True if a server has written files but none exist."""
        return self._marker.exists() and not any(self._files())

    def unlisted(self) -> list[Path]:
        """
        Return files with data that are missing from the manifest, sorted. Normally, there are none.

        A rewrite increments the numbers of the files, so an incremental file with a lower number
        than the base is a leftover. Empty files are skipped, because they had just been created.
        """
        entries = self._manifest_entries()
        base = max((number for kind, number in entries.values() if kind == "b"), default=0)
        newest = max((number for kind, number in entries.values() if kind == "i"), default=0)
        missing = []
        for path, kind, number in self._files():
            is_next = number >= base if kind == "i" else not base
            if path.name not in entries and path.stat().st_size and is_next and number >= newest:
                missing.append(path)
        return missing

    def missing(self) -> list[Path]:
        """Return files in the manifest that do not exist."""
        names = [name for name, (kind, _) in self._manifest_entries().items() if kind != "h"]
        return [self.folder / name for name in names if not (self.folder / name).exists()]

    def unreadable_lines(self) -> int:
        """Count invalid lines in the manifest. The server refuses to start if there are any."""
        if not self._manifest.exists():
            return 0
        lines = self._manifest.read_text("utf-8", errors="replace").split("\n")
        complete = [
            line for line in lines[:-1] if _MANIFEST_LINE.match(line) or line.startswith("#")
        ]
        return len(lines) - len(complete) - (not lines[-1])

    def total_bytes(self) -> int:
        """Return how many bytes `damage` reads at most."""
        return sum(path.stat().st_size for path, *_ in self._files())

    def damage(self) -> Damage | None:
        """
        Return the first damage in a command file. Reads all command files, at 100 MB per second.

        If a crash has truncated the last file, this is not damage, because the server repairs it.
        """
        paths = [path for path, *_ in self._files() if path.name in self._manifest_entries()]
        for path in paths:
            with path.open("rb") as file:
                if file.read(8).startswith(_SNAPSHOT_MAGICS):
                    continue  # only the server can verify a snapshot's checksum
                file.seek(0)
                size = path.stat().st_size
                readable_bytes, is_cut = _find_readable_end(file)
            if readable_bytes < size and not (is_cut and path == paths[-1]):
                return Damage(path, readable_bytes, size)
        return None

    def problems(self) -> list[str]:
        """
        Describe data that a server would silently lose, one line each. Reads only file names and
        the manifest.
        """
        if self.are_lost():
            problem = f"{self.folder} has no files, although a server has written jobs there"
            remedy = "restore them, or run `aragog repair-redis --set-aside` to start empty"
            return [f"{problem}: {remedy}"]
        problems = [
            f"{path}: {self._manifest} does not list it, so its {path.stat().st_size:,} bytes of "
            "jobs would be lost"
            for path in self.unlisted()
        ]
        problems += [f"{path} is missing, and {self._manifest} names it" for path in self.missing()]
        if lines := self.unreadable_lines():
            problems.append(f"{self._manifest}: {lines} lines are truncated or damaged")
        return problems

    def repair(self) -> list[str]:
        """
        Add all files to the manifest, and remove everything after the first damage. Returns what
        was done.

        Replaced data is kept in the same folder, with the extension `.damaged`. Safe to repeat.

        Raises:
            OSError: the disk is full or not writable.
        """
        if self.are_lost():
            return self.problems()
        actions = [f"{path} is missing: its jobs are lost" for path in self.missing()]
        if self.problems():
            actions.append(self._write_manifest())
        damage = self.damage()
        if damage is not None:
            actions += self._truncate(damage)
        return actions

    def set_aside(self) -> Path | None:
        """
        Rename the folder, so that a server starts empty. Returns the new path, or None if there is
        no folder.
        """
        self._marker.unlink(missing_ok=True)
        if not self.folder.exists():
            return None
        new_path = next(
            path
            for number in range(1, 1000)
            if not (path := self.folder.with_name(f"{FOLDER}{DAMAGED_SUFFIX}.{number}")).exists()
        )
        return self.folder.rename(new_path)

    def _files(self) -> Iterator[tuple[Path, str, int]]:
        """Yield (path, `b` or `i`, number) for each file, base first, by number."""
        files = [
            (path, match[2][0], int(match[1]))
            for path in self.folder.glob("appendonly.aof.*")
            if (match := _FILE_NAME.fullmatch(path.name))
        ]
        return iter(sorted(files, key=lambda file: (file[1], file[2])))

    def _manifest_entries(self) -> dict[str, tuple[str, int]]:
        """Return the kind and number of each file in a complete line."""
        try:
            text = self._manifest.read_text("utf-8", errors="replace")
        except FileNotFoundError:
            return {}
        lines = [_MANIFEST_LINE.match(line) for line in text.split("\n")[:-1]]
        return {line[1]: (line[3], int(line[2])) for line in lines if line}

    def _write_manifest(self) -> str:
        """Write a manifest with the newest valid base and its incremental files."""
        entries, files = self._manifest_entries(), list(self._files())
        bases = [(path, n) for path, kind, n in files if kind == "b"]
        listed_bases = [base for base in bases if base[0].name in entries] or bases[-1:]
        base = listed_bases[-1][1] if listed_bases else 0
        listed_files = listed_bases[-1:] + [
            (path, n) for path, kind, n in files if kind == "i" and n >= base
        ]
        lines = [
            f"file {path.name} seq {n} type {'b' if (path, n) in listed_bases else 'i'}"
            for path, n in listed_files
        ]
        if self._manifest.exists():
            shutil.copyfile(self._manifest, _copy_path(self._manifest))
        new_manifest = self._manifest.with_suffix(".new")
        new_manifest.write_text("".join(f"{line}\n" for line in lines), "ascii")
        new_manifest.rename(self._manifest)
        return f"{self._manifest} names {', '.join(path.name for path, _ in listed_files)}"

    def _truncate(self, damage: Damage) -> list[str]:
        """
        Truncate a file at the damage, and set aside the later files, because they continue the part
        that was removed.
        """
        shutil.copyfile(damage.file, _copy_path(damage.file))
        with damage.file.open("r+b") as file:
            file.truncate(damage.at_byte)
        lost_bytes = damage.total_bytes - damage.at_byte
        actions = [
            f"{damage.file} is truncated at byte {damage.at_byte:,}; {lost_bytes:,} bytes are lost"
        ]
        paths = [path for path, *_ in self._files()]
        later_files = paths[paths.index(damage.file) + 1 :]
        for path in later_files:
            path.rename(_copy_path(path))
            actions.append(f"{path.name} continued it and is no longer used")
        if later_files:
            actions.append(self._write_manifest())
        return actions


def _copy_path(path: Path) -> Path:
    return path.with_name(f"{path.name}{DAMAGED_SUFFIX}")


def _find_readable_end(file: BinaryIO) -> tuple[int, bool]:
    """
    Return the offset where a file's complete commands end, and True if the rest is only truncated.

    A transaction counts as one command, because half of it must not be applied.
    """
    offset, in_transaction = 0, False
    while True:
        line = file.readline(_MAX_LINE_BYTES)
        if not line:
            return offset, True
        if line.startswith(b"#"):  # a timestamp annotation
            while line and not line.endswith(b"\n"):
                line = file.readline(_MAX_LINE_BYTES)
        else:
            name, is_cut = _read_command(file, line)
            if name is None:
                return offset, is_cut
            in_transaction = name == b"MULTI" or (in_transaction and name != b"EXEC")
        if not in_transaction:
            offset = file.tell()


def _read_command(file: BinaryIO, line: bytes) -> tuple[bytes | None, bool]:
    """
    Return the name of the command that starts with `line`, or None if it is not a command or is
    truncated. Also returns True if it is truncated.
    """
    count = _parse_count(line, b"*", _MAX_ARGUMENTS)
    if not count:
        return None, _is_truncated(line)
    name = b""
    for position in range(count):
        line = file.readline(_MAX_LINE_BYTES)
        length = _parse_count(line, b"$", _MAX_ARGUMENT_BYTES)
        if length is None:
            return None, _is_truncated(line)
        argument = file.read(length + 2)
        if not argument.endswith(b"\r\n") or len(argument) < length + 2:
            return None, len(argument) < length + 2
        name = name if position else argument[:-2].upper()
    return name, False


def _is_truncated(line: bytes) -> bool:
    return len(line) < _MAX_LINE_BYTES and not line.endswith(b"\n")


def _parse_count(line: bytes, prefix: bytes, max_value: int) -> int | None:
    text = line[1:-2]
    if line[:1] != prefix or line[-2:] != b"\r\n" or not text.isdigit() or int(text) > max_value:
        return None
    return int(text)
