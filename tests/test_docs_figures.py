"""Numbers in the documentation match the code."""

import json
import re
from inspect import signature
from pathlib import Path

import pytest
from click.testing import CliRunner

from aragog.addons.plan.costs import read_costs
from aragog.api.operations import fetching, job_queues
from aragog.api.operations.change_feed import MAX_FEED_WAIT_MS
from aragog.api.operations.crawling import FetchNowRequest
from aragog.api.operations.values import MAX_ITEMS
from aragog.api.server import hedging
from aragog.api.server.http import batch_get, compression, server
from aragog.api.server.listener import IDLE_GRACE_S
from aragog.api.server.thrift import server as thrift_server
from aragog.beat_schedule import beat_schedule
from aragog.cli import enqueue, exit_status, main
from aragog.client import store_client
from aragog.client.connect import POOL_SIZE
from aragog.crawl.fetcher import body_limits, cookies, dns
from aragog.crawl.fetcher.http1 import head, reader
from aragog.crawl.pipeline import (
    in_flight,
    memory_limit,
    messages,
    outcome_log,
    spool,
    spool_reclaim,
    spool_room,
    url_batches,
)
from aragog.crawl.politeness import limiter, permits, robots_cache, robots_memory, slots
from aragog.crawl.politeness.nodes import scripts as script_calls
from aragog.crawl.politeness.robots_parser import match, parse
from aragog.crawl.stages import damaged, first_visit_delays, polite_gate, refresh, webhooks
from aragog.crawl.stages.robots import RobotsStage
from aragog.pages import extractors, sitemaps
from aragog.settings import Settings
from aragog.standalone.demo_sites import seeds
from aragog.urlstore import crawl_budget, feed, freshness, repair
from aragog.urlstore.usual_intervals import DAY_S, HOUR_S, USUAL_S
from bench.crawl import page_sets
from pinlater import flower_pages
from pinlater.retry_policy import RetryPolicy
from tests.support.documented import blocks
from urlspelling import canonical, normalize
from urlspelling.domain import host
from zengraph.links import _outlinks as outlinks

COSTS = read_costs()
DOCS = Path(__file__).resolve().parent.parent / "docs"
DEFAULTS = Settings()
KIB, MIB = 1024, 1024 * 1024


def text_of(page):
    """A page with every run of whitespace replaced by one space."""
    return " ".join((DOCS / page).read_text().split())


