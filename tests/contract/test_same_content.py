"""Identical bodies on a host are stored once, and pages are found by similarity."""

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
from tests.support.pack_harness import fetched, pack_harness
from tests.support.stores import NOW_MS, node_id

HOST = "http://a.example/"
A, B, C = (f"{HOST}{name}" for name in ("first", "second", "third"))
OTHER_HOST = "http://b.example/first"
TEXT = "<p>the body that several pages have</p>" * 60


def with_likeness(url, text=TEXT, at_ms=NOW_MS, words="", **more):
    """A fetch with the values by which its page is compared."""
    likeness = Likeness(hashlib.sha256(text.encode()).hexdigest()[:16], sketch_of(words))
    return replace(fetched(url, text, at_ms, **more), likeness=likeness)


def write(harness, *pages):
    packing = harness.store.pack_pages(pages, now=True)
    written = harness.store.write_pages(packing.wait())
    packing.settle()
    return written


def node(harness, url):
    return harness.store.zen.nodes.get(node_id(url))


def original_of(harness, url):
    row = node(harness, url)
    shared = shared_of(row, pointer_of(row))
    return None if shared is None else shared.url


def bodies_in(harness):
    """The number of records in the bucket that contain the text."""
    return harness.everything().count(TEXT.encode())


def test_repeated_body_on_a_host_is_stored_once():
    harness = pack_harness()
    (first,), (second,) = write(harness, with_likeness(A)), write(harness, with_likeness(B))

    assert (first.same_as, second.same_as) == (None, A)
    assert bodies_in(harness) == 1
    assert harness.store.content(B).body == TEXT.encode()
    assert harness.store.content(B).url == B
    assert b"WARC-Refers-To-Target-URI: " + A.encode() in harness.everything()


def test_pages_with_one_canonical_url_and_different_bodies_keep_their_own():
    """One of them got the body that another page of the host shares with the other one."""
    harness = pack_harness()
    write(harness, with_likeness(B))
    other = "<p>another body</p>" * 100
    pages = [
        replace(with_likeness(f"{A}?n={n}", text, NOW_MS + n), canonical_url=A)
        for n, text in ((1, TEXT), (2, other))
    ]

    packing = harness.store.pack_pages([pages[1], pages[0]], now=True)

    contents = {page.url: page.content for page in packing.wait()}
    assert contents[pages[1].url].packed.shared is None
    read = harness.store.bodies.read(contents[pages[1].url].packed.pointer)
    assert read.body == other.encode()


def test_another_host_stores_its_own_copy():
    harness = pack_harness()
    write(harness, with_likeness(A))

    (other,) = write(harness, with_likeness(OTHER_HOST))

    assert other.same_as is None
    assert bodies_in(harness) == 2


def test_small_body_is_stored_again():
    harness = pack_harness()
    write(harness, with_likeness(A, "small"))

    assert write(harness, with_likeness(B, "small"))[0].same_as is None


def test_unchanged_page_still_refers_to_the_original():
    harness = pack_harness()
    write(harness, with_likeness(A))
    write(harness, with_likeness(B))
    (again,) = write(harness, with_likeness(B, at_ms=NOW_MS + 1000))

    assert again.same_as is None
    assert original_of(harness, B) == A
    assert harness.everything().count(b"WARC-Refers-To-Target-URI: " + A.encode()) == 2


def test_takedown_of_the_original_leaves_its_bytes_to_the_copy():
    harness = pack_harness()
    write(harness, with_likeness(A))
    write(harness, with_likeness(B))
    harness.store.takedowns.take_down(url=A)

    assert harness.store.content(A) is None
    assert harness.store.content(B).body == TEXT.encode()
    for _ in range(24):
        harness.upkeep(hours=1)
    assert A.encode() not in harness.everything()
    assert bodies_in(harness) == 1
    assert harness.store.content(B).body == TEXT.encode()
    assert original_of(harness, B) is None


def test_takedown_of_both_leaves_no_bytes():
    harness = pack_harness()
    write(harness, with_likeness(A))
    write(harness, with_likeness(B))
    harness.store.takedowns.take_down(url=A)
    for _ in range(24):
        harness.upkeep(hours=1)
    harness.store.takedowns.take_down(url=B)
    for _ in range(24):
        harness.upkeep(hours=1)

    assert bodies_in(harness) == 0
    assert HOST.encode() not in harness.everything()


