"""The headers and credentials sent with requests."""

from __future__ import annotations

import pytest

from aragog.crawl.fetcher.adapter import PinnedAdapter
from aragog.crawl.fetcher.request_defaults import RequestDefaults
from aragog.crawl.fetcher.ssrf import SsrfFilter
from aragog.errors import ConfigError
from aragog.runtime.clock import ManualClock
from aragog.settings import FetchSettings


def _defaults(**settings) -> RequestDefaults:
    fetch_settings = FetchSettings(**settings)
    ssrf_filter = SsrfFilter(fetch_settings)
    return RequestDefaults(
        fetch_settings, ssrf_filter, PinnedAdapter(fetch_settings, ssrf_filter), ManualClock()
    )


@pytest.mark.parametrize(
    ("url", "requested", "sent"),
    [
        ("https://a.test/x", [], True),
        ("https://a.test/x", ["https://a.test/"], True),
        ("https://a.test:8443/x", [], False),
        ("http://a.test/x", [], False),
        ("https://b.test/x", [], False),
        ("https://b.a.test/x", [], False),
        ("https://a.test/x", ["https://b.test/"], False),
        ("https://a.test/x", ["http://a.test/"], False),
        ("https://a.test/x", ["https://a.test/", "https://b.test/"], False),
    ],
)
@pytest.mark.parametrize("key", ["https://a.test", "a.test", "HTTPS://A.test:443/"])
def test_credentials_are_bound_to_an_origin_and_to_redirects_within_it(url, requested, sent, key):
    plan = _defaults(
        headers={"X-Team": "t"},
        basic_auth={key: "user:pw"},
        origin_headers={key: "X-Api-Key: k\nX-Other: o"},
    )

    headers = plan.headers_for(url, requested)

    assert ("Authorization" in headers, "X-Api-Key" in headers, "X-Other" in headers) == (sent,) * 3
    assert headers["X-Team"] == "t"


def test_credentials_are_sent_over_plain_http_only_if_configured_explicitly():
    plan = _defaults(basic_auth={"http://a.test:8080": "user:pw"})

    assert "Authorization" in plan.headers_for("http://a.test:8080/")
    assert "Authorization" not in plan.headers_for("https://a.test:8080/")


@pytest.mark.parametrize("name", ["Authorization", "cookie", "Proxy-Authorization"])
def test_credential_for_every_host_is_refused(name):
    with pytest.raises(ConfigError, match="would be sent to every host") as caught:
        _defaults(headers={name: "hunter2"})

    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("name", ["Crawler-Max-Price", "crawler-exact-price"])
def test_header_that_accepts_a_price_is_refused(name):
    with pytest.raises(ConfigError, match=rf"fetch\.headers: {name} would agree to a price"):
        _defaults(headers={name: "USD 1"})
    with pytest.raises(ConfigError, match="never pays"):
        _defaults(origin_headers={"https://a.test": f"{name}: USD 1"})


@pytest.mark.parametrize("agent", ["a/1.0 (+http://a.test/)\r\nX-Evil: 1", "a\nb@c.test", "a\x00"])
def test_user_agent_with_a_line_break_is_a_config_error(agent):
    with pytest.raises(ConfigError, match=r"fetch\.user_agent"):
        _defaults(user_agent=agent)


def test_configured_headers_replace_the_defaults():
    sent = _defaults(headers={"accept": "*/*"}).headers_for("http://a.test/")

    assert [v for k, v in sent.items() if k.lower() == "accept"] == ["*/*"]


def test_header_with_a_line_break_is_a_config_error():
    with pytest.raises(ConfigError, match="'X-A' is not a valid HTTP header"):
        _defaults(headers={"X-A": "b\r\nX-B: c"})
