"""Requests that the fetcher cannot send unchanged, and egress routes chosen by requests."""

import pytest
from scrapy import Request

from aragog.addons.scrapy.unsupported import NamedRoutes, unsupported_reason
from aragog.settings import EgressSettings, WaySettings

URL = "http://a.test/"
OWN = "http://user:secret@proxy.test:3128"
WAYS = EgressSettings(
    {
        "office": WaySettings(proxy="http://office.test:3128"),
        "here": WaySettings(addresses=("192.0.2.1",)),
        "one": WaySettings(proxy="http://gate.test:1", login="env:ONE"),
        "two": WaySettings(proxy="http://gate.test:1", login="env:TWO"),
    }
)


def through(proxy, **meta):
    return Request(URL, meta={"proxy": proxy, **meta})


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request(URL, method="PUT"), "PUT"),
        (Request(URL, body=b"x"), "GET"),
        (through("http://other.test:3128"), "egress.ways"),
        (through("http://"), "egress.ways"),
        (through("moon"), "egress.ways"),
        (through("http://gate.test:1"), "egress.ways"),
        (through("http://other.test:3128", _scheme_proxy=True), "http_proxy"),
    ],
)
def test_unsupported_feature_is_named(request_, message):
    assert message in unsupported_reason(request_, NamedRoutes(WAYS, ""))


@pytest.mark.parametrize(
    ("request_", "own", "way"),
    [
        (Request(URL), "", ""),
        (Request(URL), OWN, ""),
        (through(None), "", ""),
        (through("http://proxy.test:3128"), OWN, "proxy"),
        (through("http://user:secret@proxy.test:3128"), OWN, "proxy"),
        (through("http://other.test:3128", _scheme_proxy=True), OWN, ""),
        (through("office"), "", "office"),
        (through("here"), OWN, "here"),
        (through("direct"), OWN, "direct"),
        (through("http://me:pw@office.test:3128"), "", "office"),
        (through("two"), "", "two"),
    ],
)
def test_request_can_choose_a_named_egress_route(request_, own, way):
    routes = NamedRoutes(WAYS, own)

    assert unsupported_reason(request_, routes) is None
    assert routes.route_for(request_) == way


def test_refused_proxy_is_not_shown_with_its_password():
    routes = NamedRoutes(WAYS, OWN)

    assert "secret" not in unsupported_reason(through("http://me:secret@other.test:3128"), routes)
