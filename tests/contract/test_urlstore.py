"""UrlStore on every engine: reading, writing, content."""

import pytest

from aragog.errors import CorruptContent, InvalidField, InvalidUrl, VersionConflict
from aragog.urlstore.records import Due
from tests.support.stores import NOW_MS, body, node_id, page, store_harness

A, B, C = "http://a.example/", "http://b.example/", "http://c.example/"


def test_page_is_read_back_by_any_spelling(harness):
    fields = {"title": b"T", "product.price": b"5"}
    harness.store.write_pages([page(A, fields=fields, facts={"status": 200}, due_at_ms=NOW_MS + 9)])

    record = harness.store.get("HTTP://A.example:80/?utm_source=x#top")

    assert record is not None
    assert (record.url, record.canonical_url) == (A, A)
    assert record.fields == fields
    assert record.facts["status"] == 200
    assert record.facts["fetched_at_ms"] == NOW_MS
    assert record.due_at_ms == NOW_MS + 9


def test_only_requested_fields_are_returned(harness):
    harness.store.write_pages([page(A, fields={"title": b"T", "x": b"1"})])

    assert harness.store.get(A, ["title", "absent"]).fields == {"title": b"T"}
    assert harness.store.get(A, []).fields == {}


def test_unknown_url_is_none_and_invalid_url_is_refused(harness):
    assert harness.store.get(A) is None
    assert harness.store.get_many([A, B]) == [None, None]
    assert harness.store.content(A) is None
    with pytest.raises(InvalidUrl):
        harness.store.get("ftp://x")


def test_get_many_keeps_the_order_and_follows_aliases(harness):
    harness.store.write_pages(
        [page(A, canonical_url=B, fields={"title": b"B"}), page(C, fields={"title": b"C"})]
    )

    records = harness.store.get_many([C, "http://nobody.example/", A, B, A], ["title"])

    assert [r and r.fields["title"] for r in records] == [b"C", None, b"B", b"B", b"B"]
    assert [r and r.canonical_url for r in records] == [C, None, B, B, B]


def test_writing_a_batch_twice_changes_nothing(harness):
    batch = [
        page(
            A,
            canonical_url=B,
            fields={"t": b"1"},
            links=[C],
            content=body("x"),
            due_at_ms=NOW_MS + 5,
        ),
        page(C, fields={"t": b"2"}, links=[A, B], content=body("y"), due_at_ms=NOW_MS + 6),
    ]
    harness.store.write_pages(batch)
    harness.compact()
    before = snapshot(harness)

    harness.clock.advance_ms(1000)
    harness.store.write_pages(batch)
    harness.compact()

    assert snapshot(harness) == before


def snapshot(harness):
    def shown(url):
        record = harness.store.get(url)
        return record and (record.fields, record.facts, record.due_at_ms, record.content_hash)

    urls = [A, B, C]
    return [
        (
            shown(u),
            harness.sources(u),
            harness.store.links.count_inlinks(u),
            harness.store.aliases.of(u),
        )
        for u in urls
    ] + [harness.store.pages.urls_of_host("a.example").items]


def test_older_fetch_never_overwrites_a_newer_one(harness):
    harness.store.write_pages(
        [
            page(
                A,
                NOW_MS,
                fields={"t": b"new"},
                links=[B],
                content=body("new"),
                due_at_ms=NOW_MS + 9,
            )
        ]
    )

    (written,) = harness.store.write_pages(
        [
            page(
                A,
                NOW_MS - 50,
                fields={"t": b"old", "gap": b"1"},
                links=[C],
                content=body("old"),
                due_at_ms=5,
            )
        ]
    )

    assert written.stale
    record = harness.store.get(A)
    assert record.fields == {"t": b"new", "gap": b"1"}
    assert record.due_at_ms == NOW_MS + 9
    assert harness.store.content(A).body == b"new"
    assert [link.url for link in harness.store.links.outlinks(A).items] == [B]


