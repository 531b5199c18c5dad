"""Open files of an import or export, which may be compressed."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from aragog.errors import ConfigError


def open_to_read(path: Path) -> BinaryIO:
    """
    Open a file to read; `.gz` and `.zst` files are decompressed.

    Raises:
        ConfigError: it cannot be opened.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    if path.suffix == ".gz":
        return cast("BinaryIO", gzip.GzipFile(fileobj=file))
    if path.suffix == ".zst":
        reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        return cast("BinaryIO", io.BufferedReader(cast("io.RawIOBase", reader)))
    return file


def open_to_write(path: Path, *, append: bool = False) -> BinaryIO:
    """
    Open a file to write, compressed if it ends in `.gz` or `.zst`; `append` adds to its end.

    Raises:
        ConfigError: it cannot be opened.
    """
    try:
        file = path.open("ab" if append else "wb")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from error
    if path.suffix == ".gz":
        return cast("BinaryIO", _Packed(gzip.GzipFile(fileobj=file, mode="wb"), file))
    if path.suffix == ".zst":
        return cast("BinaryIO", zstandard.ZstdCompressor().stream_writer(file))
    return file


class _Packed:
    """A GzipFile leaves its underlying file open; this closes both."""

    def __init__(self, packed: gzip.GzipFile, file: BinaryIO) -> None:
        self._packed = packed
        self._file = file

    def write(self, data: bytes) -> int:
        return self._packed.write(data)

    def close(self) -> None:
        self._packed.close()
        self._file.close()
