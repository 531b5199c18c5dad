"""
A site withdraws a purpose after its page was stored; from then on, the page is reserved for it.
"""

import json

import pytest

from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.urlstore.feed import SETTLE_MS
from aragog.urlstore.records import get_permission
from tests.support.origin import answer, page, redirect

pytestmark = pytest.mark.redis

SEARCH, INPUT, TRAIN = "search", "ai-input", "ai-train"
URL = "http://site.test/page"
TDM = "/.well-known/tdmrep.json"


class Site:
    """A site whose policies change."""

    def __init__(self):
        self.robots = ""
        self.tdm = None
        self.headers = ()
        self.status = 200

    def routes(self):
        return {
            "/robots.txt": lambda *_: answer(200, f"User-agent: *\n{self.robots}\n".encode()),
            TDM: lambda *_: answer(200, json.dumps(self.tdm).encode()) if self.tdm else answer(404),
            "/page": self.page,
            "/from": redirect("/page"),
        }

    def page(self, _request, _wire):
        if self.status != 200:
            return answer(self.status)
        return page(b"<title>title</title>text", headers=self.headers)


@pytest.fixture
def site():
    return Site()


@pytest.fixture
def harness_of(crawl_harness, site):
    def harness(*purposes, **settings):
        return crawl_harness(
            site.routes(), qps=1000, agent="testbot/1.0 (+http://bot.test/)",
            preferences={"purposes": purposes}, robots_fresh_s=60.0, **settings,
        )  # fmt: skip

    return harness


def fetch(harness, *, purposes=None, refresh=True, url=URL):
    harness.crawl([url], EnqueueOptions(refresh=refresh, purposes=purposes))
    return harness.urls.get(url)


def read_rules_again(harness):
    harness.robots.forget(set)


def is_allowed(harness, purpose, url=URL):
    return get_permission(harness.urls.get(url).facts, purpose)[0]


WITHDRAWALS = [
    ("robots", "Content-Usage: train-ai=n", "robots.txt line 2, Content-Usage: train-ai=n"),
    ("robots", "Content-Signal: ai-train=no", "robots.txt line 2, Content-Signal: ai-train=no"),
    ("tdm", [{"location": "/", "tdm-reservation": 1}], "tdmrep.json rule 1"),
]


@pytest.mark.parametrize(("where", "value", "line"), WITHDRAWALS)
@pytest.mark.parametrize("url", [URL, "http://site.test/from"])
def test_purpose_withdrawn_after_storing_reserves_the_page(
    harness_of, site, where, value, line, url
):
    harness = harness_of(TRAIN)
    assert fetch(harness, url=url).fields["page.title"] == b'"title"'

    setattr(site, where, value)
    read_rules_again(harness)
    record = fetch(harness, url=url)

    assert record.facts["outcome"] == "Refused"
    assert line in record.facts["reason"]
    assert (record.fields, record.content_key, harness.urls.content(url)) == ({}, None, None)
    allowed, source = get_permission(record.facts, TRAIN)
    assert allowed is False
    assert line in source


def test_without_purposes_the_page_stays_and_refuses_that_purpose(harness_of, site):
    harness = harness_of()
    fetch(harness)

    site.robots = "Content-Usage: train-ai=n"
    read_rules_again(harness)
    record = fetch(harness)

    assert record.content_key
    assert is_allowed(harness, TRAIN) is False
    assert is_allowed(harness, SEARCH) is None


@pytest.mark.parametrize("status", [404, 403, 503])
def test_failed_fetch_can_withdraw_a_purpose_but_not_allow_one(harness_of, site, status):
    harness = harness_of(retry_first_s=0.01)
    fetch(harness)
    site.robots, site.status = "Content-Usage: train-ai=n", status
    read_rules_again(harness)

    fetch(harness)

    assert is_allowed(harness, TRAIN) is False
    site.robots = "Content-Usage: train-ai=y"
    read_rules_again(harness)
    fetch(harness)
    assert is_allowed(harness, TRAIN) is False
    site.status = 200
    fetch(harness)
    assert is_allowed(harness, TRAIN) is True


def test_one_process_serves_crawls_with_different_purposes(harness_of, site):
    harness = harness_of()
    site.robots = "Content-Usage: train-ai=n"
    fetch(harness, purposes=TRAIN, refresh=False)
    assert harness.urls.get(URL).facts["outcome"] == "Refused"
    assert "/page" not in {seen.path for seen in harness.origin.seen}

    record = fetch(harness, purposes=SEARCH, refresh=False)

    assert (record.facts["outcome"], record.facts["kept_for"]) == ("Fetched", SEARCH)
    assert is_allowed(harness, TRAIN) is False


