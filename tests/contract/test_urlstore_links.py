"""Links in both directions, on every engine: random histories against a naive model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.errors import BadInput
from aragog.settings import StoreSettings
from aragog.urlstore.records import OutLink
from tests.support.examples import examples
from tests.support.stores import NOW_MS, page, store_harness, write_into_bucket
from zengraph.links import ListLimits
from zengraph.links._claims import LOCK_MS, ClaimCell

A, B, C = "http://a.example/", "http://b.example/", "http://c.example/"


def test_outlinks_keep_page_order_with_text_and_rel(harness):
    links = [
        OutLink(C, "see", "nofollow ugc"),
        OutLink(A),
        OutLink(B, "tab\tand\nbreak"),
        OutLink(C, "twice"),
    ]
    harness.store.write_pages([page(A)])
    harness.store.links.add(A, links)

    first = harness.store.links.outlinks(A, limit=2)
    rest = harness.store.links.outlinks(A, limit=2, cursor=first.cursor)

    assert [(link.url, link.text, link.rel) for link in first.items + rest.items] == [
        (C, "see", "nofollow ugc"),
        (A, "", ""),
        (B, "tab and break", ""),
    ]
    assert rest.cursor is None


def test_changed_page_removes_its_old_links(harness):
    harness.store.write_pages([page(A, NOW_MS, links=[B, C])])
    harness.compact()
    harness.store.write_pages([page(A, NOW_MS + 1, links=[C])])

    assert harness.sources(B) == [A]
    harness.compact()

    assert harness.sources(B) == []
    assert harness.sources(C) == [A]
    assert harness.store.links.count_inlinks(B) == 0


def test_write_without_links_keeps_the_old_ones(harness):
    harness.store.write_pages([page(A, NOW_MS, links=[B])])

    harness.store.write_pages([page(A, NOW_MS + 1, fields={"x": b""})])

    assert [link.url for link in harness.store.links.outlinks(A).items] == [B]


def test_new_link_text_replaces_the_old_and_counts_once(harness):
    for i, text in enumerate(["one", "two"]):
        harness.clock.advance_ms(1)
        harness.store.links.add(A, [OutLink(B, text)])
        if not i:
            harness.compact()
    harness.compact()

    assert [(link.url, link.text) for link in harness.store.links.inlinks(B).items] == [(A, "two")]
    assert harness.store.links.count_inlinks(B) == 1


def test_first_page_of_a_url_that_already_has_links_replaces_them(harness):
    """Its links are written without reading the old ones, so the first attempt fails."""
    harness.store.links.add(A, [OutLink(C)])
    harness.store.write_pages([page(A, NOW_MS + 1, links=[B])])
    harness.compact()

    assert [link.url for link in harness.store.links.outlinks(A).items] == [B]
    assert (harness.sources(B), harness.sources(C)) == ([A], [])
    assert harness.store.links.count_inlinks(B) == 1


def test_first_page_of_a_url_that_already_has_links_removes_them_if_it_has_none(harness):
    harness.store.links.add(A, [OutLink(C)])
    harness.store.write_pages([page(A, NOW_MS + 1, links=[])])
    harness.compact()

    assert harness.store.links.outlinks(A).items == harness.sources(C) == []


def test_compaction_lag_is_the_age_of_the_oldest_journal_row(harness):
    assert harness.store.maintenance.compaction_lag_ms() == 0
    harness.store.write_pages([page(A, links=[B])])
    harness.clock.advance_ms(5000)

    assert 4990 <= harness.store.maintenance.compaction_lag_ms() <= 5000
    harness.compact()
    assert harness.store.maintenance.compaction_lag_ms() == 0


def test_one_process_at_a_time_compacts_a_lane_and_a_dead_ones_claim_expires(harness):
    harness.store.write_pages([page(A, links=[B])])
    assert ClaimCell(harness.tables["j"], harness.clock, 4).begin_alone()

    assert harness.store.maintenance.compact_links(10).journal_rows == 0
    # Table timestamps and claims use the same clock.
    harness.clock.advance_ms(LOCK_MS + 1)
    assert harness.store.maintenance.compact_links(10).journal_rows == 1


def test_inlinks_from_the_same_site_can_be_left_out(tables):
    harness = store_harness(tables, StoreSettings(inlinks="external"))
    harness.store.write_pages([page(A, links=[B, "http://x.a.example/"]), page(B, links=[C])])
    harness.compact()

    assert harness.sources(B) == [A]
    assert harness.sources("http://x.a.example/") == []
    assert len(harness.store.links.outlinks(A).items) == 2


def test_all_inlinks_can_be_left_out(tables):
    harness = store_harness(tables, StoreSettings(inlinks="none"))
    harness.store.write_pages([page(A, links=[B])])

    assert not list(tables["j"].scan(b"", None))


def test_hub_is_read_and_counted_completely(tables):
    harness = store_harness(tables, lists=ListLimits(inline_lines=8, chunk_lines=5, many_deltas=2))
    expected = set()
    for start in range(0, 120, 12):
        urls = [f"http://s.example/{i:03d}" for i in range(start, start + 12)]
        harness.store.write_pages([page(u, NOW_MS + start, links=[A]) for u in urls])
        expected |= set(urls)
        if start % 24:
            gone = sorted(expected)[:: start // 2]
            harness.store.write_pages([page(u, NOW_MS + 1000 + start, links=[]) for u in gone])
            expected -= set(gone)
        harness.compact()

    assert harness.sources(A) == sorted(expected)
    assert harness.store.links.count_inlinks(A) == len(expected)
    rows = [key for key, _ in harness.tables["l"].scan(b"", None)]
    assert len(rows) > 5


def test_invalid_cursor_is_refused(harness):
    harness.store.write_pages([page(A, links=[B])])

    with pytest.raises(BadInput):
        harness.store.links.outlinks(A, cursor="x")


def compact_row_by_row(harness):
    while harness.store.maintenance.compact_links(1).left:
        pass


def test_removal_is_never_compacted_before_its_addition(tables):
    """
    The bucket of a journal row is random; with a small limit, a later row used to be compacted
    first.
    """
    harness = store_harness(tables, lists=ListLimits(many_deltas=1))
    writes = [(15, C, [B]), (15, A, [B]), (0, A, [])]  # the addition comes after another row
    for number, (bucket, url, links) in enumerate(writes):
        harness.clock.advance_ms(1000)
        write_into_bucket(harness, bucket, page(url, NOW_MS + number, links=links))

    compact_row_by_row(harness)

    assert harness.sources(B) == [C]
    assert harness.store.links.count_inlinks(B) == 1


def test_removal_from_a_slow_clock_is_compacted_after_the_addition(tables):
    slow, fast = (store_harness(tables, lists=ListLimits(many_deltas=1)) for _ in range(2))
    fast.clock.advance_ms(60_000)

    write_into_bucket(slow, 15, page(C, NOW_MS, links=[B]))
    write_into_bucket(fast, 15, page(A, NOW_MS, links=[B]))
    slow.clock.advance_ms(1000)
    write_into_bucket(slow, 0, page(A, NOW_MS + 1, links=[]))
    compact_row_by_row(fast)

    assert fast.sources(B) == [C]
    assert fast.store.links.count_inlinks(B) == 1


def test_compactor_with_a_slow_clock_keeps_links_merged_by_a_fast_one(tables):
    limits = ListLimits(many_deltas=1, large_lines=0)
    slow, fast = (store_harness(tables, lists=limits) for _ in range(2))
    fast.clock.advance_ms(60_000)

    slow.store.write_pages([page(A, NOW_MS, links=[B])])
    fast.compact()
    slow.store.write_pages([page(C, NOW_MS, links=[B])])
    slow.compact()

    assert slow.sources(B) == [A, C]
    assert slow.store.links.count_inlinks(B) == 2


PAGES = [f"http://{host}.example/{number}" for host in "ab" for number in range(4)]
STEP = st.one_of(
    st.tuples(
        st.just("write"),
        st.sampled_from(PAGES),
        st.integers(0, 30),
        st.lists(st.sampled_from(PAGES), max_size=6, unique=True),
    ),
    st.tuples(st.just("compact"), st.integers(1, 40)),
    st.tuples(st.just("add"), st.sampled_from(PAGES), st.sampled_from(PAGES)),
    st.tuples(st.just("drop"), st.sampled_from(PAGES), st.sampled_from(PAGES)),
    st.tuples(st.just("remove"), st.sampled_from(PAGES)),
)


@examples(25)
@given(st.lists(STEP, max_size=30))
def test_lists_and_counts_match_a_naive_model_after_any_history(quick_tables, history):
    small = ListLimits(group_lines=4, inline_lines=2, chunk_lines=2, many_deltas=1, large_lines=1)
    harness = store_harness(quick_tables(), lists=small)
    links: dict[str, set[str]] = {}
    newest: dict[str, int] = {}
    for number, step in enumerate(history):
        harness.clock.advance_ms(1000)
        now = harness.clock.now_ms()
        if step[0] == "write":
            _, url, age, targets = step
            # No two at the same time: either of them could stay.
            at = now - 1000 * age - number
            if at > newest.get(url, 0):
                newest[url] = at
                links[url] = set(targets)
            harness.store.write_pages([page(url, at, links=targets)])
        elif step[0] == "compact":
            harness.store.maintenance.compact_links(step[1])
        elif step[0] == "add":
            harness.store.links.add(step[1], [OutLink(step[2], "text")])
            if step[2] not in links.get(step[1], set()):
                links[step[1]] = links.get(step[1], set()) | {step[2]}
                newest[step[1]] = max(now, newest.get(step[1], 0))
        elif step[0] == "drop":
            harness.store.links.remove(step[1], [step[2]])
            if step[2] in links.get(step[1], set()):
                links[step[1]] = links[step[1]] - {step[2]}
                newest[step[1]] = max(now, newest.get(step[1], 0))
        else:
            harness.store.remove(step[1])
            links[step[1]] = set()
            newest[step[1]] = max(now, newest.get(step[1], 0))
    harness.compact()

    for target in PAGES:
        sources = sorted(url for url, its in links.items() if target in its)
        assert harness.sources(target) == sources
        assert harness.store.links.count_inlinks(target) == len(sources)
    for url in PAGES:
        assert {x.url for x in harness.store.links.outlinks(url).items} == links.get(url, set())
    assert not [key for key, _ in harness.tables["j"].scan(b"", b"\xff")]
    assert harness.store.maintenance.repair().repaired.keys() <= {"due row missing"}
