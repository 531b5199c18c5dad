"""Upkeep of packs: dead space, takedowns, killed writers, and repair."""

import random
from contextlib import suppress

import pytest

from aragog.errors import ContentUnavailable, CorruptContent
from aragog.urlstore.bodies import pointer_of
from aragog.urlstore.content import MemoryPacks
from aragog.urlstore.packs.pointers import index_name
from tests.support.pack_harness import HOUR_MS, fetched, pack_harness
from tests.support.stores import NOW_MS, node_id

A, B, C = "http://a.example/", "http://b.example/", "http://c.example/"
SECRET = "the secret of this page"


def write_together(store_harness, pages):
    """Write pages, with all bodies in one pack."""
    packing = store_harness.store.pack_pages(pages, now=True)
    store_harness.store.write_pages(packing.wait())
    packing.settle()


def test_pack_more_than_half_dead_is_rewritten_and_deleted(files):
    store_harness = pack_harness(files=files)
    write_together(store_harness, [fetched(f"{A}{n}", f"old {n}") for n in range(5)])
    (first,) = store_harness.names()
    write_together(store_harness, [fetched(f"{A}{n}", f"new {n}", NOW_MS + 1) for n in range(4)])

    assert store_harness.upkeep().rewritten == 1
    assert first in store_harness.names()
    assert store_harness.store.content(f"{A}4").body == b"old 4"
    assert pointer_of(store_harness.store.zen.nodes.get(node_id(f"{A}4"))).pack != first
    assert store_harness.upkeep(hours=1).deleted == 1
    assert first not in store_harness.names()
    bodies = [store_harness.store.content(f"{A}{n}").body for n in range(5)]
    assert bodies == [b"new 0", b"new 1", b"new 2", b"new 3", b"old 4"]
    assert b"old 0" not in store_harness.everything()


def test_pack_half_alive_stays(files):
    store_harness = pack_harness(files=files)
    write_together(store_harness, [fetched(f"{A}{n}", f"old {n}") for n in range(4)])
    write_together(store_harness, [fetched(f"{A}0", "new", NOW_MS + 1)])

    assert store_harness.upkeep(hours=1).rewritten == 0
    assert len(store_harness.names()) == 2


def test_packs_with_little_dead_space_do_not_hide_one_with_much():
    """Each run reads a few packs of each bucket, and the next run continues after them."""
    store_harness = pack_harness()
    for n in range(3):
        write_together(store_harness, [fetched(f"{A}{n}-{m}", f"old {n} {m}") for m in range(4)])
    catalog = store_harness.store.bodies.packs.catalog
    catalog._row = lambda kind, pack: b"\0" + kind + b"\0" + pack.encode()  # one bucket
    catalog.record_dead([_pointer(store_harness, f"{A}{n}-0") for n in range(3)])

    seen = [[name for name, _ in catalog.next_dead(1)] for _ in range(5)]
    first, second, third = sorted(store_harness.names())
    assert seen == [[first], [second], [third], [], [first]]


def _pointer(store_harness, url):
    return pointer_of(store_harness.store.zen.nodes.get(node_id(url)))


def test_metric_counts_dead_space(files):
    store_harness = pack_harness(files=files)
    assert store_harness.store.maintenance.dead_pack_bytes() is None
    write_together(store_harness, [fetched(f"{A}{n}", f"old {n}") for n in range(4)])
    replaced = _pointer(store_harness, f"{A}0").length
    write_together(store_harness, [fetched(f"{A}0", "new", NOW_MS + 1)])

    store_harness.upkeep()
    assert store_harness.store.maintenance.dead_pack_bytes() == replaced
    write_together(store_harness, [fetched(f"{A}{n}", "new", NOW_MS + 2) for n in range(4)])
    store_harness.upkeep()
    store_harness.upkeep(hours=1)
    store_harness.upkeep()
    assert store_harness.reopened().store.maintenance.dead_pack_bytes() == 0