def test_tdmrep_json_is_read_for_a_job_that_needs_it(harness_of, site):
    harness = harness_of()
    site.tdm = [{"location": "/", "tdm-reservation": 1}]
    fetch(harness, refresh=False)
    assert TDM not in {seen.path for seen in harness.origin.seen}

    record = fetch(harness, purposes=f"{SEARCH} {INPUT}")

    assert record.facts["outcome"] == "Refused"
    assert "tdmrep.json rule 1" in record.facts["reason"]
    assert record.content_key, "the crawl without purposes keeps it"
    assert is_allowed(harness, INPUT) is False


@pytest.mark.parametrize("by", ["robots", "header"])
def test_page_reserved_for_one_crawl_stays_for_the_others(harness_of, site, by):
    harness = harness_of()
    fetch(harness, purposes=TRAIN, refresh=False)
    fetch(harness, purposes=SEARCH, refresh=False)
    assert harness.urls.get(URL).facts["kept_for"] == f"{TRAIN} {SEARCH}"

    if by == "robots":
        site.robots = "Content-Usage: train-ai=n"
        read_rules_again(harness)
    else:
        site.headers = (("Content-Usage", "train-ai=n"),)
    record = fetch(harness, purposes=TRAIN)

    assert (record.facts["kept_for"], record.fields["page.title"]) == (SEARCH, b'"title"')
    assert harness.urls.content(URL) is not None
    assert is_allowed(harness, TRAIN) is False

    site.headers = (("Content-Usage", "search=n, train-ai=n"),)
    record = fetch(harness, purposes=SEARCH)

    assert (record.fields, harness.urls.content(URL)) == ({}, None)


def test_page_stored_for_one_crawl_is_fetched_for_another(harness_of, site):
    harness = harness_of()
    fetch(harness, refresh=False)
    site.headers = (("X-Robots-Tag", "noindex"),)

    fetch(harness, purposes=SEARCH, refresh=False)

    record = harness.urls.get(URL)
    assert record.facts["outcome"] == "Reserved"
    assert record.content_key, "the crawl without purposes keeps it"
    assert [seen.path for seen in harness.origin.seen].count("/page") == 2


def test_refresh_uses_the_purposes_that_the_page_is_kept_for(harness_of, site):
    harness = harness_of()
    fetch(harness, purposes=TRAIN, refresh=False)
    site.robots = "Content-Usage: train-ai=n"
    read_rules_again(harness)

    record = fetch(harness, purposes="as-kept")

    assert record.facts["outcome"] == "Refused"
    assert record.content_key is None


def test_links_are_followed_with_the_purposes_of_their_page(harness_of, site):
    harness = harness_of()
    site.robots = "Content-Usage: /next train-ai=n"
    routes = {"/page": page(b'<a href="/next">n</a>'), "/next": page(b"<title>n</title>")}
    harness.origin.handlers |= routes

    harness.crawl([URL], EnqueueOptions(depth=1, purposes=TRAIN))

    assert harness.urls.get("http://site.test/next").facts["outcome"] == "Refused"


def changes(harness):
    """The feed so far: kind, and whether the entry contains the title."""
    harness.clock.sleep_s(SETTLE_MS / 1000 + 0.1)
    return [
        (change.kind, "page.title" in change.fields) for change in harness.urls.feed.changes().items
    ]


@pytest.mark.parametrize("by", ["robots", "header"])
def test_feed_reports_a_withdrawal_and_no_longer_shows_its_title(harness_of, site, by):
    harness = harness_of(TRAIN)
    harness.urls.schedule.watch(URL, "owner")
    fetch(harness)
    assert changes(harness) == [("new", True)]
    if by == "robots":
        site.robots = "Content-Usage: train-ai=n"
        read_rules_again(harness)
    else:
        site.headers = (("Content-Usage", "train-ai=n"),)

    fetch(harness)
    fetch(harness)

    assert changes(harness) == [("new", False), ("withdrawn", False)]
    entry = harness.urls.feed.changes(owner="owner").items[-1]
    assert (entry.url, entry.owners) == (URL, ("owner",))


def test_feed_reports_a_newly_refused_purpose(harness_of, site):
    harness = harness_of()
    fetch(harness)
    site.robots = "Content-Usage: train-ai=n"
    read_rules_again(harness)

    fetch(harness)
    fetch(harness)

    assert changes(harness) == [("reserved", False)]


def test_returning_page_is_in_the_feed_with_its_values(harness_of, site):
    harness = harness_of(TRAIN)
    harness.urls.schedule.watch(URL, "owner")
    fetch(harness)
    site.headers = (("TDM-Reservation", "1"),)
    fetch(harness)
    site.headers = ()

    fetch(harness)

    assert changes(harness) == [("new", False), ("withdrawn", False), ("new", True)]
