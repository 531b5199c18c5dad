"""
Fetched bodies are compressed with a dictionary of earlier pages, and no text of a deleted page stays
in it.
"""

import threading
from dataclasses import replace

import pytest

from aragog.errors import CorruptContent
from aragog.urlstore.bodies import pointer_of
from aragog.urlstore.compression import content_hash, dictionary_id
from aragog.urlstore.content import FolderPacks, MemoryPacks
from aragog.urlstore.dictionary_upkeep import DictionaryUpkeep
from aragog.urlstore.pack_groups import FreshPack
from aragog.urlstore.pack_upkeep import PackUpkeep
from aragog.urlstore.packs.catalog import FRESH
from tests.contract.test_pack_dictionaries import (
    HOST,
    OTHER,
    dictionary_bytes,
    pieces_of,
    site,
    size_of,
    text_of,
    unlike,
    write,
)
from tests.support.pack_harness import HOUR_MS, fetched, pack_harness
from tests.support.stores import NOW_MS, node_id

TAUGHT = 120
"""Pages that are written before the dictionary is trained, and other pages after that."""
LATER = range(1000, 1040)


@pytest.fixture(params=["memory", "folder", pytest.param("s3", marks=pytest.mark.s3)])
def files(request, tmp_path):
    if request.param == "memory":
        return MemoryPacks()
    if request.param == "folder":
        return FolderPacks(tmp_path / "content")
    from aragog.urlstore.content.s3_packs import S3Packs

    return S3Packs(request.getfixturevalue("s3_settings"))


def upkeep(harness, hours=0.0):
    """Run upkeep some hours later; it trains a dictionary on few pages."""
    harness.clock.advance_ms(int(hours * HOUR_MS))
    store = harness.store
    return PackUpkeep(store.zen, store.bodies, harness.clock, trained_on_bytes=300_000).run()


def shared(harness):
    return harness.store.bodies.packs.shared


def records(harness):
    return shared(harness).records


def fetch(harness, url, text, at_ms=NOW_MS):
    """A page as a fetch process sends it."""
    page, body = fetched(url, text, at_ms), text.encode()
    content = replace(
        page.content, body=harness.store.bodies.compress(body), digest=content_hash(body)
    )
    return replace(page, content=content)


def trained(files=None, **settings):
    """A store that has a dictionary from its first pages."""
    harness = pack_harness(files=MemoryPacks() if files is None else files, **settings)
    site(harness, pages=TAUGHT)
    assert upkeep(harness).rewritten == 0  # one pack of three is left for a rewrite by host
    shared(harness).refresh()
    return harness


def write_later(harness, pages=LATER):
    write(harness, [fetch(harness, f"{HOST}{n}", text_of(n)) for n in pages])


def taught_page(harness):
    """The number of a page whose text is in the dictionary."""
    (dictionary,) = set(dictionary_bytes(harness))
    return next(n for n in range(TAUGHT) if any(one in dictionary for one in pieces_of(n)))


def test_later_pages_are_stored_with_the_dictionary_and_not_compressed_again(files):
    harness = trained(files)
    before_bytes, before = size_of(harness), harness.names()

    write_later(harness)

    (name,) = set(harness.names()) - set(before)
    (dictionary,) = dictionary_bytes(harness)
    assert (size_of(harness) - before_bytes) / len(LATER) < 0.6 * before_bytes / TAUGHT
    again = harness.reopened()
    assert [again.store.content(f"{HOST}{n}").body for n in LATER] == [
        text_of(n).encode() for n in LATER
    ]
    for _ in range(3):
        upkeep(harness, hours=1)
    assert name in harness.names()
    (one,) = records(harness).all()
    assert one.trained_on <= set(harness.names())  # a takedown finds their pages
    assert not list(harness.store.bodies.packs.catalog.walk(FRESH))
    assert int.from_bytes(dictionary[4:8], "little") == records(harness).in_use()


def test_fetch_process_compresses_a_body_with_the_dictionary():
    harness = trained()
    bodies = harness.store.bodies

    blob = bodies.compress(text_of(7).encode())

    assert dictionary_id(blob) == records(harness).in_use() > 0
    assert len(blob) < len(fetched(HOST, text_of(7)).content.body) / 2
    assert bodies.decompress(blob) == text_of(7).encode()
    assert harness.reopened().store.bodies.decompress(blob) == text_of(7).encode()
    assert bodies.storable(blob) is blob


def test_takedown_of_a_page_erases_the_dictionary_from_all_packs(files):
    harness = trained(files)
    write_later(harness)
    waiting = harness.store.bodies.compress(b"a body in the spool")
    gone = taught_page(harness)
    harness.store.takedowns.take_down(url=f"{HOST}{gone}")

    for _ in range(24):
        upkeep(harness, hours=1)

    everything = harness.everything() + b"".join(dictionary_bytes(harness))
    assert not any(piece in everything for piece in pieces_of(gone))
    pages = [n for n in (*range(TAUGHT), *LATER) if n != gone]
    assert [harness.store.content(f"{HOST}{n}").body for n in pages] == [
        text_of(n).encode() for n in pages
    ]
    assert records(harness).in_use() == 0
    again = harness.reopened()
    assert again.store.bodies.readable(waiting) is None  # it is fetched again
    with pytest.raises(CorruptContent, match="was erased"):
        again.store.bodies.decompress(waiting)