def test_takedown_of_the_copy_leaves_the_original_record_unchanged():
    harness = pack_harness()
    write(harness, with_likeness(A))
    before = pointer_of(node(harness, A))
    write(harness, with_likeness(B))
    harness.store.takedowns.take_down(url=B)
    for _ in range(24):
        harness.upkeep(hours=1)

    assert pointer_of(node(harness, A)) == before
    assert B.encode() not in harness.everything()
    assert harness.store.content(A).body == TEXT.encode()


@pytest.mark.parametrize("remove", ["remove", "withdraw"])
def test_removed_page_leaves_its_body_to_the_copy(remove):
    harness = pack_harness()
    write(harness, with_likeness(A))
    write(harness, with_likeness(B))
    if remove == "remove":
        harness.store.remove(A)
    else:
        write(harness, replace(fetched(A, "", NOW_MS + 1), content=None, withdrawn=True))
    for _ in range(24):
        harness.upkeep(hours=1)

    assert A.encode() not in harness.everything()
    assert harness.store.content(B).body == TEXT.encode()


def test_copy_keeps_its_body_when_the_original_page_changes():
    harness = pack_harness()
    write(
        harness, with_likeness(A), *(with_likeness(f"{HOST}{n}", f"{n} {TEXT}") for n in range(3))
    )
    write(harness, with_likeness(B))
    write(harness, with_likeness(A, "new" * 1000, NOW_MS + 1),
          *(with_likeness(f"{HOST}{n}", f"new {n}", NOW_MS + 1) for n in range(3)))  # fmt: skip
    for _ in range(3):
        harness.upkeep(hours=1)

    assert harness.store.content(B).body == TEXT.encode()
    assert original_of(harness, B) is None
    harness.store.takedowns.take_down(url=A)
    for _ in range(24):
        harness.upkeep(hours=1)
    assert f"{A}\r\n".encode() not in harness.everything()
    assert harness.store.content(B).body == TEXT.encode()


def test_page_does_not_point_to_a_pack_moved_before_its_write():
    harness = pack_harness()
    write(harness, with_likeness(A))
    packing = harness.store.pack_pages([with_likeness(B)], now=True)
    pages = packing.wait()
    write(harness, with_likeness(A, "new" * 1000, NOW_MS + 1))
    harness.upkeep()  # the pack is all dead and is deleted at once

    harness.store.write_pages(pages)
    packing.settle()

    assert harness.store.content(B).body == TEXT.encode()
    assert original_of(harness, B) is None


def test_batch_delayed_before_its_lookup_notices_that_its_pack_was_deleted():
    harness = pack_harness()
    write(harness, with_likeness(A))
    packing = harness.store.pack_pages([with_likeness(B)], now=True)
    harness.store.write_pages(packing.wait())
    pack = pointer_of(node(harness, B)).pack
    harness.store.bodies.packs.catalog.record_unused(pack)  # as if it had read the nodes before

    write(harness, with_likeness(B))

    assert pointer_of(node(harness, B)).pack != pack
    assert original_of(harness, B) is None


def test_final_check_before_deleting_a_pack_finds_the_pages_that_share_it():
    harness = pack_harness()
    write(harness, with_likeness(A))
    write(harness, with_likeness(B))
    pack = pointer_of(node(harness, B)).pack
    harness.store.bodies.packs.catalog.record_unused(
        pack
    )  # a rewrite that read the node of B too early

    for _ in range(3):
        harness.upkeep(hours=1)

    assert pack not in harness.names()
    assert not harness.store.bodies.packs.catalog.row(MOVED, pack)
    assert harness.store.content(B).body == TEXT.encode()


def test_version_with_a_shared_body_is_kept():
    harness = pack_harness(keep_versions=1)
    write(harness, with_likeness(A))
    write(harness, with_likeness(B))
    write(harness, with_likeness(B, "later" * 1000, NOW_MS + 1000))

    assert harness.store.content(B, at_ms=NOW_MS).body == TEXT.encode()


def test_record_with_too_many_copies_is_no_longer_shared():
    harness = pack_harness()
    write(harness, with_likeness(A))
    pointer = pointer_of(node(harness, A))
    for n in range(MAX_SHARING - 1):
        harness.store.bodies.packs.catalog.share(pointer, f"{HOST}other/{n}")
    written = [write(harness, with_likeness(f"{HOST}{n}"))[0].same_as for n in range(4)]

    assert written == [A, None, f"{HOST}1", f"{HOST}1"]


