"""The contract of `CellTable` on every engine."""

import pytest

from zengraph.clock import SystemClock
from zengraph.tables import CellTable
from zengraph.tables.memory import MemoryTable
from zengraph.testing.cell_table import CellTableContract


class TestEveryEngine(CellTableContract):
    @pytest.fixture
    def make_tables(self, quick_tables):
        return quick_tables

    @pytest.fixture
    def tables(self, tables):
        """The tables of `support.engines`; on SQLite they span several files."""
        return tables


def test_engine_without_a_required_method_cannot_be_created():
    class Incomplete(MemoryTable):
        _scan = CellTable._scan

    with pytest.raises(TypeError, match="abstract method"):
        Incomplete(SystemClock(), masking=False)
