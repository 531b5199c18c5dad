"""Which setting a URL needs that a run could not store."""

import pytest

from aragog.cli.run_report import setting_of
from aragog.cli.run_tracker import NotStored
from aragog.crawl.fetcher.ssrf import SsrfFilter
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
        ("Refused", "refused by robots.txt line 2, Disallow: /a.b/ (group for *)", ""),
        ("TooLarge", "truncated at 5 bytes", "fetch.max_body_bytes"),
        ("Unreadable", "image/png is not supported", "fetch.content_types"),
        ("Gone", "404 Not Found", ""),
    ],
)  # fmt: skip
def test_other_outcomes_name_the_setting_where_there_is_one(outcome, reason, setting):
    assert setting_of(NotStored("http://intranet.example/", outcome, reason), Settings()) == setting


def test_a_host_that_the_overrides_file_blocks_names_that_file(tmp_path):
    file = tmp_path / "overrides.toml"
    file.write_text('["example.com"]\nblocked = true\n')
    settings = Settings(politeness=PolitenessSettings(overrides_file=file))
    problem = NotStored("http://www.example.com/", "Blocked", f"{file} blocks example.com")

    assert setting_of(problem, settings) == "politeness.overrides_file"
