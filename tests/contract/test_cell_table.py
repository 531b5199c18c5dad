"""What every engine of `CellTable` does."""

import pytest

from aragog.runtime.clock import SystemClock
from aragog.testing.cell_table import CellTableContract
from aragog.zen.tables import CellTable
from aragog.zen.tables.memory import MemoryTable


class TestEveryEngine(CellTableContract):
    @pytest.fixture
    def make_tables(self, quick_tables):
        return quick_tables

    @pytest.fixture
    def tables(self, tables):
        """Those of `tests.support.tables`, which lie in several files on SQLite."""
        return tables


def test_an_engine_that_leaves_a_method_out_cannot_be_made():
    class Incomplete(MemoryTable):
        _scan = CellTable._scan

    with pytest.raises(TypeError, match="abstract method"):
        Incomplete(SystemClock(), masking=False)
