"""
Export a UrlStore in parts, which many processes write and a data system such as Spark reads.

Node keys are hashes, so equal ranges of keys hold about equally many URLs, and the position of a
key in its range is the progress. Where the pages of a host lie together, in sixteen places, a part
takes ranges of these places: so one host's pages are in sixteen parts too. A part has its
final name only when it is complete: an export that was interrupted anywhere is repeated, and writes
only the missing parts.
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
    NodeSelection,
    NodeSource,
    Sink,
    SpanMs,
    TextsOf,
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
_PLACE = _KEYS >> 8
"""The keys that begin with one byte."""
_PART = re.compile(r"(\.?)part-\d{5,6}-of-(\d{5,6})(?:-(.+?)-(\d+))?(?:\.([a-z.]+))?", re.ASCII)

OnShare = Callable[[float], None]
"""Called with the share of a part's key range that is done, 0.0 to 1.0."""


@dataclass(frozen=True, slots=True)
class Part:
    """
    Part `number` (from 0) of `count`.

    A range of keys. Where the pages of a host lie together, keys count as if the halves of their
    first byte were exchanged: first the place in the host, then the host.
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
        """The same for every run, so that a repeated export replaces nothing."""
        return f"part-{self.number:05d}-of-{self.count:05d}"

    def ranges(self, *, together: bool) -> Iterator[tuple[bytes, bytes | None]]:
        """The first key of each range, and the first one behind it (None: the end), in order."""
        first, after = self._edge(self.number), self._edge(self.number + 1)
        if not together:
            yield _key(first), None if after == _KEYS else _key(after)
            return
        for place in range(first // _PLACE, -(-after // _PLACE)):
            start = _turned(_key(max(first, place * _PLACE)))
            inside = after < (place + 1) * _PLACE
            yield start, _turned(_key(after)) if inside else _behind(start[:1])

    def share(self, key: bytes, *, together: bool) -> float:
        """The share of the part that lies before `key`."""
        first, after = self._edge(self.number), self._edge(self.number + 1)
        position = key if not together else _turned(key)
        return (int.from_bytes(position[:_PREFIX_BYTES]) - first) / (after - first)

    def _edge(self, number: int) -> int:
        return _KEYS * number // self.count


def _key(number: int) -> bytes:
    return number.to_bytes(_PREFIX_BYTES)


def _turned(key: bytes) -> bytes:
    """The key with the halves of its first byte exchanged."""
    return bytes([key[0] >> 4 | (key[0] & 0x0F) << 4]) + key[1:]


def _behind(prefix: bytes) -> bytes | None:
    """The first key behind those that begin with a byte; None after the last byte."""
    return None if prefix == b"\xff" else bytes([prefix[0] + 1])


@dataclass(frozen=True, slots=True, kw_only=True)
class PartOptions:
    """The format and the contents of an export."""

    format: str = "jsonl.zst"
    """One of FORMATS. `warc` writes page content, as a folder of files for each part."""
    fields: Sequence[str] | None = None
    links: bool = False
    types: TypedFields = field(default_factory=TypedFields)
    """The types of fields."""
    texts_of: TextsOf | None = None
    """Finds the main texts that `fields` names."""
    fetched: SpanMs | None = None
    """Only pages whose last successful fetch was in this span; not for `warc`."""
    purpose: str | None = None
    """Only pages whose sites do not refuse this use."""


PURPOSE_FILE = "_for"
"""Names the use for which the parts beside it were written; readers of parts skip such names."""


def prepare_folder(folder: Path, count: int, kind: str, purpose: str | None = None) -> None:
    """
    Make the folder of an export in `count` parts ready, once in each process that writes parts.

    Removes what killed processes of this machine left of unfinished parts.

    Raises:
        BadInput: the folder has parts of another number or format, so that its readers would get
            URLs twice; or for another purpose, so that they would get what it does not allow.
        ConfigError: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _check_purpose(folder, purpose)
        for path in folder.iterdir():
            if (match := _PART.fullmatch(path.name)) is None:
                continue
            hidden, its_count, host, pid, suffix = match.groups()
            its_kind = suffix or "warc"
            if hidden and host == socket.gethostname() and not _lives(int(pid)):
                _remove(path)
            elif not hidden and its_kind in FORMATS and (int(its_count), its_kind) != (count, kind):
                raise BadInput(
                    f"{folder}: has parts of another export, such as {path.name}; use another "
                    f"folder, or repeat that one with --parts {int(its_count)} --format {its_kind}"
                )
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be written: {error.strerror}") from error


