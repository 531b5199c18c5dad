"""Reading a page's content while a writer replaces it: it has put the object, and not the record."""

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
from tests.support.stores import NOW_MS, body, page, stand
from zengraph.tables.memory import MemoryTables

A = "http://a.example/"


class HeldTables(MemoryTables):
    """Tables whose batched writes wait: a server that is stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = threading.Event()
        self.answers.set()
        self.waits = threading.Event()

    def write(self, puts):
        if any(name == "n" for name, *_ in puts):
            self.waits.set()
            assert self.answers.wait(60)
        super().write(puts)


@pytest.fixture
def replaced():
    """A store whose page of A is being replaced: new object, old record."""
    tables = HeldTables()
    store = UrlStore(tables, MemoryContent(), StoreSettings(), WaitingClock(NOW_MS))
    store.write_pages([page(A, content=body("old"))])
    tables.answers.clear()
    tables.waits.clear()
    later = page(A, NOW_MS + 1000, content=body("new"))
    writer = threading.Thread(target=store.write_pages, args=([later],))
    writer.start()
    assert tables.waits.wait(60)
    yield store, tables, writer
    tables.answers.set()
    writer.join(60)


class WaitingClock(ManualClock):
    """Counts its sleeps, and calls a function in the last of them."""

    def __init__(self, at_ms):
        super().__init__(at_ms)
        self.slept_s = []
        self.at_last = lambda: None

    def sleep_s(self, seconds):
        self.slept_s.append(seconds)
        if seconds == RETRY_DELAYS_S[-1]:
            self.at_last()


def test_a_reader_waits_for_the_record_of_an_object_that_was_replaced(replaced):
    """What was seen: CorruptContent in 6 of 346 reads during a refresh with S3 stopped."""
    store, tables, writer = replaced

    def go_on():
        tables.answers.set()
        writer.join(60)

    store.clock.clock.at_last = go_on

    assert store.content(A).body == b"new"
    assert sum(store.clock.clock.slept_s) < 0.5


def test_a_page_that_is_still_being_replaced_is_to_be_read_again_later(replaced):
    store, tables, writer = replaced

    with pytest.raises(ContentReplaced, match="is being replaced; try again"):
        store.content(A)

    tables.answers.set()
    writer.join(60)
    assert store.content(A).body == b"new"


def test_content_put_by_hand_is_replaced_in_the_same_way():
    a_stand = stand(MemoryTables())
    a_stand.store.put_content(A, b"old")
    a_stand.clock.advance_ms(1000)
    a_stand.store.put_content(A, b"new")
    newest = a_stand.content.get(content_key(A))
    other = stand(MemoryTables())
    other.store.put_content(A, b"old")
    other.content.put(content_key(A), *newest)

    with pytest.raises(ContentReplaced):
        other.store.content(A)


def test_an_object_older_than_its_record_is_damage():
    a_stand = stand(MemoryTables())
    a_stand.store.write_pages([page(A, content=body("old"))])
    older = a_stand.content.get(content_key(A))
    a_stand.store.write_pages([page(A, NOW_MS + 1000, content=body("new"))])
    a_stand.content.put(content_key(A), *older)

    with pytest.raises(CorruptContent, match="does not match its pointer"):
        a_stand.store.content(A)


def test_an_export_reads_the_record_again_where_a_writer_was_faster(tmp_path):
    a_stand = stand(MemoryTables())
    a_stand.store.write_pages([page(A, content=body("old"))])
    problems = []

    class Overtaking(MemoryContent):
        """The page is replaced between the reads of its record and of its object."""

        def get(self, key):
            if a_stand.store.get(A).facts.get("n") is None:
                later = page(A, NOW_MS + 1000, content=body("new"), facts={"n": 1})
                a_stand.store.write_pages([later])
            return a_stand.content.get(key)

    report = export_warc(
        a_stand.store.zen,
        Bodies(Overtaking()),
        tmp_path / "x",
        on_problem=lambda *p: problems.append(p),
    )

    assert (report.records, problems) == (1, [])
