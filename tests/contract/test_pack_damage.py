"""Packs with a damaged record: what readers, repair and takedowns do with the other records."""

import random

import pytest

from aragog.errors import CorruptContent
from aragog.urlstore.bodies import pointer_of
from aragog.urlstore.packs.pointers import index_name
from tests.support.pack_harness import fetched, pack_harness

GONE, DAMAGED, *OTHERS = URLS = [f"https://a.example/{number}" for number in range(5)]
TEXTS = {url: random.Random(url).randbytes(3000).hex() for url in URLS}


def damaged_harness(at=0.7, **settings):
    """
    A store with one pack, in which the record of `DAMAGED` has a wrong byte: in its body, or
    elsewhere (`at`: 0 is its beginning, 1 its end).
    """
    harness = pack_harness(**settings)
    harness.store.write_pages([fetched(url, text) for url, text in TEXTS.items()])
    harness.upkeep(hours=1)
    (name,) = harness.names()
    row = harness.tables["n"].get(harness.store.zen.node_id(DAMAGED))
    pointer, data = pointer_of(row), bytearray(harness.files.stored[name])
    data[pointer.offset + int(pointer.length * at)] ^= 1
    harness.files.stored[name] = bytes(data)
    return harness, name


def readable(harness, urls):
    return [harness.store.content(url).body.decode() == TEXTS[url] for url in urls]


@pytest.mark.parametrize("is_fetched_again", [True, False])
def test_takedown_erases_a_page_from_a_pack_with_another_damaged_record(is_fetched_again):
    harness, name = damaged_harness()
    harness.clock.advance_ms(3_600_000)
    if is_fetched_again:
        harness.store.write_pages([fetched(DAMAGED, "new", harness.clock.now_ms())])
    else:
        assert harness.store.maintenance.repair(grace_s=0.001).repaired == {
            "content missing or damaged": 1,
            "record of a pack that no page has": 1,
        }

    harness.store.takedowns.take_down(url=GONE)

    reports = [harness.upkeep(hours=48) for _ in range(4)]
    assert [report.problems for report in reports] == [[]] * 4
    assert name not in harness.names()
    assert TEXTS[GONE].encode() not in harness.everything()
    assert readable(harness, OTHERS) == [True] * 3


def test_damaged_record_that_a_page_needs_keeps_its_pack_until_repair():
    harness, name = damaged_harness()
    harness.store.takedowns.take_down(url=GONE)

    problems = [harness.upkeep(hours=48).problems for _ in range(2)]

    assert all(name in line for lines in problems for line in lines)
    assert name in harness.names()
    with pytest.raises(CorruptContent):
        harness.store.content(DAMAGED)
    harness.store.maintenance.repair(grace_s=0.001)
    for _ in range(4):
        harness.upkeep(hours=48)
    assert name not in harness.names()
    assert readable(harness, OTHERS) == [True] * 3


@pytest.mark.parametrize("is_repaired_first", [True, False])
@pytest.mark.parametrize(
    ("compression", "at"),
    [("zstd", 0.0), ("zstd", 0.001), ("zstd", 0.02), ("gzip", 0.0), ("gzip", 0.4)],
)
def test_record_with_a_damaged_beginning_does_not_keep_its_pack(compression, at, is_repaired_first):
    harness, name = damaged_harness(at, pack_compression=compression)
    if is_repaired_first:
        harness.clock.advance_ms(3_600_000)
        harness.store.maintenance.repair(grace_s=0.001)

    harness.store.takedowns.take_down(url=GONE)
    first = harness.upkeep(hours=48).problems
    if not is_repaired_first:
        assert any(name in line for line in first)
        assert readable(harness, OTHERS) == [True] * 3
        harness.store.maintenance.repair(grace_s=0.001)
    problems = [harness.upkeep(hours=48).problems for _ in range(4)]

    assert problems == [[]] * 4
    assert name not in harness.names()
    assert TEXTS[GONE].encode() not in harness.everything()
    assert readable(harness, OTHERS) == [True] * 3


@pytest.mark.parametrize("missing", ["all", "one line", "unreadable"])
def test_damaged_pack_without_a_complete_index_stays(missing):
    harness, name = damaged_harness(0.0)
    lines = harness.files.indexes[index_name(name)].splitlines(keepends=True)
    harness.files.indexes[index_name(name)] = {
        "all": b"", "one line": b"".join(lines[:-1]), "unreadable": b"x" * 100
    }[missing]  # fmt: skip
    harness.clock.advance_ms(3_600_000)
    harness.store.maintenance.repair(grace_s=0.001)
    harness.store.takedowns.take_down(url=GONE)

    problems = [harness.upkeep(hours=48).problems for _ in range(2)]

    assert all(name in line for lines in problems for line in lines)
    assert readable(harness, OTHERS) == [True] * 3
