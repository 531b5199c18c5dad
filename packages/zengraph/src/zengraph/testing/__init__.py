"""
For tests: what every engine of cell tables does, for whoever writes another.

    cell_table.py  `CellTableContract`: a subclass named `Test…` supplies the engine
    edge_lists.py  `EdgeListsContract`: the same of orders, takes and trims of a `Graph`
    packed_lists.py  `PackedListsContract`: the same of packed lists
    packed_moves.py  `PackedMovesContract`: the same of edges that a repair packs and unpacks
    prefixes.py  `PrefixContract`: the same of look-ups by beginnings
    dying_tables.py  tables of a process that is killed after some writes

The suites need pytest and hypothesis: `zengraph[testing]`. The README shows how a subclass looks.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

USUAL = 100
"""The default number of examples of a test."""


def examples(count: int, **options: Any) -> settings:
    """
    Settings for `count` examples, which a profile with more multiplies like those of other tests.

    Fixtures may be shared by all examples: the test has to see to it that this does not matter.
    """
    drawn = count * settings().max_examples // USUAL
    return settings(max_examples=drawn, suppress_health_check=list(HealthCheck), **options)