def test_page_taken_down_is_not_used_as_an_original():
    harness = pack_harness()
    write(harness, with_likeness(A))
    harness.store.takedowns.take_down(url=A)

    assert write(harness, with_likeness(B))[0].same_as is None


def urls(page):
    return sorted(one.url for one in page.items)


@pytest.mark.parametrize("layout", ["packs", "objects"])
def test_pages_with_the_same_body_are_found(layout):
    harness = pack_harness(layout=layout)
    for url in (A, B, OTHER_HOST):
        write(harness, with_likeness(url))
    write(harness, with_likeness(C, "another"))

    assert urls(harness.store.same.page(A)) == [B]
    assert urls(harness.store.same.page(C)) == []
    assert urls(harness.store.same.page(f"{HOST}unknown")) == []
    write(harness, with_likeness(B, "changed", NOW_MS + 1))
    assert urls(harness.store.same.page(A)) == []
    write(harness, with_likeness(B, TEXT, NOW_MS + 2))
    assert urls(harness.store.same.page(A)) == [B]
    harness.store.takedowns.take_down(url=B)
    assert urls(harness.store.same.page(A)) == []


WORDS = [f"word{n}" for n in range(400)]


def test_near_copies_are_found_by_fingerprint_distance():
    near = [*WORDS[:200], "changed", *WORDS[201:]]
    harness = pack_harness()
    write(harness, with_likeness(A, "a", words=" ".join(WORDS)))
    write(harness, with_likeness(B, "b", words=" ".join(near)))
    write(harness, with_likeness(C, "c", words=" ".join(reversed(WORDS))))

    assert urls(harness.store.same.page(A)) == []
    (found,) = harness.store.same.page(A, within=3).items
    bits = distance(
        fingerprint_of(sketch_of(" ".join(WORDS))), fingerprint_of(sketch_of(" ".join(near)))
    )
    assert (found.url, found.is_identical, found.distance) == (B, False, bits)
    assert bits <= 3
    assert urls(harness.store.same.page(A, within=0)) == ([B] if bits == 0 else [])


@pytest.mark.parametrize("within", [None, 3])
def test_cursor_continues_a_list_of_copies(within):
    harness = pack_harness()
    for n in range(12):
        write(harness, with_likeness(f"{HOST}{n}"))
    write(harness, with_likeness(OTHER_HOST))

    found, cursor = [], None
    while True:
        part = harness.store.same.page(f"{HOST}0", within=within, limit=3, cursor=cursor)
        assert len(part.items) <= 3
        found += urls(part)
        if (cursor := part.cursor) is None:
            break

    assert sorted(found) == sorted(f"{HOST}{n}" for n in range(1, 12))


@pytest.mark.parametrize("more", [{"within": 4}, {"within": -1}, {"cursor": "x"}, {"cursor": "00"}])
def test_invalid_arguments_are_refused(more):
    with pytest.raises(BadInput):
        pack_harness().store.same.page(A, **more)


def test_repair_adds_missing_entries_of_bodies():
    harness = pack_harness()
    write(harness, with_likeness(A))
    write(harness, with_likeness(B))
    for bucket in range(16):
        for name, row in list(harness.store.zen.registry.walk(bytes([bucket]) + b"same\0")):
            harness.store.zen.registry.delete(name, at_ms=max(c.at_ms for c in row.values()))
    assert urls(harness.store.same.page(A)) == []

    report = harness.store.maintenance.repair(wait=lambda _: None)

    assert report.repaired["entry of a body missing"] == 2
    assert urls(harness.store.same.page(A)) == [B]


def test_takedown_removes_the_entries_of_a_page():
    harness = pack_harness()
    write(harness, with_likeness(A))
    harness.store.takedowns.take_down(url=A)

    left = [row for bucket in range(16)
            for row in harness.store.zen.registry.walk(bytes([bucket]) + b"same\0")]  # fmt: skip
    assert left == []


def test_node_lists_the_record_that_it_shares():
    harness = pack_harness()
    write(harness, with_likeness(A))
    write(harness, with_likeness(B))

    kinds = [kind for _, kind, _ in records_of(node(harness, B))]
    assert sorted(kinds) == [b"revisit", b"shared"]
    assert nodes.CONTENT_PACK in node(harness, B)
