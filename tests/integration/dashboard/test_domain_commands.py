"""`aragog domain …`: what it lists, changes and records, with a real Redis and store."""

import json

import pytest
from click.testing import CliRunner

from aragog.bootstrap.dashboard import components
from aragog.bootstrap.redis_services import (
    connect_overrides,
    limiter,
    lines_of,
    redis_client,
    robots_cache,
)
from aragog.bootstrap.stores import url_store
from aragog.cli.domain import domain
from aragog.crawl.pipeline.outcome_log import MAX_OUTCOMES, REFUSALS, DomainOutcome, OutcomeLog
from aragog.crawl.pipeline.waiting_urls import ROBOTS, SLOT
from aragog.crawl.politeness.lines import LineEntry
from aragog.crawl.politeness.slots import RateExceeded, SlotRequest
from aragog.dashboard.waiting import waiting_counts
from aragog.fetch_record.outcome import OutcomeKind
from aragog.settings import load_settings
from pinlater.brokers import of_socket

pytestmark = pytest.mark.redis


@pytest.fixture
def settings(own_redis, tmp_path, monkeypatch):
    for name, value in {
        "DATA_DIR": tmp_path,
        "REDIS__URL": own_redis.url,
        "BROKER__URL": of_socket(own_redis.socket, 1),
        "FETCH__USER_AGENT": "aragog-test/1.0 (+http://127.0.0.1/)",
    }.items():
        monkeypatch.setenv(f"ARAGOG_{name}", str(value))
    return load_settings().resolved()


@pytest.fixture
def worker(settings):
    """The limiter of another process."""
    a_limiter = limiter(settings, connect_overrides(settings))
    yield a_limiter
    a_limiter.close()


def run(*args, code=0):
    ran = CliRunner().invoke(domain, [str(arg) for arg in args], catch_exceptions=code == 2)
    assert ran.exit_code == code, ran.output
    return ran.stdout


def rows(*args):
    return {row["domain"]: row for row in json.loads(run("list", "--json", *args))["domains"]}


def stored(settings, *urls):
    store = url_store(settings)
    for url in urls:
        store.put(url, {"page.title": b"x"})
    store.close()


def test_domains_known_to_any_part_of_the_system_are_listed(settings, worker):
    stored(settings, "http://www.stored.example/x", "http://stored.example/")
    lines_of(settings).park([LineEntry("waits.example", 5, b"{}")] * 100)
    worker.report_many([("fails.example", False)] * 4)
    run("rate", "slow.example", 0.5)

    domains = rows()

    assert list(domains) == ["waits.example", "fails.example", "slow.example", "stored.example"]
    assert domains["waits.example"]["cause"] == "its rate, 10 requests/s (politeness.qps)"
    assert domains["fails.example"]["cause"] == "slowed down 4 times after 4 errors in a row"
    assert domains["fails.example"]["qps"] == 2.5
    assert domains["slow.example"]["qps"] == 0.5
    assert domains["stored.example"]["cause"] == ""
    assert next(iter(rows("--sort", "errors"))) == "fails.example"
    assert next(iter(rows("--sort", "rate"))) == "slow.example"
    assert list(rows("stor")) == ["stored.example"]
    assert list(rows("new.example")) == ["new.example"]


def test_showing_robots_and_outcomes_does_not_extend_their_cache(settings):
    rules = robots_cache(settings)
    now_ms = components(settings).clock.now_ms()
    rules.put("https://shop.example", 200, b"User-agent: *\nCrawl-delay: 5", now_ms - 60_000)
    rules.put("https://www.down.example", 503, b"", now_ms)
    log = OutcomeLog(redis_client(settings), prefix="aragog:")
    log.note({"shop.example": [DomainOutcome(OutcomeKind.BUSY, 503)]})
    log.note(
        {"shop.example": [DomainOutcome(OutcomeKind.FETCHED)] * MAX_OUTCOMES, "down.example": []}
    )
    log.note({"shop.example": [DomainOutcome(OutcomeKind.GONE)]})

    domains = rows("shop.example") | rows("down.example")

    shop = domains["shop.example"]
    assert (shop["qps"], shop["robots"], shop["outcomes"]) == (0.2, "200", "9 Fetched, 1 Gone")
    assert 59_000 < shop["robots_age_ms"] < 120_000
    assert domains["down.example"]["robots"] == "503"
    assert domains["down.example"]["cause"].startswith("robots.txt is unreachable, again ")
    assert rules.refreshes.take_expiring(now_ms + 10**9) == []


