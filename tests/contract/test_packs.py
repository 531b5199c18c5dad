"""Content in packs: the store behaves the same with every kind of file storage."""

import gc
import itertools
import random
import weakref
from dataclasses import replace

import pytest

from aragog.errors import BadInput, ContentUnavailable, CorruptContent
from aragog.urlstore import nodes
from aragog.urlstore.bodies import pointer_of
from aragog.urlstore.pack_files import MemoryPacks as Memory
from aragog.urlstore.packs.pointers import index_name
from tests.support.pack_harness import fetched, pack_harness
from tests.support.stores import NOW_MS, node_id
from tests.support.waiting import wait_until
from zengraph.tables.sqlite import SqliteTables

A, B, C = "http://a.example/", "http://b.example/", "http://c.example/"
PACK = "20261129/101502-00112233445566aa.warc.zst"


def test_pack_is_read_in_parts_and_whole(files):
    files.put(PACK, b"0123456789", b"index")

    assert files.read(PACK, 3, 4) == b"3456"
    assert files.read(PACK, 8, 10) == b"89"
    assert files.read_all(PACK) == b"0123456789"
    assert [(file.name, file.size) for file in files.packs()] == [(PACK, 10)]


def test_missing_pack_reads_as_none(files):
    assert files.read(PACK, 0, 1) is None
    assert files.read_all(PACK) is None
    assert list(files.packs()) == []


def test_deleted_pack_loses_its_index_and_can_be_deleted_again(files):
    files.put(PACK, b"0123456789", b"index")
    assert files.read_index(PACK) == b"index"
    files.delete(PACK)
    files.delete(PACK)

    assert files.read(PACK, 0, 1) is None
    assert files.read_index(PACK) is None
    assert list(files.packs()) == []


def test_packs_are_listed_in_order(files):
    names = [f"2026112{n}/101502-00112233445566a{m}.warc.gz" for n in (8, 9) for m in "ab"]
    for name in reversed(names):
        files.put(name, b"x", b"")

    assert [file.name for file in files.packs()] == names


@pytest.mark.parametrize("name", ["../x", "20261129/x.warc.zst", "", f"{PACK}x", index_name(PACK)])
def test_invalid_pack_name_is_refused(files, name):
    for call in (
        lambda: files.put(name, b"", b""),
        lambda: files.read(name, 0, 1),
        lambda: files.read_all(name),
        lambda: files.delete(name),
    ):
        with pytest.raises(BadInput, match="is not a valid pack name"):
            call()


@pytest.mark.parametrize("compression", ["zstd", "gzip"])
def test_page_is_read_as_written(files, compression):
    harness = pack_harness(files=files, pack_compression=compression)
    harness.store.write_pages([fetched(A, "the text"), fetched(B, "another")])

    content = harness.store.content(A)
    assert content.body == b"the text"
    assert content.meta["url"] == A
    assert content.meta["status"] == "200"
    assert '["Content-Encoding","gzip"]' in content.meta["headers"]
    assert harness.store.content(B).body == b"another"
    assert len(harness.names()) == 1


def test_content_put_by_an_application_keeps_its_metadata(files):
    harness = pack_harness(files=files)
    harness.store.put_content(A, b"mine", {"content_type": "text/plain", "é": "ü\r\nWARC-Type: x"})

    content = harness.store.content(A)
    assert content.body == b"mine"
    assert content.meta["é"] == "ü\r\nWARC-Type: x"
    assert content.meta["content_type"] == "text/plain"


def test_newer_page_replaces_an_older_one_in_any_order(files):
    harness = pack_harness(files=files)
    for at_ms, text in ((NOW_MS, "first"), (NOW_MS + 10, "second"), (NOW_MS + 5, "late")):
        harness.store.write_pages([fetched(A, text, at_ms)])

    assert harness.store.content(A).body == b"second"


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_two_writers_of_a_page_leave_the_newest_in_any_order(order):
    harness = pack_harness()
    other = harness.reopened()
    packing = [
        store.pack_pages([fetched(A, f"text {n}", NOW_MS + n)], now=True)
        for n, store in enumerate((harness.store, other.store, harness.store))
    ]
    for n in order:
        (harness.store, other.store)[n % 2].write_pages(packing[n].wait())
        packing[n].settle()

    assert harness.store.content(A).body == b"text 2"


def test_bodies_of_many_batches_share_a_pack():
    harness = pack_harness(pack_wait_s=0.3)
    packing = [
        harness.store.pack_pages([fetched(f"{A}{n}/{m}", f"{n} {m}") for m in range(3)])
        for n in range(4)
    ]
    for one in packing:
        harness.store.write_pages(one.wait())
        one.settle()

    assert len(harness.names()) == 1
    assert harness.store.content(f"{A}2/1").body == b"2 1"
    assert harness.upkeep(hours=48).rewritten == 0


def test_full_pack_is_closed():
    harness = pack_harness(pack_wait_s=600, pack_bytes=2_000)
    pages = [fetched(f"{A}{n}", f"{n}") for n in range(10)]
    packing = [harness.store.pack_pages([page]) for page in pages[:9]]
    packing.append(harness.store.pack_pages(pages[9:], now=True))
    for one in packing:
        harness.store.write_pages(one.wait())

    sizes = [file.size for file in harness.files.packs()]
    assert 2 <= len(sizes) < 10
    assert all(harness.store.content(page.url) for page in pages)


