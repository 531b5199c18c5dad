"""Small decisions: Retry-After, media types, contact, deadline, URLs taken apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.clock import ManualClock
from aragog.errors import ConfigError
from aragog.fetcher.adapter import PinnedAdapter
from aragog.fetcher.content_types import content_type_of, refused_by_content, refused_by_type
from aragog.fetcher.deadline import Deadline
from aragog.fetcher.faults import TransportError
from aragog.fetcher.headers import MAX_RETRY_AFTER_S, retry_at_ms
from aragog.fetcher.http1.connection import Proxy
from aragog.fetcher.request import Target
from aragog.fetcher.request_defaults import RequestDefaults
from aragog.fetcher.ssrf import SsrfFilter
from aragog.fetcher.user_agent import check_user_agent, has_contact
from aragog.settings import FetchSettings

NOW_MS = 1_445_412_480_000  # Wed, 21 Oct 2015 07:28:00 GMT


@pytest.mark.parametrize(
    ("value", "after_s"),
    [
        ("0", 0),
        ("120", 120),
        (" 120 ", 120),
        ("1.5", 1.5),
        ("99999999999999999999", MAX_RETRY_AFTER_S),
        ("Wed, 21 Oct 2015 07:30:00 GMT", 120),
        ("Wednesday, 21-Oct-15 07:30:00 GMT", 120),
        ("Wed Oct 21 07:30:00 2015", 120),
        ("Wed, 21 Oct 2015 09:30:00 +0200", 120),
        ("Wed, 21 Oct 2015 07:00:00 GMT", 0),
        ("Wed, 21 Oct 2099 07:00:00 GMT", MAX_RETRY_AFTER_S),
    ],
)
def test_retry_after_is_seconds_or_a_date(value, after_s):
    assert retry_at_ms(value, NOW_MS) == NOW_MS + after_s * 1000


@pytest.mark.parametrize("value", [None, "", "-1", "soon", "1e9", "²", "12:00", "1.2.3", "."])
def test_an_unusable_retry_after_says_nothing(value):
    assert retry_at_ms(value, NOW_MS) is None


@given(st.text(max_size=60))
def test_any_retry_after_is_now_or_later_within_a_month(value):
    at_ms = retry_at_ms(value, NOW_MS)

    assert at_ms is None or NOW_MS <= at_ms <= NOW_MS + MAX_RETRY_AFTER_S * 1000


ALLOWED = ("text/html", "application/json")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], None),
        ([""], None),
        (["text/html"], "text/html"),
        (["text/html", "text/plain"], "text/plain"),
        (["text/html", "garbage"], "text/html"),
        (["text/html", "*/*"], "text/html"),
        (["text/html, text/html; charset=utf-8"], "text/html; charset=utf-8"),
    ],
)
def test_the_last_usable_content_type_counts(values, expected):
    assert content_type_of(values) == expected


def test_types_are_compared_without_parameters_and_case():
    assert refused_by_type("TEXT/HTML ; charset=x", ALLOWED) is None
    assert refused_by_type(None, ALLOWED) is None
    assert refused_by_type("image/png", ALLOWED) == "content type image/png"
    assert refused_by_type("image/png", ("image/*",)) is None
    assert refused_by_type("image/png", ("*/*",)) is None


@pytest.mark.parametrize(
    ("first", "claimed", "refused"),
    [
        (b"<html>", "text/html", False),
        (b"<html>", None, False),
        (b"", None, False),
        (b"%PDF-1.4", "text/html", True),
        (b"%PDF-1.4", None, True),
        (b"\x89PNG\r\n\x1a\n", "text/html", True),
        (b"\0\1\2\3", None, True),
        (b"\0\1\2\3", "text/html", True),
        (b"<p>a stray \x01 in a long enough paragraph of text", "text/html", False),
        (b"a stray \x01 in a long enough paragraph of text", "text/plain", True),
        ("<html>".encode("utf-16-le"), "text/html", False),
        ("plain text".encode("utf-16-be"), "text/plain", False),
        (b"\xff\xfe<\0h\0", None, False),
        (b"BMW is a car", "text/html", False),
        (b"BM\0\0\0\0", "text/html", True),
        (b"\x1b$B\x1b(B", None, False),
    ],
)
def test_first_bytes_tell_what_is_no_page(first, claimed, refused):
    assert bool(refused_by_content(first, claimed, ALLOWED)) == refused


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        ("", False),
        ("Mozilla/5.0", False),
        ("bot/1.0 (http://localhost)", False),
        ("bot/1.0 (+https://example.com/bot)", True),
        ("bot/1.0 (crawler@example.com)", True),
        ("bot/1.0 +http://example.com", True),
    ],
)
def test_a_contact_is_a_web_page_or_a_mail_address(agent, expected):
    assert has_contact(FetchSettings(user_agent=agent)) == expected


def refusal(settings, url):
    """Why no request may be sent to a URL without a contact; None: it may be."""
    try:
        check_user_agent(settings, url)
    except ConfigError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://localhost:8080/",
        "http://[::1]:8080/",
        "http://shop.localhost/",
        "http://shop.demo:80/x",
        "http://a.test?x=1",
    ],
)
def test_loopback_needs_no_contact(url):
    host_map = {"*.demo": "127.0.0.1:8000", "a.test": "127.0.0.1:8000"}

    assert refusal(FetchSettings(host_map=host_map), url) is None


@pytest.mark.parametrize(
    "url", ["http://example.com/", "http://localhost.example/", "http://8.8.8.8"]
)
def test_the_web_needs_a_contact(url):
    assert "fetch.user_agent: must contain a contact" in refusal(FetchSettings(), url)


def _deadline(clock: ManualClock) -> Deadline:
    return Deadline(
        clock, deadline_s=30, connect_timeout_s=5, read_timeout_s=10, min_bytes_per_s=100
    )


def test_no_wait_is_longer_than_what_is_left():
    clock = ManualClock()
    deadline = _deadline(clock)
    assert (deadline.connect_timeout_s(), deadline.read_timeout_s()) == (5, 10)

    clock.sleep_s(28)
    assert (deadline.connect_timeout_s(), deadline.read_timeout_s()) == pytest.approx((2, 2))
    deadline.extend(3)
    assert deadline.connect_timeout_s() == pytest.approx(5)

    clock.sleep_s(6)
    with pytest.raises(TransportError, match="longer than 30 s"):
        deadline.read_timeout_s()


def test_a_body_below_the_least_rate_is_given_up_after_five_seconds():
    clock = ManualClock()
    deadline = _deadline(clock)
    clock.sleep_s(8)
    deadline.start_body()
    deadline.received(10)

    clock.sleep_s(5)
    assert deadline.read_timeout_s() > 0
    clock.sleep_s(0.1)
    with pytest.raises(TransportError, match="slower than 100 bytes/s"):
        deadline.read_timeout_s()
    deadline.received(1000)
    assert deadline.read_timeout_s() > 0


def test_hurry_ends_with_its_block():
    clock = ManualClock()
    deadline = _deadline(clock)

    with deadline.shortened(0.5):
        assert deadline.read_timeout_s() == pytest.approx(0.5)

    assert deadline.read_timeout_s() == 10


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
def test_a_url_is_taken_apart_for_a_connection(url, expected):
    target = Target(url)

    parts = (target.scheme, target.host, target.port, target.host_header, target.path)
    assert parts == expected


@pytest.mark.parametrize("url", ["socks5://a:1", "https://a:1", "a:1", "http://", "http://a:x"])
def test_a_proxy_that_cannot_be_used_is_a_config_error(url):
    with pytest.raises(ConfigError, match=r"fetch.proxy: must be http://"):
        Proxy(url)


def test_a_proxy_url_carries_its_credentials():
    assert Proxy("http://user:p%40ss@proxy:8080").authorization == "Basic dXNlcjpwQHNz"


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
def test_credentials_are_bound_to_scheme_host_and_port_and_to_the_way_there(
    url, requested, sent, key
):
    plan = _defaults(
        headers={"X-Team": "t"},
        basic_auth={key: "user:pw"},
        origin_headers={key: "X-Api-Key: k\nX-Other: o"},
    )

    headers = plan.headers_for(url, requested)

    assert ("Authorization" in headers, "X-Api-Key" in headers, "X-Other" in headers) == (sent,) * 3
    assert headers["X-Team"] == "t"


def test_credentials_go_over_plain_http_only_where_that_is_written_out():
    plan = _defaults(basic_auth={"http://a.test:8080": "user:pw"})

    assert "Authorization" in plan.headers_for("http://a.test:8080/")
    assert "Authorization" not in plan.headers_for("https://a.test:8080/")


@pytest.mark.parametrize("name", ["Authorization", "cookie", "Proxy-Authorization"])
def test_a_credential_for_every_host_is_refused(name):
    with pytest.raises(ConfigError, match="would be sent to every host") as caught:
        _defaults(headers={name: "hunter2"})

    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("agent", ["a/1.0 (+http://a.test/)\r\nX-Evil: 1", "a\nb@c.test", "a\x00"])
def test_a_user_agent_that_would_begin_another_header_is_a_config_error(agent):
    with pytest.raises(ConfigError, match=r"fetch\.user_agent"):
        _defaults(user_agent=agent)


def test_own_headers_replace_the_usual_ones():
    sent = _defaults(headers={"accept": "*/*"}).headers_for("http://a.test/")

    assert [v for k, v in sent.items() if k.lower() == "accept"] == ["*/*"]


def test_a_header_that_would_begin_another_is_a_config_error():
    with pytest.raises(ConfigError, match="'X-A': is not a valid HTTP header"):
        _defaults(headers={"X-A": "b\r\nX-B: c"})


def test_a_date_to_come_back_at_is_by_the_clock_that_said_it():
    # A worker whose clock is an hour ahead must not take the origin's date for one that has passed.
    date, after = "Tue, 14 Nov 2023 21:13:20 GMT", "Tue, 14 Nov 2023 21:13:50 GMT"

    assert retry_at_ms(after, NOW_MS, date) == NOW_MS + 30_000
    assert retry_at_ms(after, NOW_MS, "no date") == retry_at_ms(after, NOW_MS)
