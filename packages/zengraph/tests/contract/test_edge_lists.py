"""Edge lists and prefix lookups on every engine."""

import pytest

from zengraph.testing.edge_lists import EdgeListsContract
from zengraph.testing.packed_lists import PackedListsContract
from zengraph.testing.packed_moves import PackedMovesContract
from zengraph.testing.prefixes import PrefixContract


class TestLists(EdgeListsContract):
    @pytest.fixture
    def make_tables(self, quick_tables):
        return quick_tables


class TestPackedLists(PackedListsContract):
    @pytest.fixture
    def make_tables(self, quick_tables):
        return quick_tables


class TestPackedMoves(PackedMovesContract):
    @pytest.fixture
    def make_tables(self, quick_tables):
        return quick_tables


class TestPrefixes(PrefixContract):
    @pytest.fixture
    def make_tables(self, quick_tables):
        return quick_tables
