"""Records of crawls: their JSON, their limits, and how they change over time."""

from dataclasses import replace

import orjson
import pytest

from aragog.crawl.pipeline.crawl_cancellations import Cancellation
from aragog.crawl.pipeline.crawl_records import CrawlPhase, CrawlRecord, validate
from aragog.crawl.pipeline.crawl_scope import Scope
from aragog.crawl.pipeline.crawls import Crawls
from aragog.errors import BadInput, InvalidMessage

DOCS = CrawlRecord(
    name="docs", number=7, past=(2, 5), scope=Scope(("host:a.example",)), until_ms=1000, depth=3
)


def test_record_round_trips_with_unknown_fields():
    wire = orjson.dumps({**orjson.loads(DOCS.wire()), "quota": 9})

    record = CrawlRecord.read(wire)

    assert replace(record, unknown_fields={}) == DOCS
    assert orjson.loads(record.wire())["quota"] == 9


@pytest.mark.parametrize("wire", [b"", b"[]", b"{}", b'{"name": "a", "number": 2, "scope": ["x"]}'])
def test_invalid_record_is_refused(wire):
    with pytest.raises(InvalidMessage):
        CrawlRecord.read(wire)


@pytest.mark.parametrize(
    "values",
    [
        {"name": ""}, {"name": "a b"}, {"name": "x" * 65}, {"name": "enqueued"}, {"name": "refresh"},
        {"depth": -1}, {"priority": 10}, {"max_urls": 0}, {"rate": 0.0}, {"max_bytes": 0},
    ],
)  # fmt: skip
def test_invalid_names_and_limits_are_refused(values):
    with pytest.raises(BadInput):
        validate(CrawlRecord(**{"name": "docs", "number": 2, **values}))


def test_crawl_ends_at_its_end_time():
    before = Crawls.from_records({"docs": DOCS}, frozenset({2, 5}), (), now_ms=999)
    after = Crawls.from_records({"docs": DOCS}, frozenset({2, 5}), (), now_ms=1000)

    assert before.ended == {2, 5}
    assert after.ended == {2, 5, 7}
    assert before.get_record(5) is DOCS


def test_paused_crawls_are_found_by_number():
    paused = CrawlRecord(name="docs", number=7, state=CrawlPhase.PAUSED)

    crawls = Crawls.from_records({"docs": paused}, frozenset(), (), now_ms=0)

    assert crawls.paused == {7}
    assert not crawls.can_all_continue


@pytest.mark.parametrize(
    ("kind", "value", "matched"),
    [
        ("url", "http://www.a.example/x", True), ("url", "http://www.a.example/", False),
        ("host", "www.a.example", True), ("host", "a.example", False),
        ("domain", "a.example", True), ("domain", "example", True), ("domain", "w.a.example", False),
        ("pattern", "*/x", True), ("pattern", "*/y", False),
    ],
)  # fmt: skip
def test_cancellation_applies_to_a_url_host_domain_or_pattern(kind, value, matched):
    rule = Cancellation(kind, value, 5)

    assert rule.matches("http://www.a.example/x") is matched
    assert Crawls(cancellations=(rule,)).cancelled_until_s("http://www.a.example/x") == 5 * matched
