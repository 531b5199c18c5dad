"""
The cell of a packed list: a node's outgoing edges of one type, and the latest takes from them.

Integers are big-endian. A part is its length in 4 bytes, followed by its bytes.

    1 byte    version
    8 bytes   random, so that no two cells are equal
    part      takes that have an id but no receipt yet, a part for each
    part      length of each edge, 4 bytes each
    bytes     the edges, in the order of the list

An edge consists of the length of its key in 2 bytes, its key (score, order and target, as in the
key of a row that lists an edge), its time in 8 bytes, and its properties: a part for each name and
value. A take consists of the request id's hash in 16 bytes, the time in 8 bytes, and a part for
each edge.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from struct import Struct
from typing import NamedTuple, Self

from zengraph._codec import ID_BYTES, OUT, edge_prefix, read_edge_key, read_order
from zengraph._parallel_edges import Edge
from zengraph._simple_edge_rows import Place
from zengraph._take_rows import pack_parts, unpack_parts
from zengraph.errors import CorruptRow

PACKED = b"p:k"
"""The column of a list or a receipt. Lists may be written only by check-and-put."""
_VERSION = b"\1"
_HEAD_BYTES = 9
_LENGTH = Struct(">I")
_KEY_LENGTH = Struct(">H")
_TIME_BYTES = 8
_NO_LIST = edge_prefix(bytes(ID_BYTES), OUT, 0)
"""Prefix that turns a packed edge's key into a row key, for functions that expect one."""


class PackedEdge(NamedTuple):
    key: bytes
    """Score, order and target: the position in the list, and the cursor."""
    at_ms: int
    properties: Mapping[str, bytes]

    @property
    def edge(self) -> Edge:
        _, _, _, score, other = read_edge_key(_NO_LIST + self.key)
        order = read_order(_NO_LIST + self.key) or b""
        return Edge(other, score, dict(self.properties), self.at_ms, order)

    @property
    def data(self) -> bytes:
        parts = (part for name, value in self.properties.items() for part in (name.encode(), value))
        at = self.at_ms.to_bytes(_TIME_BYTES)
        return _KEY_LENGTH.pack(len(self.key)) + self.key + at + pack_parts(parts)

    def with_order(self, target: bytes, *, in_order: bool) -> Self:
        """Return a copy whose key has an order if `in_order` is True, and none otherwise."""
        edge = self.edge
        place = Place(edge.score, edge.order if in_order else None)
        return self._replace(key=encode_key(place, target))

    @classmethod
    def read(cls, data: bytes) -> Self:
        key, at = read_key(data), _KEY_LENGTH.size + _KEY_LENGTH.unpack_from(data)[0]
        parts = unpack_parts(data[at + _TIME_BYTES :])
        properties = {
            name.decode(): value for name, value in zip(parts[::2], parts[1::2], strict=True)
        }
        return cls(key, int.from_bytes(data[at : at + _TIME_BYTES]), properties)


def encode_key(place: Place, target: bytes) -> bytes:
    return place.key(bytes(ID_BYTES), OUT, 0, target)[len(_NO_LIST) :]


def read_key(data: bytes) -> bytes:
    return data[_KEY_LENGTH.size : _KEY_LENGTH.size + _KEY_LENGTH.unpack_from(data)[0]]


def read_target(data: bytes) -> bytes:
    end = _KEY_LENGTH.size + int(_KEY_LENGTH.unpack_from(data)[0])
    return data[end - ID_BYTES : end]


class Take(NamedTuple):
    """A take with an id."""

    request: bytes
    """The request id's hash, 16 bytes."""
    at_ms: int
    data: Sequence[bytes]

    @property
    def edges(self) -> list[Edge]:
        """The taken edges, in the order in which they were taken."""
        return [PackedEdge.read(each).edge for each in self.data]

    @property
    def packed(self) -> bytes:
        return self.request + self.at_ms.to_bytes(_TIME_BYTES) + pack_parts(self.data)

    @property
    def receipt(self) -> bytes:
        return _VERSION + self.packed

    @classmethod
    def read(cls, packed: bytes) -> Self:
        at_ms, data = packed[ID_BYTES : ID_BYTES + _TIME_BYTES], packed[ID_BYTES + _TIME_BYTES :]
        return cls(packed[:ID_BYTES], int.from_bytes(at_ms), unpack_parts(data))

    @classmethod
    def read_receipt(cls, key: bytes, cell: bytes) -> Self:
        """Decode a receipt; raises CorruptRow if a later version wrote it."""
        return cls.read(_check_version(key, cell)[len(_VERSION) :])


class PackedList(NamedTuple):
    """The sorted edges of a list, and its latest takes."""

    data: Sequence[bytes] = ()
    """The edges as they are stored, so that unchanged edges need not be decoded."""
    takes: Sequence[Take] = ()
    """The latest takes with an id, oldest first."""

    @classmethod
    def read(cls, key: bytes, cell: bytes | None) -> Self:
        """
        Decode a cell. None gives an empty list.

        Raises:
            CorruptRow: a later version of the program wrote it.
        """
        if cell is None:
            return cls([], [])
        at = _HEAD_BYTES
        takes, at = _part(_check_version(key, cell), at)
        lengths, at = _part(cell, at)
        ends = accumulate((length for (length,) in _LENGTH.iter_unpack(lengths)), initial=at)
        data = [cell[start:end] for start, end in pairwise(ends)]
        return cls(data, [Take.read(each) for each in unpack_parts(takes)])

    @property
    def cell(self) -> bytes:
        """Encode the list as a new cell that differs from all others."""
        takes = pack_parts(each.packed for each in self.takes)
        lengths = b"".join(_LENGTH.pack(len(each)) for each in self.data)
        return b"".join([_VERSION, os.urandom(8), pack_parts([takes, lengths]), *self.data])

    @property
    def size_bytes(self) -> int:
        return sum(map(len, self.data))

    def find(self, target: bytes) -> PackedEdge | None:
        return next(
            (PackedEdge.read(each) for each in self.data if read_target(each) == target), None
        )

    def with_edges(self, edges: Iterable[PackedEdge]) -> Self:
        """Return a copy with these edges, which replace edges to the same nodes."""
        new = {edge.key[-ID_BYTES:]: edge.data for edge in edges}
        unchanged = [each for each in self.data if read_target(each) not in new]
        return self._replace(data=sorted([*unchanged, *new.values()], key=read_key))

    def without(self, targets: frozenset[bytes]) -> Self:
        return self._replace(data=[each for each in self.data if read_target(each) not in targets])

    def split(self, count: int, *, lowest: bool) -> tuple[list[bytes], Self]:
        """Return the `count` best edges, best first, and the list without them."""
        if lowest:
            return list(self.data[:count]), self._replace(data=self.data[count:])
        at = max(len(self.data) - count, 0)
        return list(self.data[at:])[::-1], self._replace(data=self.data[:at])

    def find_take(self, request: bytes) -> Take | None:
        """Return the latest take of a request in this list, or None."""
        return next((each for each in reversed(self.takes) if each.request == request), None)


def _part(cell: bytes, at: int) -> tuple[bytes, int]:
    """Return the part at an offset of a cell, and the offset after the part."""
    start = at + _LENGTH.size
    end = start + _LENGTH.unpack_from(cell, at)[0]
    return cell[start:end], end


def _check_version(key: bytes, cell: bytes) -> bytes:
    if not cell.startswith(_VERSION):
        raise CorruptRow("e", key.hex(), f"version {cell[:1].hex()} of packed edges is not known")
    return cell
