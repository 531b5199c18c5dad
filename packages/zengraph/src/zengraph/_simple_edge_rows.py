"""
The rows of simple edges: their keys, and what their cells hold. Pure.

`_simple_edges.py` says which rows an edge has, and in which order they are written.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import NamedTuple

from zengraph._codec import ID_BYTES, IN, OUT, edge_key, edge_prefix, read_edge_key
from zengraph._parallel_edges import Edge, count_column
from zengraph._properties import Row
from zengraph.errors import InvalidArgument

PAIR_KIND = b"x"
SCORE = b"p:s"
PROPERTY = b"p:p"
_SCORE_BYTES = 8
_TYPES = 1 << 16
_SCORES = range(-(1 << 63), 1 << 63)


class EdgeKey(NamedTuple):
    """An edge by its two nodes."""

    source: bytes
    edge_type: int
    target: bytes

    @property
    def key(self) -> bytes:
        """The key of its own row; 35 bytes."""
        return edge_prefix(self.source, PAIR_KIND, self.edge_type) + self.target

    def list_keys(self, score: int) -> tuple[bytes, bytes]:
        """The keys of its rows in the lists of both nodes."""
        return (
            edge_key(self.target, IN, self.edge_type, score, self.source),
            edge_key(self.source, OUT, self.edge_type, score, self.target),
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


def check_id(node_id: bytes) -> None:
    """Raise InvalidArgument for an id of another length: keys are cut at fixed places."""
    if len(node_id) != ID_BYTES:
        raise InvalidArgument(f"id of a node: must be {ID_BYTES} bytes, got {len(node_id)}")


def check_edge(edge: NewEdge) -> None:
    source, edge_type, target = edge.pair
    check_id(source)
    check_id(target)
    if not 0 <= edge_type < _TYPES:
        raise InvalidArgument(f"type of an edge: must be 0 to {_TYPES - 1}, got {edge_type!r}")
    if not _is_score(edge.score):
        raise InvalidArgument(f"score: must be an integer of 64 bits, got {edge.score!r}")


def _is_score(score: int) -> bool:
    try:
        return index(score) in _SCORES
    except TypeError:  # such as a float, which a caller without types passes
        return False


def pair_of(list_key: bytes) -> EdgeKey:
    node_id, direction, edge_type, _, other = read_edge_key(list_key)
    source, target = (node_id, other) if direction == OUT else (other, node_id)
    return EdgeKey(source, edge_type, target)


def count_of(value: bytes | None) -> int:
    return 0 if value is None else int.from_bytes(value, signed=True)


def count_cell(count: int) -> bytes:
    return count.to_bytes(_SCORE_BYTES, signed=True)


def cells_of(edge: NewEdge) -> dict[bytes, bytes]:
    named = {PROPERTY + name.encode(): value for name, value in edge.properties.items()}
    return {SCORE: edge.score.to_bytes(_SCORE_BYTES, signed=True), **named}


def score_of(row: Row) -> int:
    return int.from_bytes(row[SCORE].value, signed=True)


def edge_of(other: bytes, row: Row) -> Edge:
    named = {
        column.removeprefix(PROPERTY).decode(): cell.value
        for column, cell in row.items()
        if column.startswith(PROPERTY)
    }
    return Edge(other, score_of(row), named, row[SCORE].at_ms)
