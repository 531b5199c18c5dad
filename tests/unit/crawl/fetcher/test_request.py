"""URLs split into the parts of a connection and a request line."""

from __future__ import annotations

import pytest

from aragog.crawl.fetcher.request import Target


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.test/", ("http", "a.test", 80, "a.test", "/")),
        ("https://a.test/x?y#z", ("https", "a.test", 443, "a.test", "/x?y")),
        ("http://a.test:8080?q=/", ("http", "a.test", 8080, "a.test:8080", "/?q=/")),
        ("http://[::1]/", ("http", "[::1]", 80, "[::1]", "/")),
        ("http://[::1]:81/", ("http", "[::1]", 81, "[::1]:81", "/")),
        ("http://user:pw@a.test/", ("http", "a.test", 80, "a.test", "/")),
    ],
)
def test_url_is_split_into_connection_and_request_parts(url, expected):
    target = Target(url)

    parts = (target.scheme, target.host, target.port, target.host_header, target.path)
    assert parts == expected