def test_takedown_of_an_earlier_version_of_a_page_erases_the_dictionary():
    harness = trained()
    write_later(harness)
    gone = taught_page(harness)
    write(harness, [fetch(harness, f"{HOST}{gone}", "a new text", NOW_MS + 1)])
    for _ in range(3):
        upkeep(harness, hours=1)
    harness.store.takedowns.take_down(url=f"{HOST}{gone}")

    for _ in range(24):
        upkeep(harness, hours=1)

    everything = harness.everything() + b"".join(dictionary_bytes(harness))
    assert not any(piece in everything for piece in pieces_of(gone))


def test_half_dead_pack_stays_while_a_dictionary_of_its_pages_is_used():
    harness = trained()
    write_later(harness)
    (one,) = records(harness).all()
    for n in range(TAUGHT):
        write(harness, [fetch(harness, f"{HOST}{n}", f"new {n}", NOW_MS + 1)])

    for _ in range(3):
        upkeep(harness, hours=1)

    assert one.trained_on <= set(harness.names())


def test_pack_written_with_an_erased_dictionary_is_written_again():
    """A store process has the dictionary in memory, and bodies from the spool."""
    harness = trained()
    write_later(harness)
    late = harness.reopened()
    pages = [fetch(late, f"{HOST}{n}", text_of(n)) for n in (2000, 2001)]
    late.store.bodies.storable(pages[0].content.body)
    gone = taught_page(harness)
    harness.store.takedowns.take_down(url=f"{HOST}{gone}")
    for _ in range(24):
        upkeep(harness, hours=1)
    write(late, pages)
    assert dictionary_bytes(harness)

    for _ in range(24):
        upkeep(harness, hours=1)

    everything = harness.everything() + b"".join(dictionary_bytes(harness))
    assert not any(piece in everything for piece in pieces_of(gone))
    assert harness.store.content(f"{HOST}2000").body == text_of(2000).encode()


def test_pack_that_a_dictionary_is_trained_on_is_rewritten_in_between():
    """Another upkeep has chosen the pack for a rewrite before the dictionary was recorded."""
    from aragog.urlstore.pack_rewrite import PackRewriter

    harness = trained()
    (one,) = records(harness).all()
    PackRewriter(harness.store.zen, harness.store.bodies.packs).rewrite(list(one.trained_on)[:1])

    (one,) = records(harness).all()
    assert one.erased_ms is not None
    assert records(harness).in_use() == 0


def test_batch_with_and_without_a_dictionary_gets_its_pointers_in_order():
    harness = trained()
    pages = [
        (fetched if n % 2 else lambda *a: fetch(harness, *a))(f"{HOST}{n}", text_of(n))
        for n in range(3000, 3007)
    ]

    write(harness, pages)

    packs = [pointer_of(harness.store.zen.nodes.get(node_id(one.url))).pack for one in pages]
    assert len(set(packs)) == 2
    assert packs[::2] == [packs[0]] * 4
    for n in range(3000, 3007):
        assert harness.store.content(f"{HOST}{n}").body == text_of(n).encode()


def test_open_packs_with_and_without_a_dictionary_are_put_in_time():
    harness = trained(pack_wait_s=0.2)
    store = harness.store
    packing = [
        store.pack_pages([fetch(harness, f"{HOST}5000", text_of(5000))], urls=1),
        store.pack_pages([fetched(f"{HOST}5001", text_of(5001))], urls=1),
    ]
    assert store.bodies.packs.writer.waiting_urls() == 2

    written = []
    waiting = threading.Thread(target=lambda: written.extend(one.wait() for one in packing))
    waiting.start()
    waiting.join(10)

    assert len(written) == 2
    for pages, one in zip(written, packing, strict=True):
        store.write_pages(pages)
        one.settle()
    assert store.content(f"{HOST}5001").body == text_of(5001).encode()


def test_revisit_goes_into_the_pack_with_the_dictionary():
    harness = trained()
    write_later(harness)
    before = set(harness.names())
    at_ms = NOW_MS + 5000
    write(
        harness,
        [fetch(harness, f"{HOST}{n}", text_of(n), at_ms) for n in (1000, 1001)]
        + [fetch(harness, f"{HOST}4000", text_of(4000))],
    )

    assert len(set(harness.names()) - before) == 1


