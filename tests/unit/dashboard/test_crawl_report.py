"""Crawl reports as JSON, Markdown and HTML."""

import re
from collections import Counter
from html.parser import HTMLParser

import orjson

from aragog.crawl.pipeline.crawl_counts import CrawlCounts
from aragog.crawl.pipeline.crawl_records import CrawlRecord
from aragog.crawl.pipeline.crawl_scope import Scope
from aragog.crawl.stages.achieved_rates import AchievedRates
from aragog.crawl.stages.crawl_reports import CrawlReport, FailedUrls, OpenDomain
from aragog.crawl.stages.crawl_status import CrawlStatus
from aragog.dashboard.crawl_report import (
    plain_report,
    report_html,
    report_markdown,
)

EVIL = "<script>alert(1)</script>|"
OUTCOMES = {"stored": 90, "gone: 404": 6, f"unreadable: {EVIL}": 3, "refused: robots": 1}
REPORT = CrawlReport(
    CrawlStatus(
        CrawlRecord(
            name="docs", number=7, past=(3,), scope=Scope(("host:a.example",)), notify_secret="s3cret",
            created_at_ms=1_700_000_000_000, every_s=86_400, round=2,
            next_round_ms=1_800_000_000_000,
        ),
        CrawlCounts(120, 20, OUTCOMES, 0, 4_000, {"unchanged": 5, "duplicate": 2, "trap": 4}),
    ),
    {"a.example": Counter(OUTCOMES)},
    {472_222: Counter(stored=80), 472_225: Counter({"stored": 10, "gone: 404": 6})},
    (FailedUrls("a.example", f"unreadable: {EVIL}", 3, 2, 1),),
    (
        OpenDomain("silent.example", 5, 10.0, None, "robots.txt is unreachable", True),
        OpenDomain("a.example", 15, 0.5, 30.0, "Crawl-delay of 2 s in robots.txt", False, 0.25),
    ),
    2,
    achieved=AchievedRates(0.25, 0.4),
)  # fmt: skip


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.loads = Counter(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags[tag] += 1
        self.loads += [value for name, value in attributes if name in ("src", "href", "data")]


def test_json_report_has_every_part_and_no_secrets():
    plain = orjson.loads(orjson.dumps(plain_report(REPORT)))

    assert plain["crawl"]["outcomes"] == OUTCOMES
    assert plain["crawl"]["notes"] == {"unchanged": 5, "duplicate": 2, "trap": 4}
    assert plain["refused"] == {"refused: robots": 1}
    assert (plain["seconds_left"], plain["stuck"], plain["traps"]) == (30.0, 5, 4)
    assert plain["failures"][0]["today"] == 2
    assert [one["domain"] for one in plain["open"]] == ["silent.example", "a.example"]
    assert [one["achieved_rate"] for one in plain["open"]] == [0.0, 0.25]
    assert plain["rates"] == {"achieved": 0.25, "achieved_recently": 0.4, "in_force": 0.5}
    assert "s3cret" not in str(plain)


def test_html_report_loads_nothing_and_escapes_web_content():
    html = report_html(REPORT)
    tags = Tags(html)

    assert tags.loads == []
    assert tags.tags["script"] == 0
    assert tags.tags["svg"] == 2
    assert not re.search(r"@import|url\(", html)
    assert "&lt;script&gt;" in html
    assert "<td>achieved since the start</td><td>0.25</td>" in html


def test_markdown_report_has_failures_delays_and_the_time_left():
    text = report_markdown(REPORT)

    for line in (
        "| gone: 404 | 6 |",
        "| at current rates | 30 s, until a.example is done |",
        "| on paused domains | 5 URLs |",
        "| silent.example | 5 |",
        "| a.example | 15 | 0.5/s | 0.25/s | 30 s | Crawl-delay of 2 s in robots.txt |",
        "| achieved since the start | 0.25 |",
        "| achieved in this hour and the one before | 0.4 |",
        "| allowed by the open domains | 0.5 |",
        "| unchanged since they were stored | 5 |",
        "| duplicates of another URL | 2 |",
        "| skipped as crawler traps | 4 |",
    ):
        assert line in text.splitlines(), text
    assert f"| unreadable: {EVIL.replace('|', chr(92) + '|')} | a.example | 3 | 2 | 1 |" in text


def test_crawl_without_urls_has_a_report():
    empty = CrawlReport(CrawlStatus(CrawlRecord(name="docs", number=2), CrawlCounts()), {}, {})

    assert report_markdown(empty).startswith("# docs\n")
    assert Tags(report_html(empty)).tags["svg"] == 0
