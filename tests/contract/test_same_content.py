"""Identical bodies of a host are stored once, and pages are found by what they are like."""

import hashlib
from dataclasses import replace

import pytest

from aragog.errors import BadInput
from aragog.urlstore import nodes
from aragog.urlstore.bodies import pointer_of, records_of, shared_of
from aragog.urlstore.packing import MAX_SHARING
from aragog.urlstore.packs.catalog import MOVED
from aragog.urlstore.records import Likeness
from richpins.fingerprint import distance, fingerprint_of
from richpins.text_sketch import sketch_of
from tests.support.pack_stand import fetched, pack_stand
from tests.support.stores import NOW_MS, node_id

HOST = "http://a.example/"
A, B, C = (f"{HOST}{name}" for name in ("first", "second", "third"))
OTHER_HOST = "http://b.example/first"
TEXT = "<p>the body that several pages have</p>" * 60


def liked(url, text=TEXT, at_ms=NOW_MS, words="", **more):
    """A fetch with what its page is compared by."""
    likeness = Likeness(hashlib.sha256(text.encode()).hexdigest()[:16], sketch_of(words))
    return replace(fetched(url, text, at_ms, **more), likeness=likeness)


def write(stand, *pages):
    packing = stand.store.pack_pages(pages, now=True)
    written = stand.store.write_pages(packing.wait())
    packing.settle()
    return written


def node(stand, url):
    return stand.store.zen.nodes.get(node_id(url))


def whose(stand, url):
    row = node(stand, url)
    shared = shared_of(row, pointer_of(row))
    return None if shared is None else shared.url


def bodies_in(stand):
    """How many records of the bucket have the text."""
    return stand.everything().count(TEXT.encode())


def test_a_body_that_the_host_has_is_stored_once():
    stand = pack_stand()
    (first,), (second,) = write(stand, liked(A)), write(stand, liked(B))

    assert (first.same_as, second.same_as) == (None, A)
    assert bodies_in(stand) == 1
    assert stand.store.content(B).body == TEXT.encode()
    assert stand.store.content(B).url == B
    assert b"WARC-Refers-To-Target-URI: " + A.encode() in stand.everything()


def test_another_host_stores_the_body_again():
    stand = pack_stand()
    write(stand, liked(A))

    (other,) = write(stand, liked(OTHER_HOST))

    assert other.same_as is None
    assert bodies_in(stand) == 2


def test_a_small_body_is_stored_again():
    stand = pack_stand()
    write(stand, liked(A, "small"))

    assert write(stand, liked(B, "small"))[0].same_as is None


def test_an_unchanged_page_names_the_original_again():
    stand = pack_stand()
    write(stand, liked(A))
    write(stand, liked(B))
    (again,) = write(stand, liked(B, at_ms=NOW_MS + 1000))

    assert again.same_as is None
    assert whose(stand, B) == A
    assert stand.everything().count(b"WARC-Refers-To-Target-URI: " + A.encode()) == 2


def test_a_takedown_of_the_page_with_the_bytes_leaves_them_to_the_other_alone():
    stand = pack_stand()
    write(stand, liked(A))
    write(stand, liked(B))
    stand.store.takedowns.take_down(url=A)

    assert stand.store.content(A) is None
    assert stand.store.content(B).body == TEXT.encode()
    for _ in range(24):
        stand.upkeep(hours=1)
    assert A.encode() not in stand.everything()
    assert bodies_in(stand) == 1
    assert stand.store.content(B).body == TEXT.encode()
    assert whose(stand, B) is None


def test_a_takedown_of_both_leaves_no_bytes():
    stand = pack_stand()
    write(stand, liked(A))
    write(stand, liked(B))
    stand.store.takedowns.take_down(url=A)
    for _ in range(24):
        stand.upkeep(hours=1)
    stand.store.takedowns.take_down(url=B)
    for _ in range(24):
        stand.upkeep(hours=1)

    assert bodies_in(stand) == 0
    assert HOST.encode() not in stand.everything()


