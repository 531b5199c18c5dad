"""
The rows of simple edges: their keys, and what their cells hold. Pure.

`_simple_edges.py` says which rows an edge has, and in which order they are written.
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
"""Of the rows that say what is being taken (`_take_rows.py`)."""
SCORE = b"p:s"
PROPERTY = b"p:p"
_SCORE_BYTES = 8
_TYPES = 1 << 16
_SCORES = range(-(1 << 63), 1 << 63)
_ORDERED = b"\0"
MOST_ORDER_BYTES = 500
"""Bytes that the order of an edge may have; PostgreSQL's keys have room for twice as many."""


class Place(NamedTuple):
    """Where an edge is in the lists of both nodes."""

    score: int
    order: bytes | None = None
    """None: its type is not in `Schema.ordered`."""

    @property
    def cell(self) -> bytes:
        """As it is stored in the row of the pair: the score, then a zero and the order."""
        score = self.score.to_bytes(_SCORE_BYTES, signed=True)
        return score if self.order is None else score + _ORDERED + self.order

    @classmethod
    def of(cls, cell: bytes) -> Self:
        """A place that was stored."""
        ordered = len(cell) > _SCORE_BYTES
        return cls(
            int.from_bytes(cell[:_SCORE_BYTES], signed=True),
            cell[_SCORE_BYTES + len(_ORDERED) :] if ordered else None,
        )

    def key(self, node_id: bytes, direction: bytes, edge_type: int, other: bytes) -> bytes:
        """The key of a row that lists an edge here."""
        if self.order is None:
            return edge_key(node_id, direction, edge_type, self.score, other)
        return ordered_edge_key(node_id, direction, edge_type, self.score, self.order, other)


class EdgeKey(NamedTuple):
    """An edge by its two nodes."""

    source: bytes
    edge_type: int
    target: bytes

    @property
    def key(self) -> bytes:
        """The key of its own row; 35 bytes."""
        return edge_prefix(self.source, PAIR_KIND, self.edge_type) + self.target

    def list_keys(self, place: Place) -> tuple[bytes, bytes]:
        """The keys of its rows in the lists of both nodes."""
        return (
            place.key(self.target, IN, self.edge_type, self.source),
            place.key(self.source, OUT, self.edge_type, self.target),
        )

    @property
    def counts(self) -> tuple[tuple[bytes, bytes], tuple[bytes, bytes]]:
        """(node, column) of both counts that it is part of."""
        return (
            (self.source, count_column(OUT, self.edge_type)),
            (self.target, count_column(IN, self.edge_type)),
        )


class NewEdge(NamedTuple):
    """An edge to put."""

    pair: EdgeKey
    score: int = 0
    properties: Mapping[str, bytes] = {}
    order: bytes = b""
    """Sorts edges of one score; of types in `Schema.ordered`. Up to 500 bytes."""

    def place(self, ordered: Collection[int]) -> Place:
        """Where it will be; `ordered`: the types whose edges have an order."""
        return Place(self.score, self.order if self.pair.edge_type in ordered else None)


def check_id(node_id: bytes) -> None:
    """Raise InvalidArgument for an id of another length: keys are cut at fixed places."""
    if len(node_id) != ID_BYTES:
        raise InvalidArgument(f"id of a node: must be {ID_BYTES} bytes, got {len(node_id)}")


def check_edge(edge: NewEdge, ordered: Collection[int], remedy: str) -> None:
    """Raise InvalidArgument for an edge that no key can hold."""
    source, edge_type, target = edge.pair
    check_id(source)
    check_id(target)
    if not 0 <= edge_type < _TYPES:
        raise InvalidArgument(f"type of an edge: must be 0 to {_TYPES - 1}, got {edge_type!r}")
    if not _is_score(edge.score):
        raise InvalidArgument(f"score: must be an integer of 64 bits, got {edge.score!r}")
    if len(edge.order) > MOST_ORDER_BYTES:
        raise InvalidArgument(
            f"order: must have up to {MOST_ORDER_BYTES} bytes, got {len(edge.order)}"
        )
    if edge.order and edge_type not in ordered:
        raise InvalidArgument(f"order: edges of type {edge_type} have none; add it to {remedy}")


def _is_score(score: int) -> bool:
    try:
        return index(score) in _SCORES
    except TypeError:  # such as a float, which a caller without types passes
        return False


def pair_of(list_key: bytes) -> EdgeKey:
    """The edge that a row of a list lists."""
    node_id, direction, edge_type, _, other = read_edge_key(list_key)
    source, target = (node_id, other) if direction == OUT else (other, node_id)
    return EdgeKey(source, edge_type, target)


def place_in(list_key: bytes) -> Place:
    """Where a row of a list lists its edge."""
    return Place(read_edge_key(list_key)[3], read_order(list_key))


def count_of(value: bytes | None) -> int:
    return 0 if value is None else int.from_bytes(value, signed=True)


def count_cell(count: int) -> bytes:
    return count.to_bytes(_SCORE_BYTES, signed=True)


def cells_of(edge: NewEdge, place: Place) -> dict[bytes, bytes]:
    """The cells of the row of its pair."""
    named = {PROPERTY + name.encode(): value for name, value in edge.properties.items()}
    return {SCORE: place.cell, **named}


def place_of(row: Row) -> Place:
    """Where the edge of this row of a pair is."""
    return Place.of(row[SCORE].value)


def edge_of(other: bytes, row: Row) -> Edge:
    """The edge of a row of a pair, seen from the node that is not `other`."""
    named = {
        column.removeprefix(PROPERTY).decode(): cell.value
        for column, cell in row.items()
        if column.startswith(PROPERTY)
    }
    place = place_of(row)
    return Edge(other, place.score, named, row[SCORE].at_ms, place.order or b"")
