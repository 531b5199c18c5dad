import contextlib
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zengraph.errors import CorruptRow
from zengraph.links import Outlinks, PackedLinks, from_lines, to_lines
from zengraph.links import _outlinks as outlinks
from zengraph.links._inlinks import journal, postings
from zengraph.links._inlinks.journal import Entry
from zengraph.links._inlinks.postings import merged_lines, newest, newest_in_blocks, spill
from zengraph.links._outlinks import difference

URLS = st.integers(0, 9).map(lambda i: f"http://x.example/{i}")
LINKS = st.lists(
    st.tuples(URLS, st.text(max_size=20), st.sampled_from(["", "nofollow", "ugc sponsored"]))
)


@given(LINKS)
def test_links_round_trip_with_the_first_text_of_each_target(links):
    decoded = list(from_lines(to_lines(links)))

    first = {target: (text, tag) for target, text, tag in reversed(links)}
    assert {link.target for link in decoded} == set(first)
    for link in decoded:
        text, tag = first[link.target]
        assert link.tag == tag
        assert " ".join(link.text.split()) == " ".join(
            text.encode("utf-8", "replace").decode().split()
        )


@given(LINKS, LINKS)
def test_difference_turns_one_list_into_the_other(one, other):
    old, new = to_lines(one), to_lines(other)
    differs = difference(old, new)

    lines = {line.partition(b"\t")[0]: line for line in old.split(b"\n") if line}
    for target in differs.removed:
        del lines[target]
    for line in differs.added:
        assert line.partition(b"\t")[0] not in lines
        lines[line.partition(b"\t")[0]] = line
    for line in differs.changed:
        assert line.partition(b"\t")[0] in lines
        lines[line.partition(b"\t")[0]] = line
    assert set(lines.values()) == {line for line in new.split(b"\n") if line}


@given(st.integers(0, 2**62), st.lists(st.binary(min_size=12, max_size=12), max_size=40), LINKS)
def test_outlinks_cell_round_trips_with_its_last_changes(at_ms, changes, links):
    cell = Outlinks()
    lines = to_lines(links)
    for change in changes:
        cell = cell.after(change, at_ms, outlinks.compress_links(lines))

    again = outlinks.unpack(outlinks.pack(cell))

    assert again == cell
    assert list(again.changes) == changes
    assert list(again.since(2**40).changes) == [c for c in changes if c[:6] >= b"\x01\0\0\0\0\0"]
    assert again.lines == (lines if changes else b"")


@given(st.binary(max_size=40))
def test_malformed_outlinks_cell_is_corrupt_or_empty(data):
    with contextlib.suppress(CorruptRow):
        assert isinstance(outlinks.unpack(data).lines, bytes)


LINE_LISTS = st.lists(st.integers(0, 99).map(lambda i: b"http://%d/\t\ttext" % i), max_size=4)


@given(st.lists(st.tuples(URLS, st.integers(0, 2**60), LINE_LISTS, LINE_LISTS), max_size=5))
def test_journal_row_round_trips(parts):
    entries = [
        Entry(
            url, at, b"12345678", journal.compress_lines(added), b"", journal.compress_lines(gone)
        )
        for url, at, added, gone in parts
    ]

    again = list(journal.unpack(journal.pack(entries)))

    assert again == entries
    assert [journal.lines_of(e.added) for e in again] == [added for _, _, added, _ in parts]


@pytest.mark.parametrize("data", [b"", b"[]", b"[[1]]\n", b'[["u",1,"00",5,0,0]]\nab', b"\xff\n"])
def test_damaged_journal_row_is_corrupt(data):
    with pytest.raises(CorruptRow):
        list(journal.unpack(data))


POSTINGS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(1, 9), st.sampled_from([b"+", b"-"])),
    unique_by=lambda p: p[:2],
    max_size=20,
).map(lambda ps: [b"http://%d/\t%013d\t%s\t\ttext" % p for p in ps])


@given(POSTINGS, st.integers(1, 4), st.integers(1, 4))
def test_merged_lists_have_the_newest_posting_of_each_source(lines, parts, size):
    runs = [merged_lines([lines[i::parts]]) for i in range(parts)]
    blocks = [[run[at : at + size] for at in range(0, len(run), size)] for run in runs]

    merged = list(chain.from_iterable(newest_in_blocks(blocks)))

    expected: dict[bytes, bytes] = {}
    for line in sorted(lines):
        expected[line.partition(b"\t")[0]] = line
    assert merged == list(newest(runs)) == list(expected.values()) == merged_lines(runs)


@given(st.integers(-9, 9), POSTINGS)
def test_posting_delta_round_trips(net, lines):
    value = postings.pack(net, lines * 30)

    assert postings.unpack(value) == (net, lines * 30)
    assert postings.net_of(value) == net


@given(st.lists(st.integers(257, 5000), min_size=1, max_size=200))
def test_list_always_has_few_segments(incoming):
    sizes: list[int] = []
    for lines in incoming:
        count = spill(sizes, lines)
        sizes = [*sizes[: len(sizes) - count], sum(sizes[len(sizes) - count :]) + lines]

    assert sum(sizes) == sum(incoming)
    assert len(sizes) <= 14


@given(LINKS)
def test_packed_links_equal_the_lines_of_the_links(links):
    packed = PackedLinks.of(links)

    assert packed.lines == to_lines(links)
    assert len(list(packed)) == len({url for url, _, _ in links})
    assert PackedLinks.of(packed) is packed
