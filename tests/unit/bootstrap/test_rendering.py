"""Settings of rendering: what a page's requests carry, and what is refused before anything starts."""

import pytest

from aragog.bootstrap.rendering import check_rendering, for_resources
from aragog.errors import ConfigError
from aragog.settings import FetchSettings, RenderingSettings, Settings


def test_the_requests_of_a_page_carry_no_credentials_and_stay_within_its_limits():
    fetch = FetchSettings(
        basic_auth={"shop.test": "user:password"},
        origin_headers={"https://shop.test": "Authorization: secret"},
        headers={"X-Team": "crawl"},
        cookies=True,
    )

    found = for_resources(
        Settings(fetch=fetch, rendering=RenderingSettings(deadline_s=7.0, max_bytes=1_000))
    )

    assert (found.basic_auth, found.origin_headers, found.cookies) == ({}, {}, False)
    assert (found.deadline_s, found.max_body_bytes, found.max_wire_bytes) == (7.0, 1_000, 1_000)
    assert found.headers == {"X-Team": "crawl"}
    assert found.content_types == ("*/*",)


def test_a_browser_is_only_asked_for_where_hosts_are_named():
    missing = RenderingSettings(browser="no-such-browser", sandbox=False)
    check_rendering(Settings(rendering=missing))

    named = RenderingSettings(hosts=("shop.test",), browser="no-such-browser", sandbox=False)
    with pytest.raises(ConfigError, match="none of no-such-browser can be run; install Chromium"):
        check_rendering(Settings(rendering=named))


def test_a_wrong_host_is_named_before_anything_starts():
    with pytest.raises(ConfigError, match=r"rendering\.hosts: 'https://shop\.test/' is not a host"):
        check_rendering(Settings(rendering=RenderingSettings(hosts=("https://shop.test/",))))
