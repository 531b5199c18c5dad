"""Tables that pass every call on."""

import inspect

import pytest

from zengraph.clock import ManualClock
from zengraph.tables import CellTable, Tables
from zengraph.tables.forwarding import ForwardingTable, ForwardingTables
from zengraph.tables.memory import MemoryTables

PAIRS = ((CellTable, ForwardingTable), (Tables, ForwardingTables))


@pytest.mark.parametrize(("interface", "forwarding"), PAIRS)
def test_every_method_of_the_interface_is_passed_on(interface, forwarding):
    methods = {name for name in vars(interface) if not name.startswith("_")}

    # `scan` calls `_scan`.
    assert methods - vars(forwarding).keys() <= {"scan"}
    for name in methods & vars(forwarding).keys():
        parameters = inspect.signature(getattr(interface, name)).parameters
        assert list(inspect.signature(getattr(forwarding, name)).parameters) == list(parameters)


def test_reads_and_scans_return_what_the_inner_table_has():
    inner = MemoryTables(ManualClock())
    nodes = ForwardingTables(inner)["n"]
    table = ForwardingTable(nodes)

    table.put_and_delete_many([(b"a", {b"m:x": b"1"}, 5), (b"b", {b"m:x": b"2"}, 5)], [])

    assert table.get(b"a") == inner["n"].get(b"a") == {b"m:x": (b"1", 5)}
    assert [row for row, _ in table.scan(b"", None, reverse=True, limit=1)] == [b"b"]
    row, scan = table.get_then_scan(b"a", [b"m:x"], b"b", b"c", limit=5)
    assert (row, list(scan)) == ({b"m:x": (b"1", 5)}, [(b"b", {b"m:x": (b"2", 5)})])
    assert table.get_prefix(b"a", b"m:", 9) == {b"m:x": (b"1", 5)}
