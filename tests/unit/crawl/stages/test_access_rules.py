"""The same access rules apply to first URLs, redirect targets, robots.txt and sitemaps."""

from dataclasses import replace

import pytest

from aragog.crawl.fetcher.gate import Deny, Go, Later
from aragog.crawl.politeness.robots_records import RulesState
from aragog.crawl.politeness.slots import Slot
from aragog.crawl.stages.access_rules import (
    AccessRequest,
    Allowed,
    Forbidden,
    RequestKind,
    RulesUnknown,
    RulesUnreachable,
)
from aragog.crawl.stages.polite_gate import PoliteGate
from aragog.fetch_record.causes import DeferralCause, RefusalCause
from aragog.settings import FetchSettings, PreferencesSettings
from tests.support.stores import NOW_MS

LOCAL, PUBLIC = "http://127.0.0.1/", "http://b.example/"
KINDS = list(RequestKind)


def rules_of(ports, **settings):
    return replace(ports.access_rules(), settings=replace(ports.settings, **settings))


def gate_of(rules, kind=RequestKind.PAGE):
    return PoliteGate(rules, Slot("a.example", NOW_MS * 1000.0, 0, 1e5, 1), kind)


@pytest.mark.parametrize("kind", KINDS)
def test_only_loopback_may_be_requested_without_a_contact(ports, kind):
    for url in (LOCAL, PUBLIC):
        ports.robots.know(url[:-1])
    rules = rules_of(ports, fetch=FetchSettings(user_agent=""))

    local, public = rules.verdicts([AccessRequest(url, (url,), kind) for url in (LOCAL, PUBLIC)])

    assert isinstance(local, Allowed)
    assert isinstance(public, Forbidden)
    assert public.cause is RefusalCause.NO_CONTACT


def test_redirect_to_a_public_host_is_denied_without_a_contact(ports):
    """Regression: it waited for robots.txt forever, since only first URLs were checked."""
    admission = gate_of(rules_of(ports, fetch=FetchSettings(user_agent=""))).admit(PUBLIC, PUBLIC)

    assert isinstance(admission, Deny)
    assert admission.cause is RefusalCause.NO_CONTACT


@pytest.mark.parametrize("kind", KINDS)
def test_url_that_was_taken_down_is_never_requested(ports, kind):
    ports.robots.know(PUBLIC[:-1])
    ports.store.takedowns.take_down(url=PUBLIC)

    verdict = ports.access_rules().verdict(AccessRequest(PUBLIC, (PUBLIC,), kind))

    assert verdict == Forbidden(RefusalCause.TAKEN_DOWN, "was taken down")


@pytest.mark.parametrize("kind", KINDS)
def test_address_denied_by_the_ssrf_filter_is_never_requested(ports, kind):
    ports.robots.know(PUBLIC[:-1])
    ports.ssrf_filter.refused[PUBLIC] = "a private address"

    verdict = ports.access_rules().verdict(AccessRequest(PUBLIC, (PUBLIC,), kind))

    assert verdict == Forbidden(RefusalCause.URL, "a private address")


def test_robots_txt_itself_needs_no_rules(ports):
    robots = AccessRequest(PUBLIC + "robots.txt", (PUBLIC + "robots.txt",), RequestKind.ROBOTS)

    assert ports.access_rules().verdicts([robots, AccessRequest(PUBLIC, (PUBLIC,))]) == [
        Allowed(None),
        RulesUnknown(),
    ]


def test_redirected_sitemap_is_not_checked_for_purposes(ports):
    ports.robots.know(PUBLIC[:-1], "User-agent: *\nContent-Usage: train-ai=n\n")
    rules = rules_of(ports, preferences=PreferencesSettings(purposes=("ai-train",)))

    of_page = gate_of(rules).admit(PUBLIC, PUBLIC)
    of_sitemap = gate_of(rules, RequestKind.SITEMAP).admit(PUBLIC, PUBLIC)

    assert isinstance(of_page, Deny)
    assert of_page.cause is RefusalCause.PURPOSE
    assert isinstance(of_sitemap, Go)


def test_redirect_target_with_unreachable_robots_txt_is_deferred_not_refused(ports):
    closed = "User-agent: *\nDisallow: /\n"
    ports.robots.know(PUBLIC[:-1], closed, unreachable=True, retry_at_ms=NOW_MS + 600_000)

    admission = gate_of(ports.access_rules()).admit(PUBLIC, PUBLIC)
    verdict = ports.access_rules().verdict(AccessRequest(PUBLIC, (PUBLIC,)))

    assert isinstance(admission, Later)
    assert admission.cause is DeferralCause.RULES
    assert isinstance(verdict, RulesUnreachable)
    assert verdict.retry_at_ms == NOW_MS + 600_000


def test_stale_rules_allow_and_are_marked_as_stale(ports):
    ports.robots.know(PUBLIC[:-1], "User-agent: *\nCrawl-delay: 3\n", RulesState.STALE)

    assert ports.access_rules().verdict(AccessRequest(PUBLIC, (PUBLIC,))) == Allowed(
        3.0, stale=True
    )
