"""Which hosts are offered HTTP/2."""

from __future__ import annotations

import pytest

from aragog.crawl.fetcher.http2_hosts import RETRY_AFTER_S, Http2Hosts
from aragog.errors import ConfigError
from aragog.runtime.clock import ManualClock


@pytest.mark.parametrize(
    ("names", "host", "offered"),
    [
        ((), "shop.test", False),
        (("shop.test",), "shop.test", True),
        (("shop.test",), "www.shop.test", True),
        (("shop.test",), "other.test", False),
        (("shop.test",), "myshop.test", False),
        ((" Shop.Test. ",), "shop.test", True),
        (("bücher.test",), "xn--bcher-kva.test", True),
        (("*",), "other.test", True),
    ],
)
def test_http2_is_offered_to_the_listed_hosts_and_their_subdomains(names, host, offered):
    assert Http2Hosts(names, ManualClock()).offers(host) is offered


@pytest.mark.parametrize(
    "name", ["", "https://shop.test", "shop.test/a", "shop.test:443", "*.shop.test"]
)
def test_invalid_host_name_is_a_config_error(name):
    with pytest.raises(ConfigError, match=r"fetch\.http2_hosts: "):
        Http2Hosts((name,), ManualClock())


def test_host_that_refused_http2_is_offered_it_again_after_an_hour():
    clock = ManualClock()
    hosts = Http2Hosts(("*",), clock)

    hosts.disable("shop.test")

    assert (hosts.offers("shop.test"), hosts.offers("other.test")) == (False, True)
    clock.advance_ms(RETRY_AFTER_S * 1000)
    assert hosts.offers("shop.test")
