"""Records of crawls: their JSON, their bounds, and what they become with time."""

from dataclasses import replace

import orjson
import pytest

from aragog.crawl.pipeline.crawl_cancellations import Cancellation
from aragog.crawl.pipeline.crawl_records import CrawlPhase, CrawlRecord, validated
from aragog.crawl.pipeline.crawl_registry import Crawls
from aragog.crawl.pipeline.crawl_scope import Scope
from aragog.errors import BadInput, InvalidMessage

DOCS = CrawlRecord(
    name="docs", number=7, past=(2, 5), scope=Scope(("host:a.example",)), until_ms=1000, depth=3
)


def test_a_record_reads_as_it_was_written_with_fields_that_it_does_not_know():
    wire = orjson.dumps({**orjson.loads(DOCS.wire()), "quota": 9})

    record = CrawlRecord.read(wire)

    assert replace(record, unknown={}) == DOCS
    assert orjson.loads(record.wire())["quota"] == 9


@pytest.mark.parametrize("wire", [b"", b"[]", b"{}", b'{"name": "a", "number": 2, "scope": ["x"]}'])
def test_what_is_not_a_record_is_refused(wire):
    with pytest.raises(InvalidMessage):
        CrawlRecord.read(wire)


@pytest.mark.parametrize(
    "values",
    [
        {"name": ""}, {"name": "a b"}, {"name": "x" * 65}, {"name": "enqueued"}, {"name": "refresh"},
        {"depth": -1}, {"priority": 10}, {"max_urls": 0}, {"rate": 0.0}, {"max_bytes": 0},
    ],
)  # fmt: skip
def test_names_and_bounds_that_cannot_be_used_are_refused(values):
    with pytest.raises(BadInput):
        validated(CrawlRecord(**{"name": "docs", "number": 2, **values}))


def test_a_crawl_whose_time_is_over_has_ended_for_everybody():
    before = Crawls.of({"docs": DOCS}, frozenset({2, 5}), (), now_ms=999)
    after = Crawls.of({"docs": DOCS}, frozenset({2, 5}), (), now_ms=1000)

    assert before.ended == {2, 5}
    assert after.ended == {2, 5, 7}
    assert before.record_of(5) is DOCS


def test_paused_crawls_are_known_by_their_numbers():
    paused = CrawlRecord(name="docs", number=7, state=CrawlPhase.PAUSED)

    crawls = Crawls.of({"docs": paused}, frozenset(), (), now_ms=0)

    assert crawls.paused == {7}
    assert not crawls.all_may_continue


@pytest.mark.parametrize(
    ("kind", "value", "matched"),
    [
        ("url", "http://www.a.example/x", True), ("url", "http://www.a.example/", False),
        ("host", "www.a.example", True), ("host", "a.example", False),
        ("domain", "a.example", True), ("domain", "example", True), ("domain", "w.a.example", False),
        ("pattern", "*/x", True), ("pattern", "*/y", False),
    ],
)  # fmt: skip
def test_a_cancellation_is_about_a_url_a_host_a_domain_or_a_pattern(kind, value, matched):
    rule = Cancellation(kind, value, 5)

    assert rule.matches("http://www.a.example/x") is matched
    assert Crawls(cancellations=(rule,)).cancelled_until_s("http://www.a.example/x") == 5 * matched
