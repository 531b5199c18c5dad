"""UrlStore on every engine: reading, writing, content."""

import pytest

from aragog.errors import CorruptContent, InvalidField, InvalidUrl, VersionConflict
from aragog.urlstore.records import Due
from tests.support.stores import NOW_MS, body, page

A, B, C = "http://a.example/", "http://b.example/", "http://c.example/"


def test_page_is_read_back_by_any_spelling(a_stand):
    fields = {"title": b"T", "product.price": b"5"}
    a_stand.store.write_pages([page(A, fields=fields, facts={"status": 200}, due_at_ms=NOW_MS + 9)])

    record = a_stand.store.get("HTTP://A.example:80/?utm_source=x#top")

    assert record is not None
    assert (record.url, record.canonical_url) == (A, A)
    assert record.fields == fields
    assert record.facts["status"] == 200
    assert record.facts["fetched_at_ms"] == NOW_MS
    assert record.due_at_ms == NOW_MS + 9


def test_only_requested_fields_are_returned(a_stand):
    a_stand.store.write_pages([page(A, fields={"title": b"T", "x": b"1"})])

    assert a_stand.store.get(A, ["title", "absent"]).fields == {"title": b"T"}
    assert a_stand.store.get(A, []).fields == {}


def test_unknown_url_is_none_and_invalid_url_is_refused(a_stand):
    assert a_stand.store.get(A) is None
    assert a_stand.store.get_many([A, B]) == [None, None]
    assert a_stand.store.content(A) is None
    with pytest.raises(InvalidUrl):
        a_stand.store.get("ftp://x")


def test_get_many_keeps_the_order_and_follows_aliases(a_stand):
    a_stand.store.write_pages(
        [page(A, canonical_url=B, fields={"title": b"B"}), page(C, fields={"title": b"C"})]
    )

    records = a_stand.store.get_many([C, "http://nobody.example/", A, B, A], ["title"])

    assert [r and r.fields["title"] for r in records] == [b"C", None, b"B", b"B", b"B"]
    assert [r and r.canonical_url for r in records] == [C, None, B, B, B]


def test_writing_a_batch_twice_changes_nothing(a_stand):
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
    a_stand.store.write_pages(batch)
    a_stand.compact()
    before = snapshot(a_stand)

    a_stand.clock.advance_ms(1000)
    a_stand.store.write_pages(batch)
    a_stand.compact()

    assert snapshot(a_stand) == before


def snapshot(stand):
    def shown(url):
        record = stand.store.get(url)
        return record and (record.fields, record.facts, record.due_at_ms, record.content_hash)

    urls = [A, B, C]
    return [
        (shown(u), stand.sources(u), stand.store.links.count_inlinks(u), stand.store.aliases.of(u))
        for u in urls
    ] + [stand.store.pages.urls_of_host("a.example").items]