def _check_purpose(folder: Path, purpose: str | None) -> None:
    """Note the purpose of an export in its folder; raises BadInput if the folder has another."""
    file = folder / PURPOSE_FILE
    has_parts = any(
        match and not match.group(1)
        for match in (_PART.fullmatch(p.name) for p in folder.iterdir())
    )
    known = file.read_text() if file.exists() else ""
    if (known or has_parts) and known != (purpose or ""):
        one, other = (f"for {name}" if name else "for any use" for name in (known, purpose))
        raise BadInput(f"{folder}: has parts {one}, not {other}; use another folder")
    if purpose and not known:
        started = folder / f".{PURPOSE_FILE}-{socket.gethostname()}-{os.getpid()}"
        started.write_text(purpose)
        started.replace(file)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # a process of another user
        return True
    return True


def export_part(
    store: UrlStore,
    folder: Path,
    part: Part,
    options: PartOptions,
    *,
    on_share: OnShare = lambda _: None,
    on_problem: Callable[[str, str], None] = lambda *_: None,
) -> int | None:
    """
    Write one part into `folder` and return its number of records; None if it is there already.

    Safe to repeat and to run in parallel with other parts. Two processes that write the same part
    at once write two temporary files, of which the last to finish stays.

    Raises:
        BadInput: an unknown format.
        ConfigError: the folder cannot be written, or pyarrow is missing.
        StoreUnavailable, ContentUnavailable: nothing has the final name; repeat the call.
    """
    if options.format not in FORMATS:
        raise BadInput(f"format: {options.format!r} is not one of {', '.join(FORMATS)}")
    suffix = "" if options.format == "warc" else f".{options.format}"
    final = folder / f"{part.name}{suffix}"
    if final.exists():
        return None
    # The suffix stays last, since it decides how a file is compressed.
    started = folder / f".{part.name}-{socket.gethostname()}-{os.getpid()}{suffix}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        count = _write(store, started, part, options, on_share, on_problem)
        started.replace(final)
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be written: {error.strerror}") from error
    finally:
        _remove(started)
    return count


def _write(
    store: UrlStore,
    path: Path,
    part: Part,
    options: PartOptions,
    on_share: OnShare,
    on_problem: Callable[[str, str], None],
) -> int:
    if options.format == "warc":
        path.mkdir()
        nodes = _nodes(store.zen, part, on_share, COLUMNS)
        done = export_warc(
            store.zen,
            store.bodies,
            path / part.name,
            NodeSelection(nodes=nodes),
            purpose=options.purpose,
            on_problem=on_problem,
        )
        return done.records
    sink: Sink = (
        ParquetSink(path, options.types, options.fields)
        if options.format == "parquet"
        else JsonLinesSink(open_to_write(path), options.types)
    )
    with closing(sink):
        return export_urls(
            store.zen,
            sink,
            NodeSelection(nodes=_nodes(store.zen, part, on_share)),
            fields=options.fields,
            links_of=store if options.links else None,
            texts_of=options.texts_of,
            purpose=options.purpose,
            fetched=options.fetched,
        ).records


def _nodes(
    zen: MultiGraph, part: Part, on_share: OnShare, columns: Sequence[bytes] | None = None
) -> NodeSource:
    together = zen.naming.together
    for start, stop in part.ranges(together=together):
        with closing(zen.nodes.scan(start, stop, names=columns)) as nodes:
            for key, row in nodes:
                on_share(part.share(key, together=together))
                yield key, row
    on_share(1.0)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
