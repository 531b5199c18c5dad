"""Which User-Agent headers contain a contact, and what may be fetched without one."""

from __future__ import annotations

import pytest

from aragog.crawl.fetcher.user_agent import check_user_agent, has_contact
from aragog.errors import ConfigError
from aragog.settings import FetchSettings


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        ("", False),
        ("Mozilla/5.0", False),
        ("bot/1.0 (http://localhost)", False),
        ("bot/1.0 (+https://example.com/bot)", True),
        ("bot/1.0 (crawler@example.com)", True),
        ("bot/1.0 +http://example.com", True),
    ],
)
def test_contact_is_a_web_page_or_an_email_address(agent, expected):
    assert has_contact(FetchSettings(user_agent=agent)) == expected


def refusal(settings, url):
    """The reason why no request may be sent to a URL without a contact, or None."""
    try:
        check_user_agent(settings, url)
    except ConfigError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://localhost:8080/",
        "http://[::1]:8080/",
        "http://shop.localhost/",
        "http://shop.demo:80/x",
        "http://a.test?x=1",
    ],
)
def test_loopback_needs_no_contact(url):
    host_map = {"*.demo": "127.0.0.1:8000", "a.test": "127.0.0.1:8000"}

    assert refusal(FetchSettings(host_map=host_map), url) is None


@pytest.mark.parametrize(
    "url", ["http://example.com/", "http://localhost.example/", "http://8.8.8.8"]
)
def test_public_hosts_need_a_contact(url):
    assert "fetch.user_agent: must contain a contact" in refusal(FetchSettings(), url)
