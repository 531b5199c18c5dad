"""A batch of related pages has the same result as its pages written one at a time."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.stores import NOW_MS, SAME, body, page, store_harness
from zengraph.tables.memory import MemoryTables

A, B, C = URLS = [f"http://{x}.example/" for x in "abc"]


@st.composite
def fetches(draw, number):
    """A page, one with another canonical URL, or a failure, at its own time."""
    url, at_ms = draw(st.sampled_from(URLS)), NOW_MS + 1000 * number
    if draw(st.booleans()):
        home = draw(st.sampled_from([url, *URLS]))
        names = draw(st.sampled_from(["t", "tu"]))
        return page(
            url,
            at_ms,
            canonical_url=home,
            provisional=home != url,
            fields=dict.fromkeys(names, b"%d" % number),
            provenance=dict.fromkeys(names, "jsonld"),
            complete=draw(st.booleans()),
            content=body(f"body {number}"),
            links=[draw(st.sampled_from(URLS))],
            due_at_ms=at_ms + 500,
            facts={"status": 200},
        )
    gone = draw(st.booleans())
    return page(
        url, at_ms, gone=gone, facts={"status": 404 if gone else 500}, due_at_ms=at_ms + 500
    )


histories = st.integers(0, 4).flatmap(lambda n: st.tuples(*[fetches(i) for i in range(n)]))


def shown(harness, url):
    record, content = harness.store.get(url), harness.store.content(url)
    return (
        record and (record.canonical_url, record.fields, record.facts, record.content_hash),
        # An undone alias is due some minutes after the write, which is later for single writes.
        record and record.due_at_ms and record.due_at_ms // 1000,
        content and content.body,
        [link.url for link in harness.store.links.outlinks(url).items],
        harness.sources(url),
        sorted(harness.store.aliases.of(url)),
    )


@settings(deadline=None)
@given(histories, histories)
def test_batch_has_the_same_result_as_single_writes(before, pages):
    pages = [replace(p, fetched_at_ms=p.fetched_at_ms + 10_000) for p in pages]
    together, alone = store_harness(MemoryTables()), store_harness(MemoryTables())
    for harness in (together, alone):
        for earlier in before:
            harness.store.write_pages([earlier])
        harness.clock.advance_ms(20_000)

    together.store.write_pages(pages)
    for earlier in pages:
        alone.store.write_pages([earlier])

    for harness in (together, alone):
        harness.compact()
    for url in URLS:
        assert shown(together, url) == shown(alone, url)


def test_failed_alias_in_the_batch_keeps_its_page():
    harness = store_harness(MemoryTables())
    harness.store.write_pages([page(A, canonical_url=B, fields={"t": b"1"}, content=body("old"))])
    at_ms = NOW_MS + 1000

    harness.store.write_pages(
        [
            page(B, at_ms, fields={"t": b"2"}, content=body("new"), links=[C]),
            page(A, at_ms + 1, facts={"status": 500}),
        ]
    )

    assert harness.store.get(A).fields == {"t": b"2"}
    assert harness.store.content(A).body == b"new"
    assert [link.url for link in harness.store.links.outlinks(B).items] == [C]


def test_page_that_becomes_its_own_canonical_leaves_no_duplicate():
    harness = store_harness(MemoryTables())
    harness.store.write_pages(
        [page(A, canonical_url=B, provisional=True, fields={"t": b"1"}, content=body("x"))]
    )

    harness.clock.advance_ms(5000)
    harness.store.write_pages([page(A, NOW_MS + 1000, fields={"t": b"2"}, content=body("y"))])

    assert harness.store.get(A).fields == {"t": b"2"}
    assert harness.store.get(B) is None
    assert harness.store.aliases.of(B) == []


def test_page_with_a_new_canonical_url_moves_its_data():
    harness = store_harness(MemoryTables())
    harness.store.write_pages([page(A, canonical_url=B, fields={"t": b"1"}, links=[C])])
    harness.clock.advance_ms(5000)

    harness.store.write_pages([page(A, NOW_MS + 1000, canonical_url=C, fields={"t": b"2"})])

    assert harness.store.resolve(A) == C
    assert harness.store.get(B) is None
    assert harness.store.links.outlinks(B).items == []


def test_separately_fetched_canonical_url_keeps_its_page():
    harness = store_harness(MemoryTables())
    harness.store.write_pages([page(B, fields={"t": b"b"})])
    harness.store.write_pages([page(A, NOW_MS + 1, canonical_url=B, fields={"t": b"a"})])
    harness.clock.advance_ms(5000)

    harness.store.write_pages([page(A, NOW_MS + 1000, fields={"t": b"2"})])

    assert harness.store.get(A).fields == {"t": b"2"}
    assert harness.store.get(B).fields == {"t": b"b"}


def test_page_from_a_worker_with_a_fast_clock_leaves_no_pointer_to_lost_content():
    harness = store_harness(MemoryTables())
    for url, ahead_ms, home in ((A, 0, A), (B, 1000, B), (B, 2000, A), (A, 10_000, C)):
        fetched = page(
            url,
            NOW_MS + ahead_ms,
            canonical_url=home,
            provisional=home != url,
            content=body(f"{url} after {ahead_ms}"),
            facts={"status": 200},
            likeness=SAME,
        )
        harness.store.write_pages([fetched])

    assert harness.store.resolve(B) == C
    assert harness.store.content(B).body == f"{A} after 10000".encode()


def test_fetch_time_in_the_future_is_replaced_by_now(caplog):
    """Regression: a time in 2099 froze a page written without the pipeline."""
    harness = store_harness(MemoryTables())
    in_2099_ms = 4_070_908_800_000
    harness.store.write_pages(
        [
            page(A, in_2099_ms, fields={"t": b"old"}, facts={"fetched_at_ms": in_2099_ms}),
            page(B, NOW_MS + 60_000, fields={"t": b"old"}),
        ]
    )
    harness.clock.advance_ms(120_000)
    harness.store.write_pages([page(A, NOW_MS + 120_000, fields={"t": b"new"})])

    assert harness.store.get(A).fields == {"t": b"new"}
    assert harness.store.get(A).facts.get("fetched_at_ms", 0) <= NOW_MS + 120_000
    assert [record.message.count(f"fetch of {A}") for record in caplog.records] == [1]