@pytest.mark.parametrize(("waiting_bytes", "packs"), [(10_000, 1), (1_100_000, 2)])
def test_urgent_page_does_not_wait_for_a_large_pack(waiting_bytes, packs):
    """Putting 8 MB into a bucket took a quarter of a second."""
    harness = pack_harness(pack_wait_s=600)
    text = random.Random(1).randbytes(waiting_bytes).hex()[:waiting_bytes]
    others = [fetched(f"{A}{n}", f"{n} {text}") for n in range(2)]
    waiting = harness.store.pack_pages(others)
    urgent = harness.store.pack_pages([fetched(B, "urgent")], now=True)
    harness.store.write_pages(urgent.wait())

    assert harness.store.content(B).body == b"urgent"
    assert len(harness.names()) == 1
    harness.store.bodies.packs.writer.put_open()
    harness.store.write_pages(waiting.wait())
    assert len(harness.names()) == packs
    assert harness.store.content(f"{A}1").body == f"1 {text}".encode()


def test_open_pack_is_put_when_the_store_closes():
    harness = pack_harness(pack_wait_s=600)
    packing = harness.store.pack_pages([fetched(A, "text")])
    harness.store.bodies.packs.writer.close()

    harness.store.write_pages(packing.wait())
    assert harness.store.content(A).body == b"text"


def test_unchanged_body_becomes_a_revisit_and_stays_in_place():
    harness = pack_harness()
    harness.store.write_pages([fetched(A, "same")])
    before = pointer_of(harness.store.zen.nodes.get(node_id(A)))
    packing = harness.store.pack_pages([fetched(A, "same", NOW_MS + 1000)], now=True)
    harness.store.write_pages(packing.wait())

    row = harness.store.zen.nodes.get(node_id(A))
    assert pointer_of(row) == before
    assert row[nodes.CONTENT_HASH].at_ms == NOW_MS + 1000
    assert b"WARC-Type: revisit" in harness.everything()
    assert harness.store.content(A).body == b"same"


def test_repeated_batch_writes_no_record():
    harness = pack_harness()
    harness.store.write_pages([fetched(A, "text")])
    packing = harness.store.pack_pages([fetched(A, "text")], now=True)
    harness.store.write_pages(packing.wait())

    assert len(harness.names()) == 1


def test_pages_in_objects_are_readable_and_move_to_packs_when_changed():
    harness = pack_harness()
    objects = harness.reopened(layout="objects")
    objects.store.write_pages([fetched(A, "old"), fetched(B, "stays")])
    harness.store.write_pages([fetched(A, "new", NOW_MS + 1), fetched(B, "stays", NOW_MS + 1)])

    assert (harness.store.content(A).body, harness.store.content(B).body) == (b"new", b"stays")
    assert list(harness.content.keys()) == [harness.store.get(B).content_key]
    assert nodes.CONTENT_KEY not in harness.store.zen.nodes.get(node_id(A))


def test_pages_in_packs_are_readable_and_move_to_objects_when_changed():
    harness = pack_harness()
    harness.store.write_pages([fetched(A, "old")])
    objects = harness.reopened(layout="objects")
    assert objects.store.content(A).body == b"old"
    objects.store.write_pages([fetched(A, "new", NOW_MS + 1)])

    assert objects.store.content(A).body == b"new"
    assert len(list(harness.content.keys())) == 1


def test_damage_in_a_pack_is_detected(files):
    harness = pack_harness(files=Memory())
    harness.store.write_pages([fetched(A, "text")])
    (name,) = harness.names()
    data = harness.files.read_all(name)
    harness.files.put(name, data[:-20] + b"x" + data[-19:], b"")

    with pytest.raises(CorruptContent, match="do not match their pointer"):
        harness.store.content(A)
    harness.files.delete(name)
    with pytest.raises(CorruptContent, match="is missing"):
        harness.store.content(A)


def test_failed_pack_writes_no_page():
    class Full(Memory):
        def put(self, name, data, index):
            raise ContentUnavailable("folder", "the disk is full")

    harness = pack_harness(files=Full())
    packing = harness.store.pack_pages([fetched(A, "text")], now=True)
    with pytest.raises(ContentUnavailable, match="the disk is full"):
        packing.wait()
    with pytest.raises(ContentUnavailable, match="the disk is full"):
        harness.store.write_pages([fetched(A, "text")])

    assert harness.store.get(A) is None


def test_closed_store_is_garbage_collected_with_its_files(tmp_path):
    """
    The pack writer stayed registered until the end of the process, with everything that it needs.
    """
    harness = pack_harness(SqliteTables(tmp_path / "tables", shards=1), pack_wait_s=600)
    packing = harness.store.pack_pages([fetched(A, "one")])
    writer = weakref.ref(harness.store.bodies.packs.writer)
    harness.store.close()
    packing.settle()
    assert harness.names()  # closing the writer put the open pack

    del harness, packing

    def is_freed():
        gc.collect()
        return writer() is None

    assert wait_until(is_freed, within_s=20, every_s=0.05)  # its thread ends first


def test_closed_writer_still_puts_later_packs_in_time():
    harness = pack_harness(pack_wait_s=0.05)
    for n in range(2):
        packing = harness.store.pack_pages([fetched(f"{A}{n}", f"text {n}")])
        harness.store.write_pages(packing.wait())
        packing.settle()
        harness.store.bodies.packs.writer.close()

    assert len(harness.names()) == 2


def test_fetched_body_is_stored_compressed_as_received(files):
    """
    Recompressing took two thirds of the time to store a large page. The writer does not look into
    the body, so the body may be damaged.
    """
    harness = pack_harness(files=files)
    page = fetched(A, "<p>the text of a page</p>" * 1000)
    damaged = page.content.body[:-1] + bytes([page.content.body[-1] ^ 1])  # its checksum
    harness.store.write_pages(
        [replace(page, content=replace(page.content, body=damaged, digest="of the fetch"))]
    )

    assert damaged in harness.files.read_all(harness.names()[0])
    assert harness.store.get(A, []).content_hash == "of the fetch"
    with pytest.raises(CorruptContent):
        harness.store.content(A)
