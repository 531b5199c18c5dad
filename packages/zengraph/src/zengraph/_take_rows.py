"""
The rows that store takes (removals of a list's best edges): keys and format.

A list from which edges were taken has a *state*, which each take replaces. The state contains the
last take's edges until all of their rows are deleted. `_taking.py` describes the order of writes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple, Self

from zengraph._codec import OUT, edge_prefix
from zengraph._edge_lists import ListedEdge
from zengraph._properties import Row
from zengraph._simple_edge_rows import PAIR_KIND, SCORE, TAKES_KIND, EdgeKey, read_place
from zengraph.errors import CorruptRow
from zengraph.tables import Cell

STATE = b"p:t"
"""The column of a state or a receipt. States may be written only by check-and-put."""
_VERSION = b"\1"
NO_REQUEST = bytes(16)
"""Stored instead of a request id in takes without one."""
_LENGTH_BYTES = 4
_TIME_BYTES = 8


def takes_prefix(node_id: bytes, edge_type: int | None = None) -> bytes:
    """Return the key prefix of a node's states and receipts, optionally of one type only."""
    return edge_prefix(node_id, TAKES_KIND, edge_type)


def state_key(node_id: bytes, edge_type: int) -> bytes:
    """Return the row key of a list's state: 35 bytes, like a pair row's key."""
    return takes_prefix(node_id, edge_type) + NO_REQUEST


def receipt_key(node_id: bytes, edge_type: int, request: bytes) -> bytes:
    """Return the row key of a request's receipt."""
    return takes_prefix(node_id, edge_type) + request


def is_state(key: bytes) -> bool:
    """Return True for the row of a state, False for that of a receipt."""
    return key.endswith(NO_REQUEST)


def hash_request_id(request_id: str | None) -> bytes:
    """Return the first 16 bytes of a request id's SHA-256; zeros if there is no id."""
    return NO_REQUEST if request_id is None else sha256(request_id.encode()).digest()[:16]


class TakeState(NamedTuple):
    """
    A take, as stored in the state of its list.

    No two states have equal cells, so a check-and-put fails if another take has replaced the state
    since it was read.
    """

    number: int
    """How many takes from the list there were, including this one."""
    nonce: bytes
    request: bytes
    """16 bytes; zeros if the take has no id."""
    parts: bytes = b""
    """The packed edges. Their rows may still exist. Empty if the take is finished."""

    @classmethod
    def after(cls, before: TakeState | None, request: bytes, edges: Sequence[ListedEdge]) -> Self:
        """Return the state after a take of these edges. They were read after `before`."""
        number = 1 if before is None else before.number + 1
        with_values = request != NO_REQUEST
        return cls(
            number,
            os.urandom(8),
            request,
            pack_parts(_pack_edge(each, with_values=with_values) for each in edges),
        )

    @classmethod
    def read(cls, row: Row, key: bytes) -> Self | None:
        """
        Decode the state in a row; None if the row has none.

        Raises:
            CorruptRow: a later version of the program wrote it.
        """
        if STATE not in row:
            return None
        cell = row[STATE].value
        if not cell.startswith(_VERSION):
            raise CorruptRow("e", key.hex(), f"version {cell[:1].hex()} of a take is not known")
        return cls(int.from_bytes(cell[1:9]), cell[9:17], cell[17:33], cell[33:])

    @property
    def cell(self) -> bytes:
        return _VERSION + self.number.to_bytes(8) + self.nonce + self.request + self.parts

    @property
    def size_bytes(self) -> int:
        return len(self.parts)

    @property
    def has_request(self) -> bool:
        """True if the take has a request id, and therefore a receipt."""
        return self.request != NO_REQUEST

    def without_edges(self) -> TakeState:
        """Return the state to store once all rows of the edges are deleted."""
        return self._replace(parts=b"")

    def scores(self, key: bytes) -> dict[bytes, Cell]:
        """Return each taken edge's score cell, by the key of its pair row."""
        prefix, cells_by_pair = edge_prefix(key[:16], PAIR_KIND) + key[17:19], {}
        for part in unpack_parts(self.parts):
            target, *cells = unpack_parts(part)
            at = 3 * cells[::3].index(SCORE)
            cells_by_pair[prefix + target] = Cell(cells[at + 2], int.from_bytes(cells[at + 1]))
        return cells_by_pair

    def edges(self, key: bytes) -> list[ListedEdge]:
        """Return the taken edges, given the row key of this state or receipt."""
        source, edge_type = key[:16], int.from_bytes(key[17:19])
        return [_unpack_edge(part, source, edge_type) for part in unpack_parts(self.parts)]


def _pack_edge(edge: ListedEdge, *, with_values: bool) -> bytes:
    """
    Pack the other node's id, then each cell of the pair's row: column, time, value.

    Deleting the edge does not require property values, so they are left out unless `with_values`.
    """
    cells = [
        part
        for column, cell in edge.row.items()
        for part in (
            column,
            cell.at_ms.to_bytes(_TIME_BYTES),
            cell.value if with_values or column == SCORE else b"",
        )
    ]
    return pack_parts([edge.pair.target, *cells])


def _unpack_edge(part: bytes, source: bytes, edge_type: int) -> ListedEdge:
    target, *cells = unpack_parts(part)
    triples = zip(cells[::3], cells[1::3], cells[2::3], strict=True)
    row = {column: Cell(value, int.from_bytes(at_ms)) for column, at_ms, value in triples}
    pair = EdgeKey(source, edge_type, target)
    return ListedEdge(read_place(row).key(source, OUT, edge_type, target), pair, row)


def pack_parts(parts: Iterable[bytes]) -> bytes:
    """Join parts, each after its length in 4 bytes."""
    return b"".join(len(part).to_bytes(_LENGTH_BYTES) + part for part in parts)


def unpack_parts(data: bytes) -> list[bytes]:
    parts, at = [], 0
    while at < len(data):
        start = at + _LENGTH_BYTES
        at = start + int.from_bytes(data[at:start])
        parts.append(data[start:at])
    return parts