def test_newer_of_two_fetches_in_a_batch_is_stored(harness):
    harness.store.write_pages(
        [
            page(A, NOW_MS, canonical_url=C, fields={"t": b"new"}, links=[A], content=body("new")),
            page(
                A, NOW_MS - 5, canonical_url=C, fields={"t": b"old"}, links=[B], content=body("old")
            ),
        ]
    )

    assert harness.store.get(A).fields == {"t": b"new"}
    assert harness.store.content(C).body == b"new"
    assert [link.url for link in harness.store.links.outlinks(C).items] == [A]


def test_failed_fetch_keeps_the_page_and_records_its_reason(harness):
    harness.store.write_pages(
        [
            page(
                A,
                fields={"t": b"1"},
                links=[B],
                content=body("x"),
                facts={"etag": "e", "outcome": "Fetched"},
            )
        ]
    )

    harness.store.write_pages(
        [page(A, NOW_MS + 5, facts={"outcome": "Unreachable", "reason": "dns"})]
    )

    record = harness.store.get(A)
    assert record.fields == {"t": b"1"}
    assert record.facts["outcome"] == "Unreachable"
    assert record.facts["etag"] == "e"
    assert record.facts["fetched_at_ms"] == NOW_MS
    assert harness.store.content(A).body == b"x"


def test_facts_of_an_attempt_end_with_the_next(harness):
    write = harness.store.write_pages
    expected_facts = {"outcome": "Fetched", "status": 200, "bytes": 9, "etag": '"1"'}
    write([page(A, NOW_MS, fields={"title": b"x"}, facts=expected_facts)])
    write([page(A, NOW_MS + 1, facts={"outcome": "Gone", "status": 404, "reason": "404"})])
    write([page(A, NOW_MS + 2, facts={"outcome": "Unreachable"})])

    facts = harness.store.get(A).facts

    assert facts["outcome"] == "Unreachable"
    assert (facts["bytes"], facts["etag"]) == (9, '"1"')
    assert facts.keys().isdisjoint({"status", "reason"})


def test_failed_first_fetch_is_recorded_too(harness):
    harness.store.write_pages([page(A, facts={"outcome": "Unreachable", "reason": "dns"})])

    record = harness.store.get(A)

    assert record.facts["reason"] == "dns"
    assert record.content_key is None
    assert harness.store.content(A) is None


def test_put_fields_are_stored_beside_extracted_ones(harness):
    harness.store.write_pages([page(A, fields={"title": b"T"}, provenance={"title": "og:title"})])

    harness.store.put("http://a.example/#x", {"mine": b"1"}, provenance={"mine": "team"})

    record = harness.store.get(A, info=True)
    assert record.fields == {"title": b"T", "mine": b"1"}
    assert record.info["title"].provenance == "og:title"
    assert record.info["mine"].provenance == "team"
    assert record.info["mine"].at_ms >= NOW_MS


def test_put_with_an_earlier_time_does_not_replace(harness):
    harness.store.put(A, {"f": b"new"}, at_ms=NOW_MS - 10)

    harness.store.put(A, {"f": b"old"}, at_ms=NOW_MS - 20)

    assert harness.store.get(A).fields == {"f": b"new"}


def test_conditional_write_needs_the_current_version(harness):
    first = harness.store.put(A, {"f": b"1"}, if_version="")
    second = harness.store.put(A, {"f": b"2"}, if_version=first)

    with pytest.raises(VersionConflict):
        harness.store.put(A, {"f": b"3"}, if_version=first)

    assert harness.store.get(A).fields == {"f": b"2"}
    assert harness.store.get(A).version == second


@pytest.mark.parametrize("name", ["", "_", "x" * 201, "a\nb", "\0"])
def test_invalid_field_name_is_refused(harness, name):
    with pytest.raises(InvalidField):
        harness.store.put(A, {name: b""})

    assert harness.store.get(A) is None


