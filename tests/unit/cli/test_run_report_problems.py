"""The setting that would let a run store a failed URL."""

from dataclasses import replace

import pytest

from aragog.cli.run_report import settings_to_change
from aragog.cli.run_tracker import NotStored
from aragog.crawl.fetcher.ssrf import SsrfFilter
from aragog.fetch_record.causes import RefusalCause
from aragog.settings import FetchSettings, PolitenessSettings, Settings

WITH_CONTACT = Settings(fetch=FetchSettings(user_agent="testbot/1 (+https://test.example/bot)"))
BOTH = "fetch.allowed_ports, fetch.allowed_networks"


@pytest.mark.parametrize(
    ("url", "settings"),
    [
        ("http://127.0.0.1:9000/", BOTH),
        ("http://127.0.0.1/", "fetch.allowed_networks"),
        ("http://intranet/", "fetch.allowed_networks"),
        ("https://example.com:8443/", "fetch.allowed_ports"),
        ("http://169.254.169.254/", ""),
        ("http://metadata.google.internal/", ""),
    ],
)
def test_url_blocked_by_the_ssrf_filter_is_reported_with_the_settings_that_permit_it(url, settings):
    problem = NotStored(url, "Blocked", SsrfFilter().vet_url(url))

    assert settings_to_change(problem, WITH_CONTACT) == settings


@pytest.mark.parametrize(
    ("outcome", "reason", "setting"),
    [
        ("Blocked", "intranet.example resolves to 10.0.0.1, which is private", "fetch.allowed_networks"),
        ("Refused", "refused by robots.txt line 2, Disallow: /a.b/ (group for *)", ""),
        ("TooLarge", "truncated at 5 bytes", "fetch.max_body_bytes"),
        ("Unreadable", "image/png is not supported", "fetch.content_types"),
        ("Gone", "404 Not Found", ""),
    ],
)  # fmt: skip
def test_other_outcomes_are_reported_with_their_setting_if_any(outcome, reason, setting):
    problem = NotStored("http://intranet.example/", outcome, reason)

    assert settings_to_change(problem, WITH_CONTACT) == setting


NETWORKS = "fetch.allowed_networks"
BLOCKING = Settings(politeness=PolitenessSettings(blocked_hosts=("bad.example",)))


@pytest.mark.parametrize(
    ("cause", "url", "settings", "setting"),
    [
        (RefusalCause.NO_CONTACT, "http://example.com/", Settings(), "fetch.user_agent"),
        (RefusalCause.BLOCKED_HOST, "http://a.bad.example/", BLOCKING, "politeness.blocked_hosts"),
        (RefusalCause.BLOCKED_HOST, "http://live.example/", BLOCKING, ""),
        (RefusalCause.URL, "http://127.0.0.1/", Settings(), NETWORKS),
        (RefusalCause.ADDRESS, "http://intranet.example/", Settings(), NETWORKS),
        ("of a newer version", "http://intranet.example/", WITH_CONTACT, NETWORKS),
        (None, "http://bad.example/", BLOCKING, "fetch.user_agent"),
        (
            None,
            "http://bad.example/",
            replace(BLOCKING, fetch=WITH_CONTACT.fetch),
            "politeness.blocked_hosts",
        ),
    ],
)
def test_setting_depends_on_the_cause_not_on_the_wording(cause, url, settings, setting):
    for reason in ("", "says fetch.max_redirects and politeness.qps", "résumé of the cause"):
        assert settings_to_change(NotStored(url, "Blocked", reason, cause), settings) == setting


def test_blocked_redirect_target_is_reported_with_the_blocking_setting():
    """The requested URL has a public host on port 80, which nothing blocks."""
    given, target = "http://example.com/", "http://10.0.0.7:9200/_search"

    problem = NotStored(given, "Blocked", "a reason", RefusalCause.URL, target)

    assert settings_to_change(problem, Settings()) == BOTH


def test_host_blocked_by_the_overrides_file_is_reported_with_that_file(tmp_path):
    file = tmp_path / "overrides.toml"
    file.write_text('["example.com"]\nblocked = true\n')
    settings = replace(WITH_CONTACT, politeness=PolitenessSettings(overrides_file=file))
    problem = NotStored("http://www.example.com/", "Blocked", f"{file} blocks example.com")

    assert settings_to_change(problem, settings) == "politeness.overrides_file"
