"""The proxy that connections go through."""

from __future__ import annotations

import pytest

from aragog.errors import ConfigError
from aragog.fetcher.http1.connection import Proxy


@pytest.mark.parametrize("url", ["socks5://a:1", "https://a:1", "a:1", "http://", "http://a:x"])
def test_a_proxy_that_cannot_be_used_is_a_config_error(url):
    with pytest.raises(ConfigError, match=r"fetch.proxy: must be http://"):
        Proxy(url)


def test_a_proxy_url_carries_its_credentials():
    assert Proxy("http://user:p%40ss@proxy:8080").authorization == "Basic dXNlcjpwQHNz"
