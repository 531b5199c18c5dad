"""Requests that the fetcher cannot send as they are."""

import pytest
from scrapy import Request

from aragog.addons.scrapy.unsupported import why_unsupported

URL = "http://a.test/"
OWN = "http://user:secret@proxy.test:3128"


def through(proxy, **meta):
    return Request(URL, meta={"proxy": proxy, **meta})


@pytest.mark.parametrize(
    ("request_", "named"),
    [
        (Request(URL, method="PUT"), "PUT"),
        (Request(URL, body=b"x"), "GET"),
        (through("http://other.test:3128"), "request.meta['proxy']"),
        (through("http://"), "request.meta['proxy']"),
        (through("http://other.test:3128", _scheme_proxy=True), "http_proxy"),
    ],
)
def test_what_is_not_supported_is_named(request_, named):
    assert named in why_unsupported(request_, "")


@pytest.mark.parametrize(
    ("request_", "own"),
    [
        (Request(URL), ""),
        (Request(URL), OWN),
        (through(None), ""),
        (through("http://proxy.test:3128"), OWN),
        (through("http://user:secret@proxy.test:3128"), OWN),
        (through("http://other.test:3128", _scheme_proxy=True), OWN),
    ],
)
def test_the_proxy_of_every_request_may_be_named(request_, own):
    assert why_unsupported(request_, own) is None


def test_another_proxy_than_that_of_every_request_is_not_supported():
    assert "secret" not in why_unsupported(through("http://other.test:3128"), OWN)
