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
from tests.support.pack_stand import fetched, pack_stand
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
    files.delete(PACK)
    files.delete(PACK)

    assert files.read(PACK, 0, 1) is None
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
    stand = pack_stand(files=files, pack_compression=compression)
    stand.store.write_pages([fetched(A, "the text"), fetched(B, "another")])

    content = stand.store.content(A)
    assert content.body == b"the text"
    assert content.meta["url"] == A
    assert content.meta["status"] == "200"
    assert '["Content-Encoding","gzip"]' in content.meta["headers"]
    assert stand.store.content(B).body == b"another"
    assert len(stand.names()) == 1


def test_content_put_by_an_application_keeps_its_metadata(files):
    stand = pack_stand(files=files)
    stand.store.put_content(A, b"mine", {"content_type": "text/plain", "é": "ü\r\nWARC-Type: x"})

    content = stand.store.content(A)
    assert content.body == b"mine"
    assert content.meta["é"] == "ü\r\nWARC-Type: x"
    assert content.meta["content_type"] == "text/plain"


def test_newer_page_replaces_an_older_one_in_any_order(files):
    stand = pack_stand(files=files)
    for at_ms, text in ((NOW_MS, "first"), (NOW_MS + 10, "second"), (NOW_MS + 5, "late")):
        stand.store.write_pages([fetched(A, text, at_ms)])

    assert stand.store.content(A).body == b"second"


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_two_writers_of_a_page_leave_the_newest_in_any_order(order):
    stand = pack_stand()
    other = stand.reopened()
    packing = [
        store.pack_pages([fetched(A, f"text {n}", NOW_MS + n)], now=True)
        for n, store in enumerate((stand.store, other.store, stand.store))
    ]
    for n in order:
        (stand.store, other.store)[n % 2].write_pages(packing[n].wait())
        packing[n].settle()

    assert stand.store.content(A).body == b"text 2"


def test_bodies_of_many_batches_share_a_pack():
    stand = pack_stand(pack_wait_s=0.3)
    packing = [
        stand.store.pack_pages([fetched(f"{A}{n}/{m}", f"{n} {m}") for m in range(3)])
        for n in range(4)
    ]
    for one in packing:
        stand.store.write_pages(one.wait())
        one.settle()

    assert len(stand.names()) == 1
    assert stand.store.content(f"{A}2/1").body == b"2 1"
    assert stand.upkeep(hours=48).rewritten == 0


def test_full_pack_is_closed():
    stand = pack_stand(pack_wait_s=600, pack_bytes=2_000)
    pages = [fetched(f"{A}{n}", f"{n}") for n in range(10)]
    packing = [stand.store.pack_pages([page]) for page in pages[:9]]
    packing.append(stand.store.pack_pages(pages[9:], now=True))
    for one in packing:
        stand.store.write_pages(one.wait())

    sizes = [file.size for file in stand.files.packs()]
    assert 2 <= len(sizes) < 10
    assert all(stand.store.content(page.url) for page in pages)


@pytest.mark.parametrize(("waiting_bytes", "packs"), [(10_000, 1), (1_100_000, 2)])
def test_urgent_page_does_not_wait_for_a_large_pack(waiting_bytes, packs):
    """Putting 8 MB into a bucket took a quarter of a second."""
    stand = pack_stand(pack_wait_s=600)
    text = random.Random(1).randbytes(waiting_bytes).hex()[:waiting_bytes]
    others = [fetched(f"{A}{n}", f"{n} {text}") for n in range(2)]
    waiting = stand.store.pack_pages(others)
    urgent = stand.store.pack_pages([fetched(B, "urgent")], now=True)
    stand.store.write_pages(urgent.wait())

    assert stand.store.content(B).body == b"urgent"
    assert len(stand.names()) == 1
    stand.store.bodies.packs.writer.put_open()
    stand.store.write_pages(waiting.wait())
    assert len(stand.names()) == packs
    assert stand.store.content(f"{A}1").body == f"1 {text}".encode()


def test_open_pack_is_put_when_the_store_closes():
    stand = pack_stand(pack_wait_s=600)
    packing = stand.store.pack_pages([fetched(A, "text")])
    stand.store.bodies.packs.writer.close()

    stand.store.write_pages(packing.wait())
    assert stand.store.content(A).body == b"text"