def test_pointer_read_before_a_rewrite_works_until_the_grace_period_ends():
    store_harness = pack_harness()
    write_together(store_harness, [fetched(f"{A}{n}", f"old {n}") for n in range(3)])
    before = pointer_of(store_harness.store.zen.nodes.get(node_id(f"{A}2")))
    write_together(store_harness, [fetched(f"{A}{n}", f"new {n}", NOW_MS + 1) for n in range(2)])
    store_harness.upkeep()

    assert store_harness.store.bodies.read(before).body == b"old 2"


def test_takedown_hides_a_page_at_once_and_removes_its_bytes_in_time(files):
    store_harness = pack_harness(files=files)
    write_together(store_harness, [fetched(A, SECRET), fetched(B, "stays")])
    write_together(store_harness, [fetched(A, f"{SECRET}, changed", NOW_MS + 1)])
    store_harness.store.takedowns.take_down(url=A)

    assert store_harness.store.content(A) is None
    assert store_harness.store.content(B).body == b"stays"
    for _ in range(24):
        store_harness.upkeep(hours=1)
    assert SECRET.encode() not in store_harness.everything()
    assert A.encode() not in store_harness.everything()
    assert store_harness.store.content(B).body == b"stays"


@pytest.mark.parametrize("hours", [0.1, 24, 100])
def test_takedown_hours_are_kept(hours):
    store_harness = pack_harness(takedown_hours=hours)
    write_together(store_harness, [fetched(A, SECRET), fetched(B, "stays")])
    store_harness.store.takedowns.take_down(url=A)
    for _ in range(10):
        store_harness.upkeep(hours=hours / 10)

    assert SECRET.encode() not in store_harness.everything()


def test_host_takedown_removes_all_its_pages_and_revisits():
    store_harness = pack_harness()
    for at_ms in (NOW_MS, NOW_MS + 1):
        write_together(store_harness, [*(fetched(f"{A}{n}", SECRET, at_ms) for n in range(3)),
                               fetched(B, "stays", at_ms)])  # fmt: skip
    assert b"revisit" in store_harness.everything()
    store_harness.store.takedowns.take_down(host="a.example")
    for _ in range(24):
        store_harness.upkeep(hours=1)

    assert b"a.example" not in store_harness.everything()
    assert store_harness.store.content(B).body == b"stays"


@pytest.mark.parametrize("redirected", [True, False])
def test_takedown_finds_content_fetched_under_another_url(redirected):
    store_harness = pack_harness()
    final = C if redirected else A
    page = fetched(A, SECRET, final_url=final, canonical_url=A if redirected else C)
    write_together(store_harness, [page])
    store_harness.store.takedowns.take_down(url=final)
    for _ in range(24):
        store_harness.upkeep(hours=1)

    assert SECRET.encode() not in store_harness.everything()


def test_removed_page_leaves_no_bytes_and_may_come_back():
    store_harness = pack_harness()
    write_together(store_harness, [fetched(A, SECRET)])
    store_harness.store.remove(A)
    store_harness.clock.advance_ms(1000)
    write_together(store_harness, [fetched(A, "back", store_harness.clock.now_ms())])
    for _ in range(24):
        store_harness.upkeep(hours=1)

    assert SECRET.encode() not in store_harness.everything()
    assert store_harness.store.content(A).body == b"back"


def test_shared_body_is_rewritten_under_the_remaining_page_alone():
    """B shares the record of A, as pages with the same body do."""
    store_harness = pack_harness()
    write_together(store_harness, [fetched(A, "shared")])
    row = store_harness.store.zen.nodes.get(node_id(A))
    share(store_harness, row, B)
    store_harness.store.takedowns.take_down(url=A)
    assert store_harness.store.content(B).body == b"shared"
    for _ in range(24):
        store_harness.upkeep(hours=1)

    assert store_harness.store.content(B).body == b"shared"
    assert A.encode() not in store_harness.everything()
    assert f"WARC-Target-URI: {B}".encode() in store_harness.everything()