@pytest.mark.parametrize("options", [{"dictionaries": False}, {"pack_compression": "gzip"}])
def test_store_process_without_dictionaries_stores_bodies_without_one(options):
    harness = trained()
    blob = harness.store.bodies.compress(text_of(1).encode())
    without = harness.reopened(**options)

    plain = without.store.bodies.storable(blob)

    assert dictionary_id(plain) == 0
    assert without.store.bodies.compress(b"text") == fetched(HOST, "text").content.body
    page = fetched(f"{HOST}6000", text_of(1))
    write(without, [replace(page, content=replace(page.content, body=plain))])
    assert without.store.content(f"{HOST}6000").body == text_of(1).encode()


def test_no_dictionary_is_trained_if_it_would_save_too_little():
    harness = pack_harness()
    pages = [fetched(f"{HOST}{n}", unlike(n)) for n in range(80)]
    write(harness, pages)

    upkeep(harness)

    assert records(harness).in_use() == 0
    tried_ms = records(harness).tried_ms()
    assert tried_ms == harness.clock.now_ms()
    upkeep(harness, hours=0.1)
    assert records(harness).tried_ms() == tried_ms  # once in ten minutes


def test_no_dictionary_is_trained_on_pages_of_many_hosts():
    harness = pack_harness()
    write(harness, [fetched(f"http://h{n}.example/", text_of(n)) for n in range(80)])

    upkeep(harness)

    assert records(harness).tried_ms() == 0


def test_dictionary_is_not_used_any_more_when_other_sites_are_fetched():
    harness = trained()
    write(harness, [fetch(harness, f"{OTHER}{n}", unlike(n)) for n in range(40)])

    upkeep(harness, hours=1)

    assert records(harness).in_use() == 0
    assert [one.erased_ms for one in records(harness).all()] == [None]
    assert harness.reopened().store.content(f"{OTHER}3").body == unlike(3).encode()


@pytest.mark.parametrize(("most", "is_used"), [(2, False), (3, True)])
def test_dictionary_is_not_used_any_more_when_many_packs_have_it(most, is_used):
    harness = trained()
    write_later(harness)
    write_later(harness, range(1100, 1140))
    packs, in_use = harness.store.bodies.packs, records(harness).in_use()
    group = [
        FreshPack(name, packs.catalog.size(name), 0, {}, in_use)
        for name in records(harness).packs_with(in_use)
    ]
    checking = DictionaryUpkeep(harness.store.zen, packs, harness.clock, max_packs=most)

    checking.check(group)

    assert bool(records(harness).in_use()) is is_used


def test_packs_of_a_crawl_that_ended_are_rewritten_by_host():
    harness = trained()
    before_bytes = size_of(harness)

    upkeep(harness, hours=0.5)
    assert len(records(harness).all()) == 1
    for _ in range(3):
        upkeep(harness, hours=1)

    assert records(harness).all() == []
    assert records(harness).in_use() == 0
    assert size_of(harness) < 0.75 * before_bytes
    assert harness.store.content(f"{HOST}7").body == text_of(7).encode()


def test_erased_dictionary_is_forgotten_after_a_week():
    harness = trained()
    write_later(harness)
    (one,) = records(harness).all()
    records(harness).erase(one.id)
    for _ in range(24):
        upkeep(harness, hours=1)
    assert records(harness).is_known(one.id)

    upkeep(harness, hours=24 * 7)

    assert records(harness).all() == []


def test_no_dictionary_is_trained_on_packs_of_a_crawl_that_ended():
    harness = pack_harness()
    site(harness)

    upkeep(harness, hours=0.5)

    assert records(harness).tried_ms() == 0


def test_dictionary_of_which_the_record_is_lost_is_erased_by_repair_and_upkeep():
    harness = trained()
    write_later(harness)
    (one,) = records(harness).all()
    records(harness).forget(one.id)
    harness.clock.advance_ms(3_600_000)

    harness.store.maintenance.repair(wait=False)
    for _ in range(24):
        upkeep(harness, hours=1)

    ids = {int.from_bytes(data[4:8], "little") for data in dictionary_bytes(harness)}
    assert one.id not in ids
    assert harness.store.content(f"{HOST}1003").body == text_of(1003).encode()


def test_entry_of_a_pack_with_a_dictionary_is_restored_by_repair():
    harness = trained()
    write_later(harness)
    (one,) = records(harness).all()
    (pack,) = records(harness).packs_with(one.id)
    harness.store.bodies.packs.catalog.forget(pack)
    assert list(records(harness).packs_with(one.id)) == []

    PackUpkeep(harness.store.zen, harness.store.bodies, harness.clock).inspect(pack)

    assert list(records(harness).packs_with(one.id)) == [pack]
    assert harness.store.bodies.packs.catalog.dictionary(pack) == one.id


def test_process_keeps_its_dictionary_while_the_store_does_not_respond():
    from aragog.errors import StoreUnavailable

    harness = trained()
    before = harness.store.bodies.compress(b"text " * 100)

    def fail():
        raise StoreUnavailable("sqlite", "does not respond")

    records(harness).in_use = fail
    shared(harness).refresh()

    assert harness.store.bodies.compress(b"text " * 100) == before
