"""
The rows of simple edges: their keys and cells.

`_simple_edges.py` documents the rows of an edge, and the order in which they are written.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from operator import index
from typing import NamedTuple, Self

from zengraph._codec import (
    ID_BYTES,
    IN,
    OUT,
    edge_key,
    edge_prefix,
    ordered_edge_key,
    read_edge_key,
    read_order,
)
from zengraph._parallel_edges import Edge, count_column
from zengraph._properties import Row
from zengraph.errors import InvalidArgument

PAIR_KIND = b"x"
TAKES_KIND = b"t"
"""The kind of the rows that store takes (`_take_rows.py`)."""
SCORE = b"p:s"
PROPERTY = b"p:p"
_SCORE_BYTES = 8
_MAX_TYPES = 1 << 16
_SCORES = range(-(1 << 63), 1 << 63)
_ORDERED = b"\0"
MAX_ORDER_BYTES = 500
"""Maximum size of an edge's order, in bytes. PostgreSQL's keys have space for twice as many."""


class Place(NamedTuple):
    """An edge's position in the lists of both nodes."""

    score: int
    order: bytes | None = None
    """None if the edge's type is not in `Schema.ordered`."""

    @property
    def cell(self) -> bytes:
        """Encode the place as the pair row stores it: the score, then a zero byte and the order."""
        score = self.score.to_bytes(_SCORE_BYTES, signed=True)
        return score if self.order is None else score + _ORDERED + self.order

    @classmethod
    def decode(cls, cell: bytes) -> Self:
        has_order = len(cell) > _SCORE_BYTES
        return cls(
            int.from_bytes(cell[:_SCORE_BYTES], signed=True),
            cell[_SCORE_BYTES + len(_ORDERED) :] if has_order else None,
        )

    def key(self, node_id: bytes, direction: bytes, edge_type: int, other: bytes) -> bytes:
        """Return the key of the row that lists an edge at this place."""
        if self.order is None:
            return edge_key(node_id, direction, edge_type, self.score, other)
        return ordered_edge_key(node_id, direction, edge_type, self.score, self.order, other)


class EdgeKey(NamedTuple):
    """An edge, identified by its two nodes and its type."""

    source: bytes
    edge_type: int
    target: bytes

    @property
    def key(self) -> bytes:
        """The key of its pair row, 35 bytes."""
        return edge_prefix(self.source, PAIR_KIND, self.edge_type) + self.target

    def list_keys(self, place: Place) -> tuple[bytes, bytes]:
        return (
            place.key(self.target, IN, self.edge_type, self.source),
            place.key(self.source, OUT, self.edge_type, self.target),
        )

    @property
    def counts(self) -> tuple[tuple[bytes, bytes], tuple[bytes, bytes]]:
        """Return (node, column) of the two counts that include the edge."""
        return (
            (self.source, count_column(OUT, self.edge_type)),
            (self.target, count_column(IN, self.edge_type)),
        )


class NewEdge(NamedTuple):
    pair: EdgeKey
    score: int = 0
    properties: Mapping[str, bytes] = {}
    order: bytes = b""
    """Sorts edges with the same score, for types in `Schema.ordered`. Up to 500 bytes."""

    def place(self, ordered: Collection[int]) -> Place:
        """Return the edge's place. `ordered` are the types whose edges have an order."""
        return Place(self.score, self.order if self.pair.edge_type in ordered else None)


def check_id(node_id: bytes) -> None:
    """Raise InvalidArgument for an id of the wrong length. Keys are split at fixed offsets."""
    if len(node_id) != ID_BYTES:
        raise InvalidArgument(f"id of a node: must be {ID_BYTES} bytes, got {len(node_id)}")


def check_edge(edge: NewEdge, ordered: Collection[int], remedy: str) -> None:
    """Raise InvalidArgument for an edge that does not fit into a key."""
    source, edge_type, target = edge.pair
    check_id(source)
    check_id(target)
    if not 0 <= edge_type < _MAX_TYPES:
        raise InvalidArgument(f"type of an edge: must be 0 to {_MAX_TYPES - 1}, got {edge_type!r}")
    if not _is_score(edge.score):
        raise InvalidArgument(f"score: must be an integer of 64 bits, got {edge.score!r}")
    if len(edge.order) > MAX_ORDER_BYTES:
        raise InvalidArgument(
            f"order: must have up to {MAX_ORDER_BYTES} bytes, got {len(edge.order)}"
        )
    if edge.order and edge_type not in ordered:
        raise InvalidArgument(f"order: edges of type {edge_type} have none; add it to {remedy}")


def _is_score(score: int) -> bool:
    try:
        return index(score) in _SCORES
    except TypeError:  # a float, from a caller without type checks
        return False


def read_pair(list_key: bytes) -> EdgeKey:
    node_id, direction, edge_type, _, other = read_edge_key(list_key)
    source, target = (node_id, other) if direction == OUT else (other, node_id)
    return EdgeKey(source, edge_type, target)


def listed_place(list_key: bytes) -> Place:
    """Return the place of a list row's edge."""
    return Place(read_edge_key(list_key)[3], read_order(list_key))


def decode_count(value: bytes | None) -> int:
    return 0 if value is None else int.from_bytes(value, signed=True)


def encode_count(count: int) -> bytes:
    return count.to_bytes(_SCORE_BYTES, signed=True)


def pair_cells(edge: NewEdge, place: Place) -> dict[bytes, bytes]:
    properties = {PROPERTY + name.encode(): value for name, value in edge.properties.items()}
    return {SCORE: place.cell, **properties}


def read_place(row: Row) -> Place:
    return Place.decode(row[SCORE].value)


def read_edge(other: bytes, row: Row) -> Edge:
    """Return the edge in a pair row, seen from the node opposite `other`."""
    properties = {
        column.removeprefix(PROPERTY).decode(): cell.value
        for column, cell in row.items()
        if column.startswith(PROPERTY)
    }
    place = read_place(row)
    return Edge(other, place.score, properties, row[SCORE].at_ms, place.order or b"")