FIGURES = {
    "architecture.md": [
        f"its compressed size plus {spool.OVERHEAD_BYTES // KIB} KiB",
        f"while more than {spool_room.MAX_MEMORY_SHARE:.0%}",
        f"refused once {100 * memory_limit.REFUSE_ABOVE_SHARE:.0f}% of `maxmemory`",
        f"by the sweep after {in_flight.ENTRY_TTL_S // 86_400} days",
        f"the last {outcome_log.MAX_OUTCOMES} outcomes, one byte each | fetch | {outcome_log.TTL_S // 86_400} day",
        f"batches of priority 0 to {messages.URGENT}",
    ],
    "cli.md": [
        f"| {exit_status.BAD_LINES} | part of the input could not be used",
        f"| {exit_status.ABSENT} | the answer is no: `show`, `content`: the URL has no record",
    ],
    "client.md": [
        f"send {MAX_ITEMS:,} URLs per request",
        f"`deadline_s` ({store_client.DEADLINE_S:g} s by default)",
        f"the limit is `max_wait_ms` plus {store_client._WAIT_MARGIN_S:g} s",
        f"`pool_size` connections ({POOL_SIZE} by default)",
        f"({100 * memory_limit.REFUSE_ABOVE_SHARE:.0f}% of its `maxmemory`)",
        f"its unconfirmed URLs after at most {in_flight.TAKEOVER_AFTER_S} s",
        f"longer than {enqueue.MAX_LINE_BYTES // KIB} KiB",
    ],
    "extending.md": [
        f"up to {extractors.MAX_VALUE_BYTES // KIB} KiB each and {extractors.MAX_FIELDS} per page",
    ],
    "fetching.md": [
        f"more than {body_limits.BOMB_RATIO} times its compressed size",
        f"skipped, {reader.MAX_INTERIM_RESPONSES} at most",
        f"are followed, {DEFAULTS.fetch.max_redirects} at most",
    ],
    "http.md": [
        f"up to {MAX_ITEMS:,} records",
        f"Once a response contains {batch_get.MAX_BYTES // MIB} MiB",
        f"how long to wait, at most {fetching.MAX_WAIT_MS:,}",
        f"up to {url_batches.MAX_CALLS} times",
        f"`127.0.0.1:{DEFAULTS.serving.http_port}`",
        f'"max_wait_ms": {FetchNowRequest("").max_wait_ms}, "max_age": 0, "field_max_age"',
        f"Text and JSON responses of {compression.MIN_BYTES // KIB} KiB or more",
        f"exits, after {server.DRAIN_S} s at most",
    ],
    "operations.md": [
        f"one process sends at most {DEFAULTS.fetch.concurrency} requests at a time",
        f"Once {100 * memory_limit.REFUSE_ABOVE_SHARE:.0f}% of the memory is in use",
        f"up to {flower_pages.MAX_JOBS:,} jobs of one state",
    ],
    "performance.md": [
        f"serves on {page_sets.HOSTS} loopback hosts",
        f"for fetched bodies is only {(40 * MIB // spool.MAXMEMORY_DIVISOR) // MIB} MiB",
        f"full batches of {DEFAULTS.pipeline.batch_size} URLs",
        f"claims up to {refresh._MAX_CLAIMED:,} URLs in five seconds",
        f"refreshes up to {signature(RobotsStage.refresh_expiring).parameters['max_origins'].default:,} files per minute",
        f"wrote {COSTS['hbase_rows_per_s'].value:,.0f} rows/s on two cores",
        f"writes {COSTS['hbase_rows'].value:g} rows of 1 KB",
    ],
    "politeness.md": [
        f"sends each registered domain at most {DEFAULTS.politeness.qps:g} requests per second (`politeness.qps`)",
        f"again, down to 1/{limiter.MAX_BACKOFF_PERCENT // 100}.",
        f"`PERMIT_TTL_US` ({script_calls.PERMIT_TTL_US / 1e6:g} s)",
        f"within {permits.WRITE_ALLOWANCE_US // 1000} ms of getting its permit",
        (
            f"asks for the permit {slots.PERMIT_LEAD_US // 1000} ms early, and the limiter grants"
            f" permits up to {script_calls.MAX_GRANT_LEAD_US // 1000} ms ahead"
        ),
        f"is free again after {script_calls.CONCURRENCY_TTL_S} s",
        f"({DEFAULTS.politeness.robots_domain_max_bytes // MIB} MiB, about 40,000",
        f"of at most {robots_memory.MAX_FILES:,} files, and at most {robots_memory.MAX_RULES:,} rules",
        f"checks at most once every {robots_cache.RECHECK_S:g} s",
        f"the rules in the first {parse.MAX_BYTES // KIB} KiB of the body apply",
        f"wait more than {polite_gate.ROBOTS_WAIT_MS // 1000} s in total",
        f"`politeness.robots_fresh_s` ({DEFAULTS.politeness.robots_fresh_s / HOUR_S:g} h)",
        f"`politeness.robots_usable_s` ({DEFAULTS.politeness.robots_usable_s / DAY_S:g} days)",
        f"| distinct rules of one agent | {parse.MAX_RULES:,} |",
        f"| work of one check | {match.MAX_WORK // 10**6} million character comparisons",
    ],
    "refresh.md": [
        f"contains up to {webhooks.MAX_CHANGES} changes and these headers",
        f"longer than {feed.MAX_VALUE_BYTES // KIB} KB",
        f"at most {MAX_FEED_WAIT_MS:,}",
        (
            f"after {DEFAULTS.webhooks.first_retry_s:g} s, and the delay doubles each time, up to six hours,"
            f" for at most {DEFAULTS.webhooks.max_attempts} attempts"
        ),
        f"priority {messages.PRIORITY_REFRESH} in the queue, after new URLs ({messages.PRIORITY_DEFAULT})",
        f"due again after {refresh.CLAIM_S / 60:g} minutes",
        f"a sample of {freshness.SAMPLE:,} rows",
        f"at most {crawl_budget.MAX_WAIT_S / DAY_S:g} days",
    ],
    "security.md": [
        f"kept for {dns.TTL_S:g} s (a failure for {dns.FAILURE_TTL_S:g} s)",
        f"{cookies.MAX_COOKIES} cookies, {cookies.MAX_HEADER_BYTES // KIB} KB per header",
        (
            f"{parse.MAX_BYTES // KIB} KiB; {parse.MAX_RULES:,} rules for one agent;"
            f" {match.MAX_WORK // 10**6} million comparisons"
        ),
        f"{sitemaps.MAX_BYTES // MIB} MB, {sitemaps.MAX_URLS:,} URLs",
    ],
    "store.md": [
        f"changed {outlinks.MAX_CHANGES:,} times since the last compaction",
        f"it waits {'ten' if repair.GRACE_S == 600 else '?'} minutes before it removes",
        f"again every {'ten' if damaged.WAIT_MS == 600_000 else '?'} minutes",
    ],
    "thrift.md": [
        f"`127.0.0.1:{DEFAULTS.serving.thrift_port}`",
        (
            f"at least {100 * hedging.MIN_STANDBY_SHARE:g}% of reads twice, to keep the replica warm, and"
            f" at most {100 * hedging.MAX_STANDBY_SHARE:g}%"
        ),
        f"idle for {IDLE_GRACE_S} s, and exits within {thrift_server.DRAIN_S:g} s",
        f"(after {job_queues.DEFAULT_CLAIM_MS // 1000} s unless the worker asks for more)",
    ],
    "urls.md": [
        f"through more than {canonical.MAX_STEPS} URLs",
    ],
}


