"""One connection: its proxy, and how long responses wait to be read."""

from __future__ import annotations

import socket

import pytest

from aragog.crawl.fetcher.http1.connection import HttpConnection, Peer, Proxy
from aragog.errors import ConfigError
from tests.support.waiting import wait_until


@pytest.mark.parametrize("url", ["socks5://a:1", "https://a:1", "a:1", "http://", "http://a:x"])
def test_a_proxy_that_cannot_be_used_is_a_config_error(url):
    with pytest.raises(ConfigError, match=r"fetch.proxy: must be http://"):
        Proxy(url)


def test_a_proxy_url_carries_its_credentials():
    assert Proxy("http://user:p%40ss@proxy:8080").authorization == "Basic dXNlcjpwQHNz"


def test_the_kernel_reports_how_long_a_response_waits_to_be_read():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        client = socket.create_connection(("127.0.0.1", port))
        connection = HttpConnection(client, Peer("http", "a.test", port), "127.0.0.1", 0.0)
        origin, _ = server.accept()
        with origin:
            origin.sendall(b"x")
            wait_until(lambda: connection.unread_s() >= 0.05)
            origin.sendall(b"y")
            wait_until(lambda: connection.unread_s() < 0.05)
        connection.close()

        assert connection.unread_s() == 0.0
