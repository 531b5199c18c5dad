"""
The parts of a `MultiGraph` for a layer that stores records in it.

Programs that use only nodes and edges do not need this module.
"""

from __future__ import annotations

from zengraph._codec import ID_BYTES
from zengraph._leases import CellLeases, Lease
from zengraph._log import TimeLog
from zengraph._mutations import (
    Mutation,
    append_log,
    put_number,
    put_order,
    put_properties,
    put_record,
)
from zengraph._ordered_indexes import LabelWalk, NumberEntry, NumberIndex, OrderIndex
from zengraph._parallel_edges import COUNTS, count_column
from zengraph._properties import Cell, CellSize, NodeStore, Row, Salvaged, newest_ms
from zengraph._read_bytes import CountedRows, counted_result, counted_rows
from zengraph._registry import Registry

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
    "counted_result",
    "counted_rows",
    "newest_ms",
    "put_number",
    "put_order",
    "put_properties",
    "put_record",
]
