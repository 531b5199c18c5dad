"""Reading content while a writer replaces it: the object is written, but not yet the record."""

import threading

import pytest

from aragog.errors import ContentReplaced, CorruptContent
from aragog.runtime.clock import ManualClock
from aragog.settings import StoreSettings
from aragog.transfer.warc_export import export_warc
from aragog.urlstore.bodies import Bodies
from aragog.urlstore.compression import content_key
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.object_reads import RETRY_DELAYS_S
from aragog.urlstore.store import UrlStore
from tests.support.stores import NOW_MS, body, page, store_harness
from zengraph.tables.memory import MemoryTables

A = "http://a.example/"


class HeldTables(MemoryTables):
    """Tables whose batched writes block, as if the server were stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.released = threading.Event()
        self.released.set()
        self.waiting = threading.Event()

    def write(self, puts):
        if any(name == "n" for name, *_ in puts):
            self.waiting.set()
            assert self.released.wait(60)
        super().write(puts)


@pytest.fixture
def replaced():
    """A store in which page A is being replaced: new object, old record."""
    tables = HeldTables()
    store = UrlStore(tables, MemoryContent(), StoreSettings(), WaitingClock(NOW_MS))
    store.write_pages([page(A, content=body("old"))])
    tables.released.clear()
    tables.waiting.clear()
    later = page(A, NOW_MS + 1000, content=body("new"))
    writer = threading.Thread(target=store.write_pages, args=([later],))
    writer.start()
    assert tables.waiting.wait(60)
    yield store, tables, writer
    tables.released.set()
    writer.join(60)


class WaitingClock(ManualClock):
    """Records its sleeps and calls a function in the last one."""

    def __init__(self, at_ms):
        super().__init__(at_ms)
        self.slept_s = []
        self.at_last = lambda: None

    def sleep_s(self, seconds):
        self.slept_s.append(seconds)
        if seconds == RETRY_DELAYS_S[-1]:
            self.at_last()


def test_reader_waits_for_the_record_of_a_replaced_object(replaced):
    """Regression: CorruptContent in 6 of 346 reads during a refresh with S3 stopped."""
    store, tables, writer = replaced

    def go_on():
        tables.released.set()
        writer.join(60)

    store.clock.clock.at_last = go_on

    assert store.content(A).body == b"new"
    assert sum(store.clock.clock.slept_s) < 0.5


def test_page_still_being_replaced_can_be_read_later(replaced):
    store, tables, writer = replaced

    with pytest.raises(ContentReplaced, match="is being replaced; try again"):
        store.content(A)

    tables.released.set()
    writer.join(60)
    assert store.content(A).body == b"new"


def test_content_put_directly_is_replaced_in_the_same_way():
    harness = store_harness(MemoryTables())
    harness.store.put_content(A, b"old")
    harness.clock.advance_ms(1000)
    harness.store.put_content(A, b"new")
    newest = harness.content.get(content_key(A))
    other = store_harness(MemoryTables())
    other.store.put_content(A, b"old")
    other.content.put(content_key(A), *newest)

    with pytest.raises(ContentReplaced):
        other.store.content(A)


def test_object_older_than_its_record_is_corrupt():
    harness = store_harness(MemoryTables())
    harness.store.write_pages([page(A, content=body("old"))])
    older = harness.content.get(content_key(A))
    harness.store.write_pages([page(A, NOW_MS + 1000, content=body("new"))])
    harness.content.put(content_key(A), *older)

    with pytest.raises(CorruptContent, match="does not match its pointer"):
        harness.store.content(A)


def test_export_rereads_the_record_of_a_replaced_page(tmp_path):
    harness = store_harness(MemoryTables())
    harness.store.write_pages([page(A, content=body("old"))])
    problems = []

    class Overtaking(MemoryContent):
        """The page is replaced between reading its record and its object."""

        def get(self, key):
            if harness.store.get(A).facts.get("n") is None:
                later = page(A, NOW_MS + 1000, content=body("new"), facts={"n": 1})
                harness.store.write_pages([later])
            return harness.content.get(key)

    report = export_warc(
        harness.store.zen,
        Bodies(Overtaking()),
        tmp_path / "x",
        on_problem=lambda *p: problems.append(p),
    )

    assert (report.records, problems) == (1, [])
