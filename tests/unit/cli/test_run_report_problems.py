"""Which setting a URL needs that a run could not store."""

from pathlib import Path

import pytest

from aragog.cli.run_report import setting_of
from aragog.cli.run_tracker import NotStored
from aragog.fetcher.ssrf import SsrfFilter
from aragog.settings import PolitenessSettings, Settings

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
def test_what_the_ssrf_filter_blocks_names_the_settings_that_permit_it(url, settings):
    problem = NotStored(url, "Blocked", SsrfFilter().vet_url(url))

    assert setting_of(problem, Settings()) == settings


@pytest.mark.parametrize(
    ("outcome", "reason", "setting"),
    [
        ("Blocked", "intranet.example resolves to 10.0.0.1, which is private", "fetch.allowed_networks"),
        ("Blocked", "fetch.user_agent: must contain a contact", "fetch.user_agent"),
        ("Blocked", "politeness.blocked_hosts blocks example.com", "politeness.blocked_hosts"),
        ("Blocked", "/etc/overrides.toml blocks example.com", "politeness.overrides_file"),
        ("Refused", "refused by robots.txt line 2, Disallow: /a.b/ (group for *)", ""),
        ("TooLarge", "truncated at 5 bytes", "fetch.max_body_bytes"),
        ("Unreadable", "image/png is not supported", "fetch.content_types"),
        ("Gone", "404 Not Found", ""),
    ],
)  # fmt: skip
def test_other_outcomes_name_the_setting_where_there_is_one(outcome, reason, setting):
    file = Path("/etc/overrides.toml")
    settings = Settings(politeness=PolitenessSettings(overrides_file=file))

    assert setting_of(NotStored("http://intranet.example/", outcome, reason), settings) == setting
