"""
Export a UrlStore in parts that many processes can write and programs such as Spark can read.

Node keys are hashes, so equal key ranges contain about equally many URLs, and a key's position in
its range shows the progress. If a store groups pages by host, a host's keys form sixteen groups,
far apart in the key space. Parts divide the keys by group first and by host second, so one host's
pages are spread over up to sixteen parts.

A part gets its final name when it is complete. To resume an interrupted export, repeat it; only
missing parts are written.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from aragog.errors import BadInput, ConfigError
from aragog.transfer.import_export import (
    FindTexts,
    NodeSelection,
    NodeSource,
    Sink,
    SpanMs,
    export_urls,
)
from aragog.transfer.json_lines import JsonLinesSink, open_to_write
from aragog.transfer.parquet import ParquetSink
from aragog.transfer.typed_fields import TypedFields
from aragog.transfer.warc_export import COLUMNS, export_warc
from aragog.urlstore.store import UrlStore
from zengraph import MultiGraph

MAX_PARTS = 100_000
FORMATS = ("jsonl", "jsonl.gz", "jsonl.zst", "parquet", "warc")
_PREFIX_BYTES = 8
_KEYS = 1 << (8 * _PREFIX_BYTES)
_KEYS_PER_BYTE = _KEYS >> 8
_PART = re.compile(r"(\.?)part-\d{5,6}-of-(\d{5,6})(?:-(.+?)-(\d+))?(?:\.([a-z.]+))?", re.ASCII)

OnFraction = Callable[[float], None]
"""Called with the completed fraction of the part, 0.0 to 1.0."""


@dataclass(frozen=True, slots=True)
class Part:
    """
    A range of keys: part `number` (from 0) of `count`.

    If the store groups pages by host, keys are ordered with the nibbles of their first byte
    swapped: by group, then by host.
    """

    number: int
    count: int

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MAX_PARTS:
            raise BadInput(f"parts: {self.count} is not between 1 and {MAX_PARTS:,}")
        if not 0 <= self.number < self.count:
            raise BadInput(f"part: {self.number} is not between 0 and {self.count - 1}")

    @property
    def name(self) -> str:
        """The part's file name without a suffix; every run uses the same names."""
        return f"part-{self.number:05d}-of-{self.count:05d}"

    def ranges(self, *, by_host: bool) -> Iterator[tuple[bytes, bytes | None]]:
        """
        Yield each range's start (inclusive) and end (exclusive; None for no end), in order.

        Args:
            by_host: True if the store groups pages by host.
        """
        first, after = self._edge(self.number), self._edge(self.number + 1)
        if not by_host:
            yield _key(first), None if after == _KEYS else _key(after)
            return
        for swapped_byte in range(first // _KEYS_PER_BYTE, -(-after // _KEYS_PER_BYTE)):
            start = _with_swapped_nibbles(_key(max(first, swapped_byte * _KEYS_PER_BYTE)))
            ends_inside = after < (swapped_byte + 1) * _KEYS_PER_BYTE
            yield (
                start,
                _with_swapped_nibbles(_key(after)) if ends_inside else _after_prefix(start[:1]),
            )

    def fraction_before(self, key: bytes, *, by_host: bool) -> float:
        """Return the fraction of the part before `key`."""
        first, after = self._edge(self.number), self._edge(self.number + 1)
        position = key if not by_host else _with_swapped_nibbles(key)
        return (int.from_bytes(position[:_PREFIX_BYTES]) - first) / (after - first)

    def _edge(self, number: int) -> int:
        return _KEYS * number // self.count


def _key(number: int) -> bytes:
    return number.to_bytes(_PREFIX_BYTES)


def _with_swapped_nibbles(key: bytes) -> bytes:
    return bytes([key[0] >> 4 | (key[0] & 0x0F) << 4]) + key[1:]


def _after_prefix(prefix: bytes) -> bytes | None:
    return None if prefix == b"\xff" else bytes([prefix[0] + 1])


@dataclass(frozen=True, slots=True, kw_only=True)
class PartOptions:
    """The format and contents of an export."""

    format: str = "jsonl.zst"
    """One of FORMATS. For `warc`, each part is a folder of files with page content."""
    fields: Sequence[str] | None = None
    links: bool = False
    types: TypedFields = field(default_factory=TypedFields)
    """The types of fields."""
    find_texts: FindTexts | None = None
    fetched: SpanMs | None = None
    """Only pages last successfully fetched in this span; not for `warc`."""
    purpose: str | None = None
    """Only pages whose sites allow this purpose."""


PURPOSE_FILE = "_for"
"""
The file that records the parts' purpose. Programs such as Spark skip names that begin with `_`.
"""


def prepare_folder(folder: Path, count: int, kind: str, purpose: str | None = None) -> None:
    """
    Prepare the folder for an export in `count` parts. Each writing process calls this once.

    It removes unfinished parts of killed processes on this machine.

    Raises:
        BadInput: the folder has parts with another count or format (programs would read URLs
            twice), or another purpose.
        ConfigError: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _check_purpose(folder, purpose)
        for path in folder.iterdir():
            if (match := _PART.fullmatch(path.name)) is None:
                continue
            hidden, part_count, host, pid, suffix = match.groups()
            part_format = suffix or "warc"
            if hidden and host == socket.gethostname() and not _is_running(int(pid)):
                _remove(path)
            elif (
                not hidden
                and part_format in FORMATS
                and (int(part_count), part_format) != (count, kind)
            ):
                raise BadInput(
                    f"{folder} contains parts of another export, such as {path.name}; use another "
                    f"folder, or repeat that one with --parts {int(part_count)} "
                    f"--format {part_format}"
                )
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be written: {error.strerror}") from error


def _check_purpose(folder: Path, purpose: str | None) -> None:
    file = folder / PURPOSE_FILE
    has_parts = any(
        match and not match.group(1)
        for match in (_PART.fullmatch(p.name) for p in folder.iterdir())
    )
    recorded = file.read_text() if file.exists() else ""
    if (recorded or has_parts) and recorded != (purpose or ""):
        their_purpose, our_purpose = (
            f"for {name}" if name else "for any purpose" for name in (recorded, purpose)
        )
        raise BadInput(
            f"{folder} contains parts {their_purpose}, but this export is {our_purpose}; "
            "use another folder"
        )
    if purpose and not recorded:
        temporary = folder / f".{PURPOSE_FILE}-{socket.gethostname()}-{os.getpid()}"
        temporary.write_text(purpose)
        temporary.replace(file)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # the process belongs to another user
        return True
    return True


def export_part(
    store: UrlStore,
    folder: Path,
    part: Part,
    options: PartOptions,
    *,
    on_fraction: OnFraction = lambda _: None,
    on_problem: Callable[[str, str], None] = lambda *_: None,
) -> int | None:
    """
    Write one part into `folder`; returns how many records it has, or None if it already exists.

    This is idempotent, and safe to run in parallel. If two processes write the same part, the file
    that is finished last is kept.

    Raises:
        BadInput: an unknown format.
        ConfigError: the folder cannot be written, or pyarrow is missing.
        StoreUnavailable, ContentUnavailable: the part was not written; repeat the call.
    """
    if options.format not in FORMATS:
        raise BadInput(f"format: {options.format!r} is not one of {', '.join(FORMATS)}")
    suffix = "" if options.format == "warc" else f".{options.format}"
    final = folder / f"{part.name}{suffix}"
    if final.exists():
        return None
    # Keep the suffix last: it determines the compression.
    temporary = folder / f".{part.name}-{socket.gethostname()}-{os.getpid()}{suffix}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        count = _write(store, temporary, part, options, on_fraction, on_problem)
        temporary.replace(final)
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be written: {error.strerror}") from error
    finally:
        _remove(temporary)
    return count


def _write(
    store: UrlStore,
    path: Path,
    part: Part,
    options: PartOptions,
    on_fraction: OnFraction,
    on_problem: Callable[[str, str], None],
) -> int:
    if options.format == "warc":
        path.mkdir()
        nodes = _nodes(store.zen, part, on_fraction, COLUMNS)
        report = export_warc(
            store.zen,
            store.bodies,
            path / part.name,
            NodeSelection(nodes=nodes),
            purpose=options.purpose,
            on_problem=on_problem,
        )
        return report.records
    sink: Sink = (
        ParquetSink(path, options.types, options.fields)
        if options.format == "parquet"
        else JsonLinesSink(open_to_write(path), options.types)
    )
    with closing(sink):
        return export_urls(
            store.zen,
            sink,
            NodeSelection(nodes=_nodes(store.zen, part, on_fraction)),
            fields=options.fields,
            link_store=store if options.links else None,
            find_texts=options.find_texts,
            purpose=options.purpose,
            fetched=options.fetched,
        ).records


def _nodes(
    zen: MultiGraph, part: Part, on_fraction: OnFraction, columns: Sequence[bytes] | None = None
) -> NodeSource:
    by_host = zen.naming.together
    for start, stop in part.ranges(by_host=by_host):
        with closing(zen.nodes.scan(start, stop, names=columns)) as nodes:
            for key, row in nodes:
                on_fraction(part.fraction_before(key, by_host=by_host))
                yield key, row
    on_fraction(1.0)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
