"""What every engine of `CellTable` does."""

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
        """Those of `support.engines`, which lie in several files on SQLite."""
        return tables


def test_an_engine_that_leaves_a_method_out_cannot_be_made():
    class Incomplete(MemoryTable):
        _scan = CellTable._scan

    with pytest.raises(TypeError, match="abstract method"):
        Incomplete(SystemClock(), masking=False)
