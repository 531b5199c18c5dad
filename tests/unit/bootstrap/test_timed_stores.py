"""Stores that measure how long their operations take."""

from aragog.bootstrap.timed_stores import TimedContent, TimedPacks, TimedTables
from aragog.observability.instruments import CONTENT_SECONDS, STORE_SECONDS, read_measurements
from aragog.runtime.clock import ManualClock
from aragog.urlstore.content import MemoryContent, MemoryPacks
from aragog.urlstore.content_port import Connectable, ContentPut
from zengraph.tables.memory import MemoryTables

KEY = "0" * 64
PACK = "20261201/000000-0000000000000000.warc.zst"


class ServerContent(MemoryContent):
    connections = 0

    def connect(self):
        self.connections += 1


def measured(histogram, use):
    """Return how often each operation is measured while `use` runs."""
    before = counts(histogram)
    use()
    return {label: n - before.get(label, 0) for label, n in counts(histogram).items()}


def counts(histogram):
    result = {}
    for (_, label, part), number in read_measurements([histogram]).items():
        if part != "sum":
            result[label] = result.get(label, 0) + number
    return result


def test_each_operation_on_tables_is_measured_once_under_its_name():
    tables = TimedTables(MemoryTables(ManualClock()))
    nodes = tables["n"]

    def use():
        tables.write([("n", b"a", {b"m:x": b"1"}, 1)])
        nodes.get(b"a")
        nodes.values_many([b"a"], (b"m:x",))
        list(nodes.scan(b"", None))

    changed = measured(STORE_SECONDS, use)

    assert {name: n for name, n in changed.items() if n} == {
        "write": 1,
        "get": 1,
        "values_many": 1,
    }


def test_operations_on_objects_and_packs_have_different_names():
    content, packs = TimedContent(MemoryContent()), TimedPacks(MemoryPacks())

    def use():
        content.put_many([ContentPut(KEY, b"body", {})])
        assert list(content.keys()) == [KEY]
        assert content.get(KEY) == (b"body", {})
        assert packs.read(PACK, 0, 1) is None

    changed = measured(CONTENT_SECONDS, use)

    assert {name: n for name, n in changed.items() if n} == {
        "put_many": 1,
        "get": 1,
        "pack_read": 1,
    }


def test_only_stores_on_a_server_are_connected():
    server = ServerContent()

    for store in (TimedContent(server), TimedContent(MemoryContent()), TimedPacks(MemoryPacks())):
        assert isinstance(store, Connectable)
        store.connect()

    assert server.connections == 1