def test_a_takedown_of_a_page_that_shares_leaves_the_record_of_the_other_as_it_is():
    stand = pack_stand()
    write(stand, liked(A))
    before = pointer_of(node(stand, A))
    write(stand, liked(B))
    stand.store.takedowns.take_down(url=B)
    for _ in range(24):
        stand.upkeep(hours=1)

    assert pointer_of(node(stand, A)) == before
    assert B.encode() not in stand.everything()
    assert stand.store.content(A).body == TEXT.encode()


@pytest.mark.parametrize("remove", ["remove", "withdraw"])
def test_what_a_removed_page_had_stays_for_the_other(remove):
    stand = pack_stand()
    write(stand, liked(A))
    write(stand, liked(B))
    if remove == "remove":
        stand.store.remove(A)
    else:
        write(stand, replace(fetched(A, "", NOW_MS + 1), content=None, withdrawn=True))
    for _ in range(24):
        stand.upkeep(hours=1)

    assert A.encode() not in stand.everything()
    assert stand.store.content(B).body == TEXT.encode()


def test_a_body_stays_when_the_page_that_sent_it_has_another_one():
    stand = pack_stand()
    write(stand, liked(A), *(liked(f"{HOST}{n}", f"{n} {TEXT}") for n in range(3)))
    write(stand, liked(B))
    write(stand, liked(A, "new" * 1000, NOW_MS + 1),
          *(liked(f"{HOST}{n}", f"new {n}", NOW_MS + 1) for n in range(3)))  # fmt: skip
    for _ in range(3):
        stand.upkeep(hours=1)

    assert stand.store.content(B).body == TEXT.encode()
    assert whose(stand, B) is None
    stand.store.takedowns.take_down(url=A)
    for _ in range(24):
        stand.upkeep(hours=1)
    assert f"{A}\r\n".encode() not in stand.everything()
    assert stand.store.content(B).body == TEXT.encode()


def test_a_pack_that_was_moved_before_its_page_was_written_is_not_pointed_to():
    stand = pack_stand()
    write(stand, liked(A))
    packing = stand.store.pack_pages([liked(B)], now=True)
    pages = packing.wait()
    write(stand, liked(A, "new" * 1000, NOW_MS + 1))
    stand.upkeep()  # the pack is all dead, and goes at once

    stand.store.write_pages(pages)
    packing.settle()

    assert stand.store.content(B).body == TEXT.encode()
    assert whose(stand, B) is None


def test_a_batch_that_was_killed_before_it_looked_finds_that_its_pack_went():
    stand = pack_stand()
    write(stand, liked(A))
    packing = stand.store.pack_pages([liked(B)], now=True)
    stand.store.write_pages(packing.wait())
    pack = pointer_of(node(stand, B)).pack
    stand.store.bodies.packs.catalog.moved(pack)  # as if it had read the nodes before

    write(stand, liked(B))

    assert pointer_of(node(stand, B)).pack != pack
    assert whose(stand, B) is None


def test_the_last_look_before_a_pack_is_deleted_finds_who_shares_it():
    stand = pack_stand()
    write(stand, liked(A))
    write(stand, liked(B))
    pack = pointer_of(node(stand, B)).pack
    stand.store.bodies.packs.catalog.moved(pack)  # a rewrite that read the node of B too early

    for _ in range(3):
        stand.upkeep(hours=1)

    assert pack not in stand.names()
    assert not stand.store.bodies.packs.catalog.row(MOVED, pack)
    assert stand.store.content(B).body == TEXT.encode()


def test_a_version_that_was_shared_is_kept():
    stand = pack_stand(keep_versions=1)
    write(stand, liked(A))
    write(stand, liked(B))
    write(stand, liked(B, "later" * 1000, NOW_MS + 1000))

    assert stand.store.content(B, at_ms=NOW_MS).body == TEXT.encode()


def test_a_crowded_pack_lends_no_more():
    stand = pack_stand()
    write(stand, liked(A))
    pointer = pointer_of(node(stand, A))
    for n in range(MAX_SHARING - 1):
        stand.store.bodies.packs.catalog.share(pointer, f"{HOST}other/{n}")
    written = [write(stand, liked(f"{HOST}{n}"))[0].same_as for n in range(4)]

    assert written == [A, None, f"{HOST}1", f"{HOST}1"]