def test_unchanged_body_becomes_a_revisit_and_stays_in_place():
    stand = pack_stand()
    stand.store.write_pages([fetched(A, "same")])
    before = pointer_of(stand.store.zen.nodes.get(node_id(A)))
    packing = stand.store.pack_pages([fetched(A, "same", NOW_MS + 1000)], now=True)
    stand.store.write_pages(packing.wait())

    row = stand.store.zen.nodes.get(node_id(A))
    assert pointer_of(row) == before
    assert row[nodes.CONTENT_HASH].at_ms == NOW_MS + 1000
    assert b"WARC-Type: revisit" in stand.everything()
    assert stand.store.content(A).body == b"same"


def test_repeated_batch_writes_no_record():
    stand = pack_stand()
    stand.store.write_pages([fetched(A, "text")])
    packing = stand.store.pack_pages([fetched(A, "text")], now=True)
    stand.store.write_pages(packing.wait())

    assert len(stand.names()) == 1


def test_pages_in_objects_are_readable_and_move_to_packs_when_changed():
    stand = pack_stand()
    objects = stand.reopened(layout="objects")
    objects.store.write_pages([fetched(A, "old"), fetched(B, "stays")])
    stand.store.write_pages([fetched(A, "new", NOW_MS + 1), fetched(B, "stays", NOW_MS + 1)])

    assert (stand.store.content(A).body, stand.store.content(B).body) == (b"new", b"stays")
    assert list(stand.content.keys()) == [stand.store.get(B).content_key]
    assert nodes.CONTENT_KEY not in stand.store.zen.nodes.get(node_id(A))


def test_pages_in_packs_are_readable_and_move_to_objects_when_changed():
    stand = pack_stand()
    stand.store.write_pages([fetched(A, "old")])
    objects = stand.reopened(layout="objects")
    assert objects.store.content(A).body == b"old"
    objects.store.write_pages([fetched(A, "new", NOW_MS + 1)])

    assert objects.store.content(A).body == b"new"
    assert len(list(stand.content.keys())) == 1


def test_damage_in_a_pack_is_detected(files):
    stand = pack_stand(files=Memory())
    stand.store.write_pages([fetched(A, "text")])
    (name,) = stand.names()
    data = stand.files.read_all(name)
    stand.files.put(name, data[:-20] + b"x" + data[-19:], b"")

    with pytest.raises(CorruptContent, match="do not match their pointer"):
        stand.store.content(A)
    stand.files.delete(name)
    with pytest.raises(CorruptContent, match="is missing"):
        stand.store.content(A)


def test_failed_pack_writes_no_page():
    class Full(Memory):
        def put(self, name, data, index):
            raise ContentUnavailable("folder", "the disk is full")

    stand = pack_stand(files=Full())
    packing = stand.store.pack_pages([fetched(A, "text")], now=True)
    with pytest.raises(ContentUnavailable, match="the disk is full"):
        packing.wait()
    with pytest.raises(ContentUnavailable, match="the disk is full"):
        stand.store.write_pages([fetched(A, "text")])

    assert stand.store.get(A) is None


def test_closed_store_is_garbage_collected_with_its_files(tmp_path):
    """
    The pack writer stayed registered until the end of the process, with everything that it needs.
    """
    stand = pack_stand(SqliteTables(tmp_path / "tables", shards=1), pack_wait_s=600)
    packing = stand.store.pack_pages([fetched(A, "one")])
    writer = weakref.ref(stand.store.bodies.packs.writer)
    stand.store.close()
    packing.settle()
    assert stand.names()  # closing the writer put the open pack

    del stand, packing

    def is_freed():
        gc.collect()
        return writer() is None

    assert wait_until(is_freed, within_s=20, every_s=0.05)  # its thread ends first


def test_closed_writer_still_puts_later_packs_in_time():
    stand = pack_stand(pack_wait_s=0.05)
    for n in range(2):
        packing = stand.store.pack_pages([fetched(f"{A}{n}", f"text {n}")])
        stand.store.write_pages(packing.wait())
        packing.settle()
        stand.store.bodies.packs.writer.close()

    assert len(stand.names()) == 2


def test_fetched_body_is_stored_compressed_as_received(files):
    """
    Recompressing took two thirds of the time to store a large page. The writer does not look into
    the body, so the body may be damaged.
    """
    stand = pack_stand(files=files)
    page = fetched(A, "<p>the text of a page</p>" * 1000)
    damaged = page.content.body[:-1] + bytes([page.content.body[-1] ^ 1])  # its checksum
    stand.store.write_pages(
        [replace(page, content=replace(page.content, body=damaged, digest="of the fetch"))]
    )

    assert damaged in stand.files.read_all(stand.names()[0])
    assert stand.store.get(A, []).content_hash == "of the fetch"
    with pytest.raises(CorruptContent):
        stand.store.content(A)