def test_older_fetch_never_overwrites_a_newer_one(a_stand):
    a_stand.store.write_pages(
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

    (written,) = a_stand.store.write_pages(
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
    record = a_stand.store.get(A)
    assert record.fields == {"t": b"new", "gap": b"1"}
    assert record.due_at_ms == NOW_MS + 9
    assert a_stand.store.content(A).body == b"new"
    assert [link.url for link in a_stand.store.links.outlinks(A).items] == [B]


def test_newer_of_two_fetches_in_a_batch_is_stored(a_stand):
    a_stand.store.write_pages(
        [
            page(A, NOW_MS, canonical_url=C, fields={"t": b"new"}, links=[A], content=body("new")),
            page(
                A, NOW_MS - 5, canonical_url=C, fields={"t": b"old"}, links=[B], content=body("old")
            ),
        ]
    )

    assert a_stand.store.get(A).fields == {"t": b"new"}
    assert a_stand.store.content(C).body == b"new"
    assert [link.url for link in a_stand.store.links.outlinks(C).items] == [A]


def test_failed_fetch_keeps_the_page_and_records_its_reason(a_stand):
    a_stand.store.write_pages(
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

    a_stand.store.write_pages(
        [page(A, NOW_MS + 5, facts={"outcome": "Unreachable", "reason": "dns"})]
    )

    record = a_stand.store.get(A)
    assert record.fields == {"t": b"1"}
    assert record.facts["outcome"] == "Unreachable"
    assert record.facts["etag"] == "e"
    assert record.facts["fetched_at_ms"] == NOW_MS
    assert a_stand.store.content(A).body == b"x"


def test_facts_of_an_attempt_end_with_the_next(a_stand):
    write = a_stand.store.write_pages
    expected_facts = {"outcome": "Fetched", "status": 200, "bytes": 9, "etag": '"1"'}
    write([page(A, NOW_MS, fields={"title": b"x"}, facts=expected_facts)])
    write([page(A, NOW_MS + 1, facts={"outcome": "Gone", "status": 404, "reason": "404"})])
    write([page(A, NOW_MS + 2, facts={"outcome": "Unreachable"})])

    facts = a_stand.store.get(A).facts

    assert facts["outcome"] == "Unreachable"
    assert (facts["bytes"], facts["etag"]) == (9, '"1"')
    assert facts.keys().isdisjoint({"status", "reason"})


def test_failed_first_fetch_is_recorded_too(a_stand):
    a_stand.store.write_pages([page(A, facts={"outcome": "Unreachable", "reason": "dns"})])

    record = a_stand.store.get(A)

    assert record.facts["reason"] == "dns"
    assert record.content_key is None
    assert a_stand.store.content(A) is None


def test_put_fields_are_stored_beside_extracted_ones(a_stand):
    a_stand.store.write_pages([page(A, fields={"title": b"T"}, provenance={"title": "og:title"})])

    a_stand.store.put("http://a.example/#x", {"mine": b"1"}, provenance={"mine": "team"})

    record = a_stand.store.get(A, info=True)
    assert record.fields == {"title": b"T", "mine": b"1"}
    assert record.info["title"].provenance == "og:title"
    assert record.info["mine"].provenance == "team"
    assert record.info["mine"].at_ms >= NOW_MS


def test_put_with_an_earlier_time_does_not_replace(a_stand):
    a_stand.store.put(A, {"f": b"new"}, at_ms=NOW_MS - 10)

    a_stand.store.put(A, {"f": b"old"}, at_ms=NOW_MS - 20)

    assert a_stand.store.get(A).fields == {"f": b"new"}


def test_conditional_write_needs_the_current_version(a_stand):
    first = a_stand.store.put(A, {"f": b"1"}, if_version="")
    second = a_stand.store.put(A, {"f": b"2"}, if_version=first)

    with pytest.raises(VersionConflict):
        a_stand.store.put(A, {"f": b"3"}, if_version=first)

    assert a_stand.store.get(A).fields == {"f": b"2"}
    assert a_stand.store.get(A).version == second


@pytest.mark.parametrize("name", ["", "_", "x" * 201, "a\nb", "\0"])
def test_invalid_field_name_is_refused(a_stand, name):
    with pytest.raises(InvalidField):
        a_stand.store.put(A, {name: b""})

    assert a_stand.store.get(A) is None


def test_value_over_the_limit_is_refused_with_limit_and_remedy(a_stand):
    with pytest.raises(InvalidField, match=r"1048576.*store.max_field_bytes.*content store"):
        a_stand.store.write_pages([page(B), page(A, fields={"f": bytes(1_048_577)})])

    assert a_stand.store.get(B) is None


def test_content_that_does_not_match_its_pointer_is_never_returned(a_stand):
    a_stand.store.write_pages([page(A, content=body("x"))])
    key = a_stand.store.get(A).content_key
    a_stand.content.put(key, body("another").body, {})

    with pytest.raises(CorruptContent):
        a_stand.store.content(A)


def test_content_put_by_hand_is_read_back(a_stand):
    a_stand.store.put_content(A, b"<p>", {"content-type": "text/html"})

    content = a_stand.store.content(A)

    assert content.body == b"<p>"
    assert content.meta["content-type"] == "text/html"


def test_history_keeps_only_the_last_changes(a_stand):
    for i, price in enumerate([b"5", b"5", b"4", b"4", b"5"]):
        a_stand.store.write_pages([page(A, NOW_MS + i, fields={"product.price": price})])
    a_stand.store.put(A, {"product.price": b"7"}, at_ms=NOW_MS + 9)

    past = a_stand.store.pages.history(A, "product.price")

    assert past == [(b"7", NOW_MS + 9), (b"5", NOW_MS + 4), (b"4", NOW_MS + 2), (b"5", NOW_MS)]


def test_due_page_is_claimed_once_until_the_lease_expires(a_stand):
    a_stand.store.write_pages([page(u, due_at_ms=NOW_MS + i) for i, u in enumerate([B, A, C])])

    assert a_stand.store.schedule.claim_due(NOW_MS - 1, 10, lease_s=5) == []
    first = a_stand.store.schedule.claim_due(NOW_MS + 1, 10, lease_s=5)
    again = a_stand.store.schedule.claim_due(NOW_MS + 1, 10, lease_s=5)
    later = a_stand.store.schedule.claim_due(NOW_MS + 5002, 10, lease_s=5)

    assert first == [Due(B, NOW_MS), Due(A, NOW_MS + 1)]
    assert again == []
    assert {due.url for due in later} == {A, B, C}


def test_rewritten_page_is_due_at_its_new_time(a_stand):
    a_stand.store.write_pages([page(A, NOW_MS, due_at_ms=NOW_MS + 10)])
    a_stand.store.schedule.claim_due(NOW_MS + 10, 10, lease_s=5)
    a_stand.store.write_pages([page(A, NOW_MS + 20, due_at_ms=NOW_MS + 1000)])

    assert a_stand.store.schedule.claim_due(NOW_MS + 999, 10, lease_s=5) == []
    assert a_stand.store.schedule.claim_due(NOW_MS + 1000, 10, lease_s=5) == [Due(A, NOW_MS + 1000)]
    assert len(list(a_stand.tables["d"].scan(b"", None))) == 1


def test_new_schedule_replaces_the_old_one(a_stand):
    a_stand.store.write_pages([page(A, due_at_ms=NOW_MS + 10)])

    a_stand.store.schedule.plan(A, NOW_MS + 2)
    assert a_stand.store.schedule.claim_due(NOW_MS + 99, 10, lease_s=5) == [Due(A, NOW_MS + 2)]
    a_stand.store.schedule.plan(A, None)
    assert a_stand.store.schedule.claim_due(NOW_MS + 99_000, 10, lease_s=5) == []


def test_claim_keeps_its_limit(a_stand):
    a_stand.store.write_pages([page(f"http://a.example/{i}", due_at_ms=NOW_MS) for i in range(40)])

    taken = [len(a_stand.store.schedule.claim_due(NOW_MS, 15, lease_s=50)) for _ in range(6)]

    assert sum(taken) == 40
    assert max(taken) <= 15


def test_urls_of_a_host_are_listed_page_by_page(a_stand):
    urls = {f"http://a.example/{i}" for i in range(25)}
    a_stand.store.write_pages([page(u) for u in urls] + [page("http://aa.example/"), page(B)])

    listed, cursor = [], None
    while True:
        part = a_stand.store.pages.urls_of_host("A.example", cursor, 10)
        listed += part.items
        cursor = part.cursor
        if cursor is None:
            break

    assert sorted(listed) == sorted(urls)


def test_known_pages_are_those_fetched_themselves(a_stand):
    a_stand.store.write_pages(
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

    known = a_stand.store.pages.known([A, B, C, "http://gone.example/"])

    assert known[A].redirects_to == B
    assert known[B].status == 200
    assert known[B].canonical_url == C
    assert C not in known
    assert known["http://gone.example/"].gone


def test_values_match_full_records(a_stand):
    store = a_stand.store
    store.write_pages([page("http://a.example/", fields={"title": b"one"})])
    store.put("http://a.example/", {"price": b"2"})
    store.aliases.merge("http://b.example/", "http://a.example/")
    store.put("http://gone.example/", {"title": b"x"})
    a_stand.clock.advance_ms(1000)
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