def share(store_harness, row, url):
    """Let another page point to the record of a page."""
    from aragog.urlstore import nodes

    packs, pointer = store_harness.store.bodies.packs, pointer_of(row)
    packs.catalog.share(pointer, url)
    cells = {c: row[c].value for c in (*nodes.CONTENT, nodes.SENTINEL) if c in row}
    store_harness.store.zen.nodes.put(
        node_id(url), {**cells, nodes.URL: url.encode()}, at_ms=NOW_MS
    )


def test_alias_keeps_track_of_its_records_and_its_canonical_url_has_the_body():
    store_harness = pack_harness()
    write_together(store_harness, [fetched(A, "of the alias")])
    store_harness.store.aliases.merge(A, B)

    assert store_harness.store.content(B).body == b"of the alias"
    (name,) = store_harness.names()
    store_harness.store.bodies.packs.catalog.record_dead([_big(name)])
    store_harness.upkeep()
    store_harness.upkeep(hours=1)
    assert name not in store_harness.names()
    assert store_harness.store.content(A).body == b"of the alias"


def _big(name):
    from aragog.urlstore.packs.pointers import PackPointer

    return PackPointer(name, 0, 10**9, "")


# Killed writers


class Killed(BaseException):
    """The process ends here."""


class KillingPacks(MemoryPacks):
    """Ends the process before, during or after a put."""

    when = ""

    def put(self, name, data, index):
        if self.when == "before":
            raise Killed
        if self.when == "after its index":
            self.indexes[index_name(name)] = index
            raise Killed
        super().put(name, data, index)
        if self.when == "after":
            raise Killed


@pytest.mark.parametrize("when", ["before", "after its index", "after"])
def test_writer_killed_around_the_put_leaves_no_pointer_and_its_batch_runs_again(when):
    store_harness = pack_harness(files=KillingPacks())
    store_harness.files.when = when
    with pytest.raises((Killed, ContentUnavailable)):
        store_harness.store.pack_pages([fetched(A, SECRET)], now=True).wait()
    assert store_harness.store.get(A) is None

    store_harness.files.when = ""
    again = store_harness.reopened()
    write_together(again, [fetched(A, SECRET)])
    for _ in range(24):
        again.upkeep(hours=1)
    assert again.store.content(A).body == SECRET.encode()
    assert again.everything().count(SECRET.encode()) == 1
    assert len(store_harness.files.indexes) == len(store_harness.files.stored) == 1


def test_writer_killed_before_writing_its_pages_leaves_nothing_behind(files):
    store_harness = pack_harness(files=files)
    store_harness.store.pack_pages([fetched(A, SECRET), fetched(B, SECRET)], now=True).wait()

    again = store_harness.reopened()
    write_together(again, [fetched(B, "another")])
    again.store.takedowns.take_down(url=A)
    for _ in range(24):
        again.upkeep(hours=1)
    assert SECRET.encode() not in again.everything()
    assert again.store.content(B).body == b"another"


def test_writer_killed_between_two_batches_keeps_the_first():
    store_harness = pack_harness(pack_wait_s=0.2)
    first = store_harness.store.pack_pages([fetched(A, "written")])
    store_harness.store.pack_pages([fetched(B, SECRET)])
    store_harness.store.write_pages(first.wait())
    first.settle()

    again = store_harness.reopened()
    for _ in range(24):
        again.upkeep(hours=1)
    assert again.store.content(A).body == b"written"
    assert SECRET.encode() not in again.everything()


def test_upkeep_leaves_a_new_pack_alone_until_its_pages_are_written():
    store_harness = pack_harness(takedown_hours=0.001)
    packing = store_harness.store.pack_pages([fetched(A, "text")], now=True)
    pages = packing.wait()
    store_harness.reopened().upkeep(hours=0.1)

    store_harness.store.write_pages(pages)
    packing.settle()
    assert store_harness.store.content(A).body == b"text"


