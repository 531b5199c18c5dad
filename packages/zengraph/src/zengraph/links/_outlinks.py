r"""
Outlinks: the format of a source's cell, and the difference of two cells. Pure.

Where nodes have many edges of one kind that are written together, such as the links of a page or
the references of a paper, a row for each would cost eight times more. So they are packed: the
outlinks of a node lie in one cell, its inlinks in posting lists, which are compacted from a journal
of changes. Names stand for the nodes (`naming`). A cell is

    1 byte    form, 1
    2 bytes   number of named changes
    8 bytes   at_ms: when the source had these links
    12 bytes  a name for each of the last changes, oldest first
    rest      zstd of lines `target \t tag \t text`, in the order of the source

By the names the compaction knows which journal entries took effect: those whose name is in their
source's cell; an entry that was overtaken, or whose writer crashed, did not. A name begins with the
time of its journal row, and is removed when all rows of that time have been compacted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from zengraph.errors import CorruptRow
from zengraph.links import _zstd as zstd
from zengraph.links._values import Link

MAX_TEXT_CHARS = 200
MANY_CHANGES = 16
"""The number of changes from which on names are checked for removal."""
MAX_CHANGES = 4096
"""Maximum number of changes of one source that can wait for a compaction."""
CHANGE_BYTES = 12
_TIME_BYTES = 6

_FORM = 1
_HEAD_BYTES = 11


_LEVEL = 1
"""15 KB in 35 µs; links of one source are similar, so higher levels gain little."""


def compress_links(lines: bytes) -> bytes:
    """Compress lines."""
    return zstd.compress(lines, _LEVEL)


def decompress_links(data: bytes) -> bytes:
    """Decompress the result of `compress_links`."""
    try:
        return zstd.decompress(data)
    except zstd.ZstdError as error:
        raise CorruptRow("links", "", str(error)) from error


@dataclass(frozen=True, slots=True)
class PackedLinks:
    """
    The links of a source, compressed as its outlinks cell and the link journal hold them.

    If they are packed already, the writer does not pack them again. Iterating unpacks them.
    """

    compressed: bytes
    """The lines, compressed; empty for none."""

    @classmethod
    def of(cls, links: Iterable[tuple[str, str, str]]) -> PackedLinks:
        """Pack (target, text, tag) each; the first of several links to one target is kept."""
        return links if isinstance(links, cls) else cls.of_lines(to_lines(list(links)))

    @classmethod
    def of_lines(cls, lines: bytes) -> PackedLinks:
        """Pack joined lines; empty for none."""
        return cls(compress_links(lines)) if lines else cls(b"")

    @property
    def lines(self) -> bytes:
        """The lines, joined; empty for none."""
        return decompress_links(self.compressed) if self.compressed else b""

    def __iter__(self) -> Iterator[Link]:
        return from_lines(self.lines)


@dataclass(frozen=True, slots=True)
class Outlinks:
    """A source's outlinks cell."""

    at_ms: int = 0
    """When the source had these links."""
    changes: tuple[bytes, ...] = ()
    """Names of the last changes."""
    compressed: bytes = b""
    """The lines, compressed; empty for none."""

    @property
    def lines(self) -> bytes:
        """The lines, joined; empty for none."""
        return decompress_links(self.compressed) if self.compressed else b""

    def after(self, change: bytes, at_ms: int, compressed: bytes) -> Outlinks:
        """The cell that replaces this one."""
        return Outlinks(at_ms, (*self.changes, change), compressed)

    def since(self, oldest_ms: int) -> Outlinks:
        """The same without the names of changes before the oldest existing journal row."""
        start = change_name(oldest_ms, b"")
        return replace(self, changes=tuple(c for c in self.changes if c >= start))


def change_name(now_ms: int, nonce: bytes) -> bytes:
    """A name for a change whose journal row is written at `now_ms`."""
    return now_ms.to_bytes(_TIME_BYTES) + nonce


def change_ms(name: bytes) -> int:
    """When the journal row of a change was written, from the change's name."""
    return int.from_bytes(name[:_TIME_BYTES])


def pack(links: Outlinks) -> bytes:
    """The cell."""
    head = bytes([_FORM]) + len(links.changes).to_bytes(2) + links.at_ms.to_bytes(8)
    return b"".join([head, *links.changes, links.compressed])


def unpack(data: bytes) -> Outlinks:
    """
    Read the output of `pack`.

    Raises:
        CorruptRow: not in this form.
    """
    if len(data) < _HEAD_BYTES or data[0] != _FORM:
        raise CorruptRow("o", "", f"form {data[:1].hex() or 'missing'}")
    count = int.from_bytes(data[1:3])
    body = _HEAD_BYTES + CHANGE_BYTES * count
    changes = tuple(data[i : i + CHANGE_BYTES] for i in range(_HEAD_BYTES, body, CHANGE_BYTES))
    return Outlinks(int.from_bytes(data[3:11]), changes, data[body:])


def to_lines(links: Sequence[tuple[str, str, str]]) -> bytes:
    """(target, text, tag) each, joined; the first of several links to one target is kept."""
    seen: dict[str, str] = {}
    for target, text, tag in links:
        if target not in seen:
            seen[target] = f"{target}\t{tag}\t{text[:MAX_TEXT_CHARS]}"
    joined = "\n".join(seen.values())
    if joined.count("\t") != 2 * len(seen) or joined.count("\n") != max(0, len(seen) - 1):
        # Some text contains a separator: clean each one, which takes ten times longer.
        clean = (
            (target, _clean(text), _clean(tag))
            for target, text, tag in links
            if "\t" not in target and "\n" not in target
        )
        return to_lines(list(clean))
    return joined.encode("utf-8", "replace")


def _clean(text: str) -> str:
    return " ".join(text.split())


def from_lines(lines: bytes) -> Iterator[Link]:
    """The links of joined lines."""
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
    """The changes from the lines `old` to the lines `new`; their order does not matter."""
    if old == new:
        return Difference((), (), ())
    before = set(old.split(b"\n")) if old else set()
    after = new.split(b"\n") if new else []
    came = [line for line in after if line not in before]
    if not before:
        return Difference(came, (), ())
    went = {target_of(line) for line in before.difference(after)}
    added = [line for line in came if target_of(line) not in went]
    changed = [line for line in came if target_of(line) in went]
    return Difference(added, changed, sorted(went.difference(map(target_of, changed))))


def target_of(line: bytes) -> bytes:
    """The target of a line."""
    return line.partition(b"\t")[0]