def test_value_over_the_limit_is_refused_with_limit_and_remedy(harness):
    with pytest.raises(InvalidField, match=r"1048576.*store.max_field_bytes.*content store"):
        harness.store.write_pages([page(B), page(A, fields={"f": bytes(1_048_577)})])

    assert harness.store.get(B) is None


def test_object_that_does_not_match_its_pointer_is_never_returned(tables):
    harness = store_harness(tables)
    harness.store.write_pages([page(A, content=body("x"))])
    key = harness.store.get(A).content_key
    harness.content.put(key, body("another").body, {})

    with pytest.raises(CorruptContent):
        harness.store.content(A)


def test_content_put_by_hand_is_read_back(harness):
    harness.store.put_content(A, b"<p>", {"content-type": "text/html"})

    content = harness.store.content(A)

    assert content.body == b"<p>"
    assert content.meta["content-type"] == "text/html"


def test_history_keeps_only_the_last_changes(harness):
    for i, price in enumerate([b"5", b"5", b"4", b"4", b"5"]):
        harness.store.write_pages([page(A, NOW_MS + i, fields={"product.price": price})])
    harness.store.put(A, {"product.price": b"7"}, at_ms=NOW_MS + 9)

    past = harness.store.pages.history(A, "product.price")

    assert past == [(b"7", NOW_MS + 9), (b"5", NOW_MS + 4), (b"4", NOW_MS + 2), (b"5", NOW_MS)]


def test_due_page_is_claimed_once_until_the_lease_expires(harness):
    harness.store.write_pages([page(u, due_at_ms=NOW_MS + i) for i, u in enumerate([B, A, C])])

    assert harness.store.schedule.claim_due(NOW_MS - 1, 10, lease_s=5) == []
    first = harness.store.schedule.claim_due(NOW_MS + 1, 10, lease_s=5)
    again = harness.store.schedule.claim_due(NOW_MS + 1, 10, lease_s=5)
    later = harness.store.schedule.claim_due(NOW_MS + 5002, 10, lease_s=5)

    assert first == [Due(B, NOW_MS), Due(A, NOW_MS + 1)]
    assert again == []
    assert {due.url for due in later} == {A, B, C}


def test_rewritten_page_is_due_at_its_new_time(harness):
    harness.store.write_pages([page(A, NOW_MS, due_at_ms=NOW_MS + 10)])
    harness.store.schedule.claim_due(NOW_MS + 10, 10, lease_s=5)
    harness.store.write_pages([page(A, NOW_MS + 20, due_at_ms=NOW_MS + 1000)])

    assert harness.store.schedule.claim_due(NOW_MS + 999, 10, lease_s=5) == []
    assert harness.store.schedule.claim_due(NOW_MS + 1000, 10, lease_s=5) == [Due(A, NOW_MS + 1000)]
    assert len(list(harness.tables["d"].scan(b"", None))) == 1


def test_new_schedule_replaces_the_old_one(harness):
    harness.store.write_pages([page(A, due_at_ms=NOW_MS + 10)])

    harness.store.schedule.plan(A, NOW_MS + 2)
    assert harness.store.schedule.claim_due(NOW_MS + 99, 10, lease_s=5) == [Due(A, NOW_MS + 2)]
    harness.store.schedule.plan(A, None)
    assert harness.store.schedule.claim_due(NOW_MS + 99_000, 10, lease_s=5) == []


def test_claim_keeps_its_limit(harness):
    harness.store.write_pages([page(f"http://a.example/{i}", due_at_ms=NOW_MS) for i in range(40)])

    taken = [len(harness.store.schedule.claim_due(NOW_MS, 15, lease_s=50)) for _ in range(6)]

    assert taken == [15, 15, 10, 0, 0, 0]


