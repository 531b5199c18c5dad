"""
Contract tests for cell table engines, for authors of new engines.

    cell_table.py  `CellTableContract`: a subclass named `Test…` supplies the engine
    cell_table_checks.py  its tests of compare-and-put and counters
    edge_lists.py  `EdgeListsContract`: orders, takes and trims of a `Graph`
    edge_takes.py  `EdgeTakesContract`: takes and trims alone
    graph_contract.py  the graph and the fixtures of these tests
    packed_lists.py  `PackedListsContract`: packed lists
    packed_moves.py  `PackedMovesContract`: edges that a repair packs and unpacks
    prefixes.py  `PrefixContract`: lookups by prefix
    dying_tables.py  tables of a process that is killed after some writes

The suites need pytest and hypothesis: `zengraph[testing]`. The README has an example of a subclass.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

DEFAULT_EXAMPLES = 100
"""A test's default number of examples."""


def examples(count: int, **options: Any) -> settings:
    """
    Return settings for `count` examples. A profile with more examples multiplies the count.

    All examples may share fixtures, so a test must not depend on fresh ones.
    """
    scaled_count = count * settings().max_examples // DEFAULT_EXAMPLES
    return settings(max_examples=scaled_count, suppress_health_check=list(HealthCheck), **options)