def test_late_batch_runs_again():
    store_harness = pack_harness()
    pages = store_harness.store.pack_pages([fetched(A, "text")], now=True).wait()
    store_harness.store.bodies.packs.writer.late_s = -1.0

    with pytest.raises(ContentUnavailable, match="too late"):
        store_harness.store.write_pages(pages)
    assert store_harness.store.content(A) is None


class Stopping:
    """Raises Killed at the nth call that writes."""

    def __init__(self, at):
        self.left = at

    def tick(self):
        self.left -= 1
        if self.left == 0:
            raise Killed


@pytest.mark.parametrize("step", range(1, 40))
def test_upkeep_killed_at_any_step_loses_nothing_and_is_completed_by_the_next(step):
    store_harness = pack_harness()
    write_together(store_harness, [fetched(f"{A}{n}", f"old {n}") for n in range(3)])
    write_together(store_harness, [fetched(f"{A}{n}", SECRET, NOW_MS + 1) for n in range(2)])
    store_harness.store.takedowns.take_down(url=f"{A}0")
    killing = killed_at(store_harness, step)
    for _ in range(3):
        try:
            killing.upkeep(hours=13)
        except Killed:
            break
    assert store_harness.store.content(f"{A}2").body == b"old 2"

    again = store_harness.reopened()
    for _ in range(12):
        again.upkeep(hours=2)
    assert again.store.content(f"{A}1").body == SECRET.encode()
    assert again.store.content(f"{A}2").body == b"old 2"
    assert f"{A}0".encode() not in again.everything()
    assert again.everything().count(SECRET.encode()) == 1


def killed_at(store_harness, step):
    """The harness as a process that ends at its nth write to the tables or the files."""
    stopping = Stopping(step)

    class Tables:
        def __init__(self, tables):
            self._tables = tables

        def __getattr__(self, name):
            return getattr(self._tables, name)

        def __getitem__(self, name):
            return Ticking(self._tables[name])

        def write(self, puts):
            stopping.tick()
            self._tables.write(puts)

    class Ticking:
        def __init__(self, inner):
            self._inner = inner

        def __getattr__(self, name):
            method = getattr(self._inner, name)
            if not name.startswith(("put", "delete", "check_and_put")):
                return method

            def call(*args, **kwargs):
                stopping.tick()
                return method(*args, **kwargs)

            return call

    return pack_harness(
        Tables(store_harness.tables),
        Ticking(store_harness.files),
        store_harness.content,
        store_harness.clock,
    )


@pytest.mark.parametrize("part", range(1, 10))
def test_damaged_body_is_reported_and_its_pack_stays(part):
    """
    Upkeep does not decompress a body whose hash is known, and must not take damage for dead space.
    """
    store_harness = pack_harness(pack_bytes=50_000_000)
    texts = [random.Random(n).randbytes(40_000).hex() for n in range(3)]
    write_together(store_harness, [fetched(f"{A}{n}", text) for n, text in enumerate(texts)])
    write_together(store_harness, [fetched(f"{A}{n}", "new", NOW_MS + 1) for n in range(2)])
    (first, second) = sorted(
        store_harness.names(), key=lambda name: -len(store_harness.files.read_all(name))
    )
    pointer = _pointer(store_harness, f"{A}2")
    at = pointer.offset + pointer.length * part // 10
    data = bytearray(store_harness.files.read_all(first))
    data[at] ^= 1
    store_harness.files.stored[first] = bytes(data)

    report = store_harness.upkeep()
    assert [line.split(":")[0] for line in report.problems] == [f"pack {first}"]
    assert store_harness.upkeep(hours=1).deleted == 0
    assert {first, second} <= set(store_harness.names())
    with pytest.raises(CorruptContent):
        store_harness.store.content(f"{A}2")
    assert store_harness.store.content(f"{A}0").body == b"new"