def test_claim_takes_more_of_the_buckets_that_have_more(harness):
    """The pages of a folder are in four of sixteen buckets, so a claim returned half of its limit."""
    folder = [page(f"http://a.example/{i}", due_at_ms=NOW_MS) for i in range(40)]
    others = [page(f"http://h{i}.example/", due_at_ms=NOW_MS) for i in range(4)]
    harness.store.write_pages([*folder, *others])

    claimed = harness.store.schedule.claim_due(NOW_MS, 40, lease_s=50)

    assert len({due.url for due in claimed}) == len(claimed) == 40


def test_urls_of_a_host_are_listed_page_by_page(harness):
    urls = {f"http://a.example/{i}" for i in range(25)}
    harness.store.write_pages([page(u) for u in urls] + [page("http://aa.example/"), page(B)])

    listed, cursor = [], None
    while True:
        part = harness.store.pages.urls_of_host("A.example", cursor, 10)
        listed += part.items
        cursor = part.cursor
        if cursor is None:
            break

    assert sorted(listed) == sorted(urls)


def test_known_pages_are_those_fetched_themselves(harness):
    harness.store.write_pages(
        [
            page(
                A,
                final_url=B,
                canonical_url=C,
                provisional=True,
                facts={"status": 200},
                fields={"t": b""},
            ),
            page("http://gone.example/", facts={"status": 404}, gone=True),
        ]
    )

    known = harness.store.pages.known([A, B, C, "http://gone.example/"])

    assert known[A].redirects_to == B
    assert known[B].status == 200
    assert known[B].canonical_url == C
    assert C not in known
    assert known["http://gone.example/"].gone


def test_values_match_full_records(harness):
    store = harness.store
    store.write_pages([page("http://a.example/", fields={"title": b"one"})])
    store.put("http://a.example/", {"price": b"2"})
    store.aliases.merge("http://b.example/", "http://a.example/")
    store.put("http://gone.example/", {"title": b"x"})
    harness.clock.advance_ms(1000)
    store.remove("http://gone.example/")
    urls = [
        "http://b.example/",
        "http://none.example/",
        "http://gone.example/",
        "http://a.example/",
    ]
    names = ("price", "never", "title")

    values = store.pages.values(urls, names)

    whole = store.get_many(urls, names)
    assert [v is None for v in values] == [r is None for r in whole] == [False, True, True, False]
    for each, record in zip(values, whole, strict=True):
        if record is not None:
            assert each.values == tuple(record.fields.get(name) for name in names)
            assert (each.url, each.canonical_url) == (record.url, record.canonical_url)
            assert each.version.decode() == record.version


def test_many_records_are_those_of_single_reads(harness):
    """Plain pages, aliases, hidden pages, and two pointers, of which the newer one counts."""
    store, nodes = harness.store, harness.tables["n"]
    names = ("plain", "alias", "expired", "old", "new", "none")
    urls = [f"http://{name}.example/" for name in names]
    plain, alias, expired, old, new, _ = urls
    parts = {"fields": {"title": b"x"}, "content": body("<p>text"), "due_at_ms": NOW_MS + 5}
    store.write_pages([page(url, **parts) for url in (plain, old, new)])
    store.write_pages([page(alias, canonical_url=plain, **parts)])
    store.write_pages([page(expired, facts={"unavailable_after_ms": NOW_MS + 1}, **parts)])
    for url, pack_at_ms in ((old, NOW_MS + 1), (new, NOW_MS + 3)):
        nodes.put(node_id(url), {b"s:pack": b"a pack"}, at_ms=pack_at_ms)
        nodes.put(node_id(url), {b"s:ckey": b"a key"}, at_ms=NOW_MS + 2)
    harness.clock.advance_ms(1000)

    for fields in (["title", "none"], []):
        records = store.get_many([*urls, plain], fields)
        assert records == [store.get(url, fields) for url in [*urls, plain]]
    assert records[2].content_key is None
    assert (records[3].content_key, records[4].content_key) == ("a key", "a pack")
    assert records[5] is None