@pytest.mark.parametrize(
    ("page", "statement"), [(page, each) for page, some in FIGURES.items() for each in some]
)
def test_number_matches_the_code(page, statement):
    assert statement in text_of(page)


def test_readme_states_the_size_of_the_demo_web():
    urls = seeds()
    hosts = {host(normalize(url)) for url in urls} - {"nobody-lives-here.test.invalid"}

    assert round(len(urls), -1) == 70
    assert len(hosts) == 10
    readme = " ".join((DOCS.parent / "README.md").read_text().split())
    assert "serves about 70 pages on loopback under ten host names" in readme


@pytest.mark.parametrize(
    ("constant", "value", "page", "statement"),
    [
        (limiter.ERRORS_BEFORE_BACKOFF, 3, "politeness.md", "three errors in a row halve the rate"),
        (limiter.STOPPED_RETRY_S, 300, "politeness.md", "postponed by five minutes at a time"),
        (
            crawl_budget.HOPELESS_AGES,
            6,
            "refresh.md",
            "whose age is six times the domain's usual interval",
        ),
        (
            first_visit_delays.MAX_IMMEDIATE_WAIT_S,
            10,
            "architecture.md",
            "than its rate allows in ten seconds",
        ),
        (spool_reclaim.MIN_IDLE_S, 300, "architecture.md", "nobody has read for five minutes"),
        (head.MAX_CODINGS, 5, "fetching.md", "decoded, five at most"),
        (feed.SETTLE_MS, 2000, "refresh.md", "with a delay of two seconds"),
        (fetching.MAX_WAIT_MS, 60_000, "thrift.md", "it waits up to a minute for a job"),
        (hedging.DOWN_P99_FACTOR, 10, "thrift.md", "ten times its 99th percentile (50 to 250 ms)"),
        (url_batches.TTL_S, 3 * 86_400, "http.md", "is kept for three days"),
        (
            beat_schedule["refresh URLs that are due"]["schedule"],
            5,
            "performance.md",
            "in five seconds",
        ),
        (
            beat_schedule["refresh robots.txt about to expire"]["schedule"],
            60,
            "performance.md",
            "files per minute",
        ),
        (RetryPolicy().max_attempts, 10, "deployment.md", "fails (state FAILED) after 10 attempts"),
    ],
)
def test_number_in_words_matches_the_code(constant, value, page, statement):
    assert constant == value
    assert statement in text_of(page)


def seconds(text):
    number, unit = text.split()
    return float(number) * {"h": HOUR_S, "d": DAY_S}[unit]


