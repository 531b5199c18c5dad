"""Removing and taking down pages, on every engine."""

import pytest

from aragog.errors import BadInput, InvalidField, TakenDown
from tests.support.faults import every_kill_point
from tests.support.stores import NOW_MS, body, page
from zengraph.links._outlinks import unpack

A, B, C = "http://a.example/", "http://www.a.example/x", "http://c.example/"


def full(url, at_ms=NOW_MS, **more):
    return page(
        url, at_ms, fields={"t": b"1"}, content=body(url), links=[C], due_at_ms=NOW_MS + 5, **more
    )


def test_removed_page_is_gone_until_a_later_fetch(harness):
    store = harness.store
    store.write_pages([full(A)])
    harness.clock.advance_ms(5)

    store.remove(A)
    (late,) = store.write_pages([full(A)])

    assert late.stale
    assert store.get(A) is None
    assert store.content(A) is None
    assert store.links.outlinks(A).items == []
    assert store.schedule.claim_due(NOW_MS + 99, 5, 5) == []
    assert list(harness.content.keys()) == []
    harness.compact()
    assert harness.sources(C) == []
    store.write_pages([full(A, NOW_MS + 10)])
    assert store.get(A).fields == {"t": b"1"}


def test_fields_are_deleted_through_an_alias_and_newer_ones_stay(harness):
    store = harness.store
    store.put(A, {"t": b"1", "u": b"2", "v": b"3"}, provenance={"t": "x"})
    store.aliases.merge(B, A)
    store.put(A, {"u": b"later"}, at_ms=NOW_MS + 1000)
    harness.clock.advance_ms(5)
    before = store.get(A).version

    version = store.delete_fields(B, ["t", "u", "unknown"])

    record = store.get(A, info=True)
    assert record.fields == {"u": b"later", "v": b"3"}
    assert record.version == version != before
    assert "t" not in record.info
    harness.clock.advance_ms(5)
    store.put(A, {"t": b"again"})
    assert store.get(A).fields["t"] == b"again"


@pytest.mark.parametrize("name", ["_", "", "a\nb", "\ud800"])
def test_only_fields_can_be_deleted(harness, name):
    harness.store.put(A, {"t": b"1"})
    harness.clock.advance_ms(5)

    with pytest.raises(InvalidField):
        harness.store.delete_fields(A, ["t", name])

    assert harness.store.get(A).fields == {"t": b"1"}


def test_field_put_in_the_millisecond_of_a_delete_stays(harness):
    store = harness.store
    store.put(A, {"t": b"1"})
    store.delete_fields(A, ["t"])
    store.put(A, {"t": b"2"})
    store.takedowns.take_down(host="b.example")
    store.takedowns.lift(host="b.example")
    store.takedowns.take_down(host="b.example")

    assert store.get(A).fields == {"t": b"2"}
    assert store.takedowns.sites() == [("host", "b.example")]


def test_deleting_fields_of_an_unknown_url_makes_no_record(harness):
    harness.store.delete_fields(A, ["t"])

    assert harness.store.get(A) is None


def test_page_taken_down_is_gone_for_good_with_its_aliases(harness):
    store = harness.store
    store.write_pages([full(B, canonical_url=A)])
    harness.clock.advance_ms(5)

    assert store.takedowns.take_down(url=B) == 2
    (refused,) = store.write_pages([full(A, NOW_MS + 100)])

    assert refused.stale
    assert store.get(A) is None
    assert store.get(B) is None
    assert store.aliases.of(A) == []
    assert store.pages.urls_of_host("a.example").items == []
    with pytest.raises(TakenDown):
        store.put(B, {"f": b"1"})
    for table in "edho":
        assert all(table == "o" and key for key, _ in harness.tables[table].scan(b"", None)), table


def test_takedown_can_be_lifted(harness):
    store = harness.store
    store.write_pages([full(A)])
    store.takedowns.take_down(url=A)
    harness.clock.advance_ms(5)

    store.takedowns.lift(A)
    harness.clock.advance_ms(5)
    store.put(A, {"f": b"1"})

    assert store.get(A).fields == {"f": b"1"}


def test_host_or_domain_is_taken_down_completely(harness):
    store = harness.store
    near, other = "http://notwww.a.example/", "http://xa.example/"
    store.write_pages([full(u) for u in (A, B, C, near, other)])

    assert store.takedowns.take_down(host="www.a.example") == 1
    assert store.get(B) is None
    assert store.get(A) is not None
    harness.clock.advance_ms(5)
    assert store.takedowns.take_down(domain="a.example") == 2

    assert [u for u in (A, B, C, near, other) if store.get(u)] == [C, other]


def test_takedown_takes_exactly_one_target(harness):
    with pytest.raises(BadInput):
        harness.store.takedowns.take_down()
    with pytest.raises(BadInput):
        harness.store.takedowns.take_down(url=A, host="a.example")


def test_page_whose_removal_with_its_crawl_was_killed_is_removed_by_the_next():
    def write(harness):
        harness.store.write_pages([full(A)])
        harness.store.crawls.add("docs", {A: NOW_MS})
        harness.clock.advance_ms(10)

    def delete(harness):
        for url, _ in harness.store.crawls.walk("docs"):
            harness.store.remove(url)

    for point, harness in every_kill_point(write, step=delete):
        harness.clock.advance_ms(1000)

        delete(harness)

        harness.clock.advance_ms(3_600_000)
        harness.compact()
        cells = [row for name in "od" for _, row in harness.tables[name].scan(b"", None)]
        assert [unpack(row[b"l:v"].value).compressed for row in cells] == [b""], point
        assert harness.sources(C) == [], point
        assert list(harness.content.keys()) == [], point
        assert harness.store.schedule.claim_due(NOW_MS + 10**9, 9, lease_s=60) == [], point
