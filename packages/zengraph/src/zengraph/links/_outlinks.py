r"""
Outlinks: the format of a source's cell, and the difference between two cells.

A source's outlinks are packed into one cell. A change is a write that replaces this cell. Nodes are
identified by names (`Naming`). A cell is

    1 byte    format, 1
    2 bytes   number of named changes
    8 bytes   at_ms: when the source had these links
    12 bytes  a name for each of the last changes, oldest first
    rest      zstd of lines `target \t tag \t text`, in the order of the source

A journal entry took effect if its source's cell contains its name. The compaction drops other
entries: a newer change overtook them, or their writer crashed. A name begins with the time of its
journal row, and is removed when all rows of that time have been compacted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from zengraph.errors import CorruptRow
from zengraph.links import _zstd as zstd
from zengraph.links._values import Link

MAX_TEXT_CHARS = 200
MANY_CHANGES = 16
"""A writer tries to remove names from a cell that has this many."""
MAX_CHANGES = 4096
"""How many of a source's changes can wait for a compaction."""
CHANGE_BYTES = 12
_TIME_BYTES = 6

_FORM = 1
_HEAD_BYTES = 11


_LEVEL = 1
"""
This level compresses 15 KB in 35 µs. Higher levels gain little, because a source's links are
similar.
"""


def compress_links(lines: bytes) -> bytes:
    return zstd.compress(lines, _LEVEL)


def decompress_links(data: bytes) -> bytes:
    try:
        return zstd.decompress(data)
    except zstd.ZstdError as error:
        raise CorruptRow("links", "", str(error)) from error


@dataclass(frozen=True, slots=True)
class PackedLinks:
    """
    A source's links, compressed as in its outlinks cell and the link journal.

    The writer stores the compressed bytes unchanged. Iterating decompresses them.
    """

    compressed: bytes
    """The compressed lines; empty if there are no links."""

    @classmethod
    def of(cls, links: Iterable[tuple[str, str, str]]) -> PackedLinks:
        """Pack (target, text, tag) tuples. The first link to each target is kept."""
        return links if isinstance(links, cls) else cls.of_lines(to_lines(list(links)))

    @classmethod
    def of_lines(cls, lines: bytes) -> PackedLinks:
        return cls(compress_links(lines)) if lines else cls(b"")

    @property
    def lines(self) -> bytes:
        """The joined lines; empty if there are no links."""
        return decompress_links(self.compressed) if self.compressed else b""

    def __iter__(self) -> Iterator[Link]:
        return from_lines(self.lines)


@dataclass(frozen=True, slots=True)
class Outlinks:
    """A source's outlinks cell."""

    at_ms: int = 0
    """When the source had these links."""
    changes: tuple[bytes, ...] = ()
    """Names of the latest changes, oldest first."""
    compressed: bytes = b""
    """The compressed lines; empty if there are no links."""

    @property
    def lines(self) -> bytes:
        """The joined lines; empty if there are no links."""
        return decompress_links(self.compressed) if self.compressed else b""

    def after(self, change: bytes, at_ms: int, compressed: bytes) -> Outlinks:
        return Outlinks(at_ms, (*self.changes, change), compressed)

    def since(self, oldest_ms: int) -> Outlinks:
        """Return a copy without names that are older than the oldest existing journal row."""
        start = change_name(oldest_ms, b"")
        return replace(self, changes=tuple(c for c in self.changes if c >= start))


def change_name(now_ms: int, nonce: bytes) -> bytes:
    """Return a name for a change whose journal row is written at `now_ms`."""
    return now_ms.to_bytes(_TIME_BYTES) + nonce


def change_ms(name: bytes) -> int:
    """Return when a change's journal row was written (ms)."""
    return int.from_bytes(name[:_TIME_BYTES])


def pack(links: Outlinks) -> bytes:
    head = bytes([_FORM]) + len(links.changes).to_bytes(2) + links.at_ms.to_bytes(8)
    return b"".join([head, *links.changes, links.compressed])


def unpack(data: bytes) -> Outlinks:
    """
    Decode the output of `pack`.

    Raises:
        CorruptRow: the data does not have this format.
    """
    if len(data) < _HEAD_BYTES or data[0] != _FORM:
        raise CorruptRow("o", "", f"form {data[:1].hex() or 'missing'}")
    count = int.from_bytes(data[1:3])
    body = _HEAD_BYTES + CHANGE_BYTES * count
    changes = tuple(data[i : i + CHANGE_BYTES] for i in range(_HEAD_BYTES, body, CHANGE_BYTES))
    return Outlinks(int.from_bytes(data[3:11]), changes, data[body:])


def to_lines(links: Sequence[tuple[str, str, str]]) -> bytes:
    """Join (target, text, tag) tuples as lines. The first link to each target is kept."""
    seen: dict[str, str] = {}
    for target, text, tag in links:
        if target not in seen:
            seen[target] = f"{target}\t{tag}\t{text[:MAX_TEXT_CHARS]}"
    joined = "\n".join(seen.values())
    if joined.count("\t") != 2 * len(seen) or joined.count("\n") != max(0, len(seen) - 1):
        # Some field contains a separator. Only then clean all fields, which takes ten times as
        # long.
        clean = (
            (target, _clean_field(text), _clean_field(tag))
            for target, text, tag in links
            if "\t" not in target and "\n" not in target
        )
        return to_lines(list(clean))
    return joined.encode("utf-8", "replace")


def _clean_field(text: str) -> str:
    return " ".join(text.split())


def from_lines(lines: bytes) -> Iterator[Link]:
    if lines:
        for line in lines.decode().split("\n"):
            target, tag, text = line.split("\t")
            yield Link(target, text, tag)


@dataclass(frozen=True, slots=True)
class Difference:
    """Added lines, lines with a changed text or tag, and removed targets."""

    added: Sequence[bytes]
    changed: Sequence[bytes]
    removed: Sequence[bytes]

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


def difference(old: bytes, new: bytes) -> Difference:
    """Return the difference between `old` and `new` lines, regardless of their order."""
    if old == new:
        return Difference((), (), ())
    before = set(old.split(b"\n")) if old else set()
    after = new.split(b"\n") if new else []
    new_lines = [line for line in after if line not in before]
    if not before:
        return Difference(new_lines, (), ())
    dropped_targets = {target_of(line) for line in before.difference(after)}
    added = [line for line in new_lines if target_of(line) not in dropped_targets]
    changed = [line for line in new_lines if target_of(line) in dropped_targets]
    return Difference(added, changed, sorted(dropped_targets.difference(map(target_of, changed))))


def target_of(line: bytes) -> bytes:
    return line.partition(b"\t")[0]
