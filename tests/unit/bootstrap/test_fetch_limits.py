"""Settings for fetching resources other than pages."""

from aragog.bootstrap.fetch_limits import for_resources
from aragog.settings import FetchSettings, RenderingSettings, Settings


def test_resource_requests_carry_no_credentials_and_have_limits():
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
