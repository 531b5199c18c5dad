"""An egress route and its proxy."""

import pytest

from aragog.crawl.egress.routes import EgressRoute
from aragog.errors import ConfigError
from aragog.runtime.secret import reveal
from aragog.settings import WaySettings

URL = "http://www.shop.test/x"


@pytest.mark.parametrize("url", ["https://a:1", "a:1", "http://", "http://a:x", "ftp://a:1"])
def test_unusable_proxy_is_a_config_error(url):
    with pytest.raises(ConfigError, match=r"fetch.proxy: must be http://"):
        EgressRoute.from_fetch_proxy(url)


def test_fetch_proxy_has_a_login_that_is_never_shown():
    way = EgressRoute.from_fetch_proxy("http://user:p%40ss@proxy:8080")
    server = way.server(URL, "", 0)

    assert (server.host, server.port, reveal(server.user)) == ("proxy", 8080, "user")
    assert reveal(server.password) == "p@ss"
    assert "p@ss" not in f"{way!r}{server!r}{server.redacted_url}"
    assert "p%40ss" not in f"{way!r}{server!r}"


@pytest.mark.parametrize(
    ("scheme", "protocol", "resolves"),
    [("http", "http", False), ("socks5", "socks5", False), ("socks5h", "socks5", True)],
)
def test_scheme_decides_the_protocol_and_who_resolves(scheme, protocol, resolves):
    way = EgressRoute.from_settings("far", WaySettings(proxy=f"{scheme}://proxy:1080"))
    server = way.server(URL, "", 0)

    assert (server.scheme, server.resolves_names) == (protocol, resolves)


def test_placeholders_in_braces_create_sessions(monkeypatch):
    monkeypatch.setenv("LOGIN", "c-{crawl}-{session}:{host}")
    settings = WaySettings(proxy="http://{domain}.gate.test:7777", login="env:LOGIN", session_s=10)
    way = EgressRoute.from_settings("pool", settings)
    server = way.server(URL, "prices", 0)

    assert server.host == "shop.test.gate.test"
    assert reveal(server.user).startswith("c-prices-")
    assert reveal(server.password) == "www.shop.test"
    assert way.key(URL, "prices", 0) == way.key(URL, "prices", 9_999)
    assert len({way.key(URL, crawl, at) for crawl in ("", "x") for at in (0, 10_000)}) == 4


def test_route_without_placeholders_has_one_key():
    way = EgressRoute.from_settings("office", WaySettings(proxy="http://proxy:1"))

    assert way.key(URL, "a", 0) == way.key("http://other.test/", "b", 10**9) == "office"


def test_login_too_long_for_a_proxy_is_a_config_error_without_its_text():
    with pytest.raises(ConfigError, match="255 bytes") as caught:
        EgressRoute.from_fetch_proxy(f"socks5://me:{'x' * 256}@proxy:1")
    assert "xxx" not in str(caught.value)