def test_what_is_taken_down_lends_nothing():
    stand = pack_stand()
    write(stand, liked(A))
    stand.store.takedowns.take_down(url=A)

    assert write(stand, liked(B))[0].same_as is None


def urls(page):
    return sorted(one.url for one in page.items)


@pytest.mark.parametrize("layout", ["packs", "objects"])
def test_readers_find_the_pages_with_the_same_body(layout):
    stand = pack_stand(layout=layout)
    for url in (A, B, OTHER_HOST):
        write(stand, liked(url))
    write(stand, liked(C, "another"))

    assert urls(stand.store.same.page(A)) == [B]
    assert urls(stand.store.same.page(C)) == []
    assert urls(stand.store.same.page(f"{HOST}unknown")) == []
    write(stand, liked(B, "changed", NOW_MS + 1))
    assert urls(stand.store.same.page(A)) == []
    write(stand, liked(B, TEXT, NOW_MS + 2))
    assert urls(stand.store.same.page(A)) == [B]
    stand.store.takedowns.take_down(url=B)
    assert urls(stand.store.same.page(A)) == []


WORDS = [f"word{n}" for n in range(400)]


def test_near_copies_are_found_by_the_distance_of_their_fingerprints():
    near = [*WORDS[:200], "changed", *WORDS[201:]]
    stand = pack_stand()
    write(stand, liked(A, "a", words=" ".join(WORDS)))
    write(stand, liked(B, "b", words=" ".join(near)))
    write(stand, liked(C, "c", words=" ".join(reversed(WORDS))))

    assert urls(stand.store.same.page(A)) == []
    (found,) = stand.store.same.page(A, within=3).items
    bits = distance(
        fingerprint_of(sketch_of(" ".join(WORDS))), fingerprint_of(sketch_of(" ".join(near)))
    )
    assert (found.url, found.is_identical, found.distance) == (B, False, bits)
    assert bits <= 3
    assert urls(stand.store.same.page(A, within=0)) == ([B] if bits == 0 else [])


@pytest.mark.parametrize("within", [None, 3])
def test_a_list_continues_behind_its_cursor(within):
    stand = pack_stand()
    for n in range(12):
        write(stand, liked(f"{HOST}{n}"))
    write(stand, liked(OTHER_HOST))

    found, cursor = [], None
    while True:
        part = stand.store.same.page(f"{HOST}0", within=within, limit=3, cursor=cursor)
        assert len(part.items) <= 3
        found += urls(part)
        if (cursor := part.cursor) is None:
            break

    assert sorted(found) == sorted(f"{HOST}{n}" for n in range(1, 12))


@pytest.mark.parametrize("more", [{"within": 4}, {"within": -1}, {"cursor": "x"}, {"cursor": "00"}])
def test_what_no_caller_may_ask_is_refused(more):
    with pytest.raises(BadInput):
        pack_stand().store.same.page(A, **more)


def test_repair_enters_pages_of_stores_without_the_index():
    stand = pack_stand()
    write(stand, liked(A))
    write(stand, liked(B))
    for bucket in range(16):
        for name, row in list(stand.store.zen.registry.walk(bytes([bucket]) + b"same\0")):
            stand.store.zen.registry.delete(name, at_ms=max(c.at_ms for c in row.values()))
    assert urls(stand.store.same.page(A)) == []

    report = stand.store.maintenance.repair(wait=lambda _: None)

    assert report.repaired["entry of a body missing"] == 2
    assert urls(stand.store.same.page(A)) == [B]


def test_no_entry_of_a_page_that_was_taken_down_stays():
    stand = pack_stand()
    write(stand, liked(A))
    stand.store.takedowns.take_down(url=A)

    left = [row for bucket in range(16)
            for row in stand.store.zen.registry.walk(bytes([bucket]) + b"same\0")]  # fmt: skip
    assert left == []


def test_a_node_knows_the_record_that_it_shares():
    stand = pack_stand()
    write(stand, liked(A))
    write(stand, liked(B))

    kinds = [kind for _, kind, _ in records_of(node(stand, B))]
    assert sorted(kinds) == [b"revisit", b"shared"]
    assert nodes.CONTENT_PACK in node(stand, B)
