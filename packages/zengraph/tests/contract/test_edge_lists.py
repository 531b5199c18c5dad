"""What lists of edges do, on every engine."""

import pytest

from zengraph.testing.edge_lists import EdgeListsContract


class TestEveryEngine(EdgeListsContract):
    @pytest.fixture
    def make_tables(self, quick_tables):
        return quick_tables
