"""The graph and the fixtures that the contract tests of edge lists share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from zengraph import Graph, Schema
from zengraph.clock import ManualClock
from zengraph.tables import Tables

POOL, CONTACT = 16, 17
SCHEMA = Schema(counted=(POOL,), ordered=(CONTACT,))
A, B, C = (bytes([i]) * 16 for i in (0, 17, 255))
DAY_MS = 86_400_000


def node(number: int) -> bytes:
    """Return an id. Consecutive numbers get ids in different files, partitions and regions."""
    return bytes([number * 37 % 256]) + number.to_bytes(15)


class GraphContract:
    """Fixtures for a graph in the engine's tables, the result of `make_tables`."""

    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    def tables(self, make_tables: Callable[[], Tables]) -> Tables:
        tables = make_tables()
        tables.create()
        return tables

    @pytest.fixture
    def graph(self, tables: Tables, clock: ManualClock) -> Graph:
        return Graph(tables, SCHEMA, clock)
