"""
The parts of a `MultiGraph` for a layer that keeps records in it.

Such a layer decides by the times of properties (`Cell`, `Row`), writes several rows in one batch
(`Mutation`), takes leases, and keeps its own ordered indexes and log. A program that only has nodes
and edges needs none of these.
"""

from __future__ import annotations

from aragog.zen.codec import ID_BYTES
from aragog.zen.edges import COUNTS, count_column
from aragog.zen.leases import CellLeases, Lease
from aragog.zen.log import TimeLog
from aragog.zen.mutations import Mutation, append_log, put_number, put_order, put_properties
from aragog.zen.ordered_indexes import LabelWalk, NumberEntry, NumberIndex, OrderIndex
from aragog.zen.properties import Cell, CellSize, NodeStore, Row, Salvaged, newest_ms
from aragog.zen.read_bytes import CountedRows, counted_rows
from aragog.zen.registry import Registry

__all__ = [
    "COUNTS",
    "ID_BYTES",
    "Cell",
    "CellLeases",
    "CellSize",
    "CountedRows",
    "LabelWalk",
    "Lease",
    "Mutation",
    "NodeStore",
    "NumberEntry",
    "NumberIndex",
    "OrderIndex",
    "Registry",
    "Row",
    "Salvaged",
    "TimeLog",
    "append_log",
    "count_column",
    "counted_rows",
    "newest_ms",
    "put_number",
    "put_order",
    "put_properties",
]