# Repair


def test_repair_reschedules_pages_whose_pack_is_lost():
    store_harness = pack_harness()
    write_together(store_harness, [fetched(A, "text")])
    store_harness.clock.advance_ms(HOUR_MS)
    store_harness.files.delete(store_harness.names()[0])

    report = store_harness.store.maintenance.repair(wait=False)
    assert report.repaired["content missing or damaged"] == 1
    assert store_harness.store.get(A).content_key is None
    assert store_harness.store.get(A).due_at_ms is not None


def test_repair_finds_packs_unknown_to_pages_and_catalog():
    store_harness = pack_harness()
    lost = pack_harness(files=store_harness.files)
    write_together(lost, [fetched(A, SECRET)])
    write_together(store_harness, [fetched(B, "known")])
    store_harness.clock.advance_ms(HOUR_MS)

    report = store_harness.store.maintenance.repair(wait=False)
    assert report.repaired == {"record of a pack that no page has": 1}
    for _ in range(24):
        store_harness.upkeep(hours=1)
    assert SECRET.encode() not in store_harness.everything()
    assert store_harness.store.content(B).body == b"known"


def test_repair_finds_nothing_in_an_intact_store(files):
    store_harness = pack_harness(files=files)
    write_together(store_harness, [fetched(A, "text"), fetched(B, "same")])
    write_together(store_harness, [fetched(A, "new", NOW_MS + 1), fetched(B, "same", NOW_MS + 1)])
    store_harness.clock.advance_ms(HOUR_MS)

    assert store_harness.store.maintenance.repair(wait=False).repaired == {}


# Versions


def test_kept_versions_are_read_by_time_and_survive_upkeep():
    store_harness = pack_harness(keep_versions=2)
    for n in range(5):
        write_together(store_harness, [fetched(A, f"text {n}", NOW_MS + n * HOUR_MS)])
        store_harness.clock.advance_ms(HOUR_MS)
    before = {n: store_harness.store.content(A, at_ms=NOW_MS + n * HOUR_MS + 1) for n in range(5)}
    for _ in range(4):
        store_harness.upkeep(hours=2)

    assert [n for n, found in before.items() if found] == [2, 3, 4]
    for n in (2, 3, 4):
        assert (
            store_harness.store.content(A, at_ms=NOW_MS + n * HOUR_MS + 1).body
            == f"text {n}".encode()
        )
    assert store_harness.store.content(A, at_ms=NOW_MS - 1) is None
    assert b"text 1" not in store_harness.everything()


def test_takedown_removes_all_versions():
    store_harness = pack_harness(keep_versions=5)
    for n in range(3):
        write_together(store_harness, [fetched(A, f"{SECRET} {n}", NOW_MS + n)])
    store_harness.store.takedowns.take_down(url=A)
    assert store_harness.store.content(A, at_ms=NOW_MS) is None
    for _ in range(24):
        store_harness.upkeep(hours=1)

    assert SECRET.encode() not in store_harness.everything()


# Moving objects into packs


@pytest.mark.parametrize("step", range(1, 16))
def test_objects_move_into_packs_after_a_kill_at_any_step(step):
    store_harness = pack_harness()
    objects = store_harness.reopened(layout="objects")
    objects.store.write_pages([fetched(A, "one"), fetched(B, "two")])
    with suppress(Killed):
        killed_at(store_harness, step).store.maintenance.pack_objects()
    bodies = [store_harness.store.content(url).body for url in (A, B)]
    store_harness.store.maintenance.pack_objects()

    assert bodies == [b"one", b"two"]
    assert [store_harness.store.content(url).body for url in (A, B)] == bodies
    assert list(store_harness.content.keys()) == []
    for _ in range(24):
        store_harness.upkeep(hours=1)
    assert store_harness.everything().count(b"two") == 1
    assert b"X-Crawler-Content-Encoding: gzip" in store_harness.everything()