def test_usual_intervals_match_the_code():
    table = (DOCS / "refresh.md").read_text().partition("## The interval")[2].partition("\n\n`")[0]
    intervals = {}
    for line in table.splitlines():
        if not line.startswith("| `"):
            continue
        types, usual, fields = (cell.strip() for cell in line.strip("|").split("|"))
        for page_type in re.findall(r"`(\w+)`", types):
            intervals[page_type] = seconds(usual)
            for some in filter(None, fields.split(";")):
                for name in re.findall(r"`(\w+)`", some):
                    intervals[f"{page_type}.{name}"] = seconds(" ".join(some.split()[-2:]))

    def of_type(name):
        return USUAL_S[name.partition(".")[0]]

    # A field with the interval of its type is left out, and so are the bytes of pages without a
    # type.
    own = {k: s for k, s in USUAL_S.items() if "." not in k or s != of_type(k)}
    own.pop("body")
    # Files, not page types: they are listed in the section about signals.
    assert (own.pop("sitemap"), own.pop("feed")) == (DAY_S, 6 * HOUR_S)
    assert "a sitemap is read once a day and a feed every six hours" in text_of("refresh.md")
    assert intervals == own


def crawl_costs():
    """CPU ms per page of each set and side, from the table that `bench.crawl` writes."""
    text = (DOCS / "performance.md").read_text()
    (sides,) = re.findall(r"^\| set \| \| (.+) \|$", text, re.MULTILINE)
    rows = re.findall(r"^\| (.+) \| CPU per page \(ms\) \| (.+) \|$", text, re.MULTILINE)
    return {
        pages: dict(zip(sides.split(" | "), map(float, figures.split(" | ")), strict=True))
        for pages, figures in rows
    }


def reference_ms():
    """The time of the reference work on the machine that performance.md describes."""
    stated = re.search(
        r"`python -m bench.reference`, .*?: it takes ([\d.]+) ms on this machine",
        text_of("performance.md"),
    )
    return float(stated[1])


def test_chart_of_page_costs_matches_the_table():
    (chart,) = blocks("docs/performance.md", "mermaid")
    names, bars = (json.loads(re.search(rf"{part} (.*)", chart)[1]) for part in ("x-axis", "bar"))
    costs = {
        f"{pages}, {side}": ms for pages, of in crawl_costs().items() for side, ms in of.items()
    }

    assert dict(zip(names, bars, strict=True)) == costs


def test_plan_of_a_billion_urls_is_the_output_of_the_command():
    result = CliRunner().invoke(main, ["plan", "--urls", "1e9", "--domains", "1e7"])

    assert " ".join(result.output.split()) in text_of("performance.md")


@pytest.mark.parametrize(
    ("row", "cost"),
    [
        ("canonicalize", "canonicalize"),
        ("fetch", "fetch"),
        ("store", "store"),
        ("redis", "redis_shared"),
    ],
)
def test_cost_in_the_plan_is_the_measured_one(row, cost):
    """Within 15%, the variation of measurements, in units of the reference work."""
    table = (DOCS / "performance.md").read_text().partition("| CPU ms per page, by process |")[2]
    (measured,) = re.findall(rf"^\| {row} \| ([\d.]+) \|", table, re.MULTILINE)[:1]
    expected = float(measured) * COSTS["reference"].value / reference_ms()

    assert COSTS[cost].value == pytest.approx(expected, rel=0.15)


def test_scale_page_has_the_cost_of_a_page_in_units_of_the_plan():
    measured = crawl_costs()["docs"]["aragog"] * COSTS["reference"].value / reference_ms()
    stated = re.search(
        r"all stages together take ([\d.]+) ms per page with SQLite", text_of("performance.md")
    )

    assert float(stated[1]) == pytest.approx(measured, rel=0.03)


@pytest.mark.parametrize(
    ("cost", "statement"),
    [
        ("compaction", "enough for {:,} pages/s"),
        ("redis_shared", "one core sustains {:,} pages/s"),
        ("redis_limiter", "one core sustains {:,} URLs/s"),
    ],
)
def test_scale_page_states_the_rate_of_a_core(cost, statement):
    stated = re.search(statement.replace("{:,}", "([\\d,]+)"), text_of("performance.md"))

    assert int(stated[1].replace(",", "")) == pytest.approx(1000 / COSTS[cost].value, rel=0.04)


@pytest.mark.parametrize("cost", ["compaction", "redis_shared", "redis_limiter"])
def test_scale_page_states_the_cost(cost):
    assert f"{COSTS[cost].value:g} ms" in text_of("performance.md")