def test_domain_that_refuses_us_is_listed_until_it_answers(settings):
    log = OutcomeLog(redis_client(settings), prefix="aragog:")
    forbidden, limited = (
        DomainOutcome(OutcomeKind.FORBIDDEN, 403),
        DomainOutcome(OutcomeKind.BUSY, 429),
    )
    timeout, down = DomainOutcome(OutcomeKind.UNREACHABLE), DomainOutcome(OutcomeKind.BUSY, 503)
    log.note({"wall.example": [forbidden, timeout, down], "some.example": [forbidden]})
    log.note({"wall.example": [limited, forbidden] * (REFUSALS // 2)})
    log.note({"down.example": [down] * 20, "some.example": [DomainOutcome(OutcomeKind.GONE, 404)]})
    log.note({"some.example": [forbidden] * (REFUSALS - 1)})

    shown = rows("--sort", "refusing") | rows("some.example") | rows("down.example")

    assert next(iter(rows("--sort", "refusing"))) == "wall.example"
    assert shown["wall.example"]["cause"].startswith("refuses us: 11 responses since 2")
    since_ms, at_ms = (shown["wall.example"][f"refused_{name}_ms"] for name in ("since", "at"))
    assert 0 < since_ms <= at_ms
    assert shown["some.example"]["refused_since_ms"] is None
    assert shown["down.example"]["refused_since_ms"] is None
    assert (log.refusing_domains(9), log.count_refusing()) == (["wall.example"], 1)

    log.note({"wall.example": [DomainOutcome(OutcomeKind.FETCHED, 200), forbidden]})

    assert rows("wall.example")["wall.example"]["cause"] == ""
    assert (log.refusing_domains(9), log.count_refusing()) == ([], 0)


def test_stop_holds_other_processes_until_resume(settings, worker):
    run("stop", "http://www.shop.example/x", "--reason", "asked to")
    (slot,) = worker.reserve([SlotRequest("shop.example")])
    assert isinstance(slot, RateExceeded)
    assert rows("shop.example")["shop.example"]["cause"] == "stopped by an operator"

    run("resume", "shop.example")
    assert rows("shop.example")["shop.example"]["cause"] == ""

    last, first = json.loads(run("history", "--json"))
    assert (first["domain"], first["what"], first["reason"]) == (
        "shop.example",
        "stopped",
        "asked to",
    )
    assert "@" in first["who"]
    assert last["what"] == "resumed"
    assert "asked to" in run("history", "shop.example")


def test_rate_without_a_number_restores_the_default(settings):
    run("rate", "shop.example", 3)
    assert rows("shop.example")["shop.example"]["override"] == "3/s"
    run("rate", "shop.example")
    assert rows("shop.example")["shop.example"]["qps"] == 10


@pytest.mark.parametrize(
    "command",
    [("rate", "shop.example", 0), ("rate", "shop.example", "nan"), ("stop", "no domain"),
     ("list", "--sort", "size"), ("list", "--cursor", "x"), ("history", "--limit", 0)],
)  # fmt: skip
def test_invalid_command_is_refused_and_changes_nothing(settings, command):
    ran = CliRunner().invoke(domain, [str(part) for part in command])

    assert ran.exit_code != 0
    assert json.loads(run("history", "--json")) == []


def test_urls_that_wait_for_robots_txt_are_listed_and_counted_as_such(settings):
    """
    60,000 such URLs appeared on no page and in no list, and were then counted as waiting for a
    slot.
    """
    waiting = [LineEntry("http://silent.example:8080", 5, b"{}")] * 100
    lines_of(settings).park([*waiting, LineEntry("paced.example", 5, b"{}")])

    domains = rows()

    assert domains["silent.example"]["waiting"] == 100
    assert domains["paced.example"]["waiting"] == 1
    causes = waiting_counts(components(settings))
    assert (causes[ROBOTS], causes[SLOT]) == (100, 1)
