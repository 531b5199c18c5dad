"""Cookies of one redirect chain: who receives them (RFC 6265), and their limits."""

import json

import pytest

from aragog.crawl.fetcher.cookies import (
    MAX_COOKIES,
    MAX_HEADER_BYTES,
    Cookies,
    OriginCookies,
    cookie_date_ms,
)
from aragog.crawl.fetcher.http1.head import parse_head
from aragog.runtime.clock import ManualClock

URL = "http://a.test/"


def answer(*cookies: str):
    lines = "".join(f"Set-Cookie: {cookie}\r\n" for cookie in cookies)
    return parse_head(f"HTTP/1.1 302 Found\r\n{lines}".encode())


def test_ten_hops_cannot_build_a_huge_header():
    cookies = Cookies()

    for hop in range(10):
        cookies.learn(URL, answer(*(f"c{hop}-{n}={'x' * 1000}" for n in range(50))))

    header = cookies.header(URL)
    assert len(header) <= MAX_HEADER_BYTES
    assert all(part.startswith("c") and "=" in part for part in header.split("; "))


def test_cookies_are_limited_over_the_whole_chain():
    cookies = Cookies()

    for hop in range(10):
        cookies.learn(URL, answer(*(f"c{hop}-{n}=x" for n in range(20))))

    assert len(cookies.header(URL).split("; ")) == MAX_COOKIES


def test_oversized_cookie_is_dropped_and_the_others_kept():
    cookies = Cookies()

    cookies.learn(URL, answer("large=" + "x" * 5000, "small=1"))

    assert cookies.header(URL) == "small=1"


@pytest.mark.parametrize(
    ("cookie", "url", "sent"),
    [
        ("a=1", "http://shop.test/x", True),
        ("a=1", "http://www.shop.test/", False),
        ("a=1", "http://other.test/", False),
        ("a=1; Domain=shop.test", "http://www.shop.test/", True),
        ("a=1; Domain=.SHOP.test", "http://www.shop.test/", True),
        ("a=1; Domain=shop.test", "http://myshop.test/", False),
        ("a=1; Domain=other.test", "http://other.test/", False),
        ("a=1; Domain=www.shop.test", "http://www.shop.test/", False),
        ("a=1; Domain=test", "http://other.test/", False),
        ("a=1; Path=/p", "http://shop.test/p/q", True),
        ("a=1; Path=/p", "http://shop.test/pq", False),
        ("a=1; Path=p", "http://shop.test/", True),
        ("a=1; Secure", "http://shop.test/", False),
        ("a=1; Secure", "https://shop.test/", False),
        ("a=1; Max-Age=0", "http://shop.test/", False),
        ("a=1; Max-Age=9; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "http://shop.test/", True),
        ("a=1; Expires=Thu, 01-Jan-1970 00:00:10 GMT", "http://shop.test/", False),
        ("a=1; Expires=soon", "http://shop.test/", True),
        ("a", "http://shop.test/", False),
        ("=1", "http://shop.test/", False),
    ],
)
def test_cookie_is_sent_according_to_rfc_6265(cookie, url, sent):
    cookies = Cookies(ManualClock())

    cookies.learn("http://shop.test/", answer(cookie))

    assert (cookies.header(url) == "a=1") == sent


def test_cookie_deleted_by_the_same_response_is_not_sent():
    cookies = Cookies()

    cookies.learn(URL, answer("a=1", "b=2", "a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT"))

    assert cookies.header(URL) == "b=2"


def test_later_cookie_replaces_one_with_the_same_name_domain_and_path():
    cookies = Cookies()

    cookies.learn(URL, answer("a=1", "b=2", "a=3", "a=4; Path=/x"))

    assert cookies.header("http://a.test/x") == "a=4; a=3; b=2"


@pytest.mark.parametrize("suffix", ["co.uk", "github.io", "com"])
def test_public_suffix_cannot_set_cookies_for_its_sites(suffix):
    cookies = Cookies()

    cookies.learn(f"http://one.{suffix}/", answer(f"a=1; Domain={suffix}"))
    cookies.learn(f"http://{suffix}/", answer(f"b=2; Domain={suffix}"))

    assert cookies.header(f"http://two.{suffix}/") is None
    assert cookies.header(f"http://one.{suffix}/") is None
    assert cookies.header(f"http://{suffix}/") == "b=2"


def test_cookie_can_expire_during_the_fetch():
    clock = ManualClock()
    cookies = Cookies(clock)
    cookies.learn(URL, answer("a=1; Max-Age=5"))

    clock.advance_ms(5_000)

    assert cookies.header(URL) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Thu, 01 Jan 1970 00:00:10 GMT", 10_000),
        ("Thursday, 01-Jan-70 00:00:10 GMT", 10_000),
        ("Thu Jan  1 00:00:10 1970", 10_000),
        ("Wed, 31 Feb 2024 00:00:00 GMT", None),
        ("Mon, 01 Jan 1600 00:00:00 GMT", None),
        ("Mon, 01 Jan 0100 00:00:00 GMT", None),
        ("Mon, 01 Jan 1601 00:00:00 GMT", -11_644_473_600_000),
        ("01 Jan 69 00:00:00 EST", 3_124_224_000_000),
        ("00:00:10 1970 Jan 1", 10_000),
        ("1 January 1970 0:0:10", 10_000),
        ("1-jan-1970, 00:00:10 +0100", 10_000),
        ("1 Jan 1970 24:00:00", None),
        ("1 Jan 1970 00:00", None),
        ("2024", None),
        ("", None),
    ],
)
def test_cookie_dates_are_parsed(text, expected):
    assert cookie_date_ms(text) == expected


@pytest.mark.parametrize(
    ("attributes", "kept"),
    [
        ("Expires=someday", True), ("Expires=", True), ("Expires=1 Jan 1600 00:00:00", True),
        ("Expires=1 Jan 1970 00:00:00", False),
        ("Expires=1 Jan 1970 00:00:00; Expires=someday", False),
        ("Expires=someday; Expires=1 Jan 1970 00:00:00", False),
        ("Expires=1 Jan 1970 00:00:00; Expires=1 Jan 2099 00:00:00", True),
        ("Max-Age=60; Expires=1 Jan 1970 00:00:00", True),
        ("Max-Age=0; Expires=1 Jan 2099 00:00:00", False),
        ("Max-Age=soon; Expires=1 Jan 1970 00:00:00", False),
        ("Max-Age=60; Max-Age=1.5; Expires=1 Jan 1970 00:00:00", True),
        ("Max-Age=" + "9" * 30 + "; Expires=1 Jan 1970 00:00:00", True),
        ("Max-Age=-" + "9" * 30, False), ("Max-Age=-0", False), ("Max-Age=-", True),
        ("Max-Age=+60; Expires=1 Jan 1970 00:00:00", False), ("Max-Age=٠", True),
    ],
)  # fmt: skip
def test_attribute_with_an_invalid_value_counts_as_absent(attributes, kept):
    """A date before 1601 deleted a session's cookie, and a long Max-Age did not count."""
    cookies = Cookies()

    cookies.learn(URL, answer(f"a=1; {attributes}"))

    assert cookies.header(URL) == ("a=1" if kept else None)


def test_ip_addresses_have_no_parent_domain():
    cookies = Cookies()

    cookies.learn("http://10.0.0.1/", answer("a=1; Domain=0.0.1", "b=2; Domain=10.0.0.1"))

    assert (cookies.header("http://10.0.0.1/"), cookies.header("http://9.0.0.1/")) == ("b=2", None)


@pytest.mark.parametrize(
    ("scheme", "line", "is_kept"),
    [
        ("https", "__Secure-a=1; Secure", True),
        ("https", "__Secure-a=1", False),
        ("http", "__Secure-a=1; Secure", False),
        ("https", "__Host-a=1; Secure; Path=/", True),
        ("https", "__host-a=1; Secure; Path=/", True),
        ("https", "__Host-a=1; Path=/", False),
        ("https", "__Host-a=1; Secure", False),
        ("https", "__Host-a=1; Secure; Path=/x", False),
        ("https", "__Host-a=1; Secure; Path=/; Domain=a.example", False),
        ("https", "__HOST-a=1; Secure; Path=/; Domain=a.example", False),
        ("http", "__Host-a=1; Secure; Path=/", False),
        ("http", "a=1; Secure", False),
        ("https", "a=1; Secure", True),
    ],
)
def test_cookie_prefixes_are_enforced(scheme, line, is_kept):
    """Otherwise a subdomain, or a connection without TLS, could set the cookie of a login."""
    cookies = Cookies()

    cookies.learn(f"{scheme}://a.example/", answer(line))

    assert (cookies.header("https://a.example/") is not None) is is_kept


def test_session_cookies_round_trip_with_their_scope():
    clock = ManualClock()
    jar = OriginCookies.from_json_values("https://a.test", (), clock)
    url = "https://a.test/in/x"
    jar.learn(url, answer("a=1; Path=/", "b=2; Max-Age=60", "c=3; Secure; Domain=a.test; Path=/in"))

    kept = OriginCookies.from_json_values(
        "https://a.test", json.loads(json.dumps(jar.to_json_values())), clock
    )

    assert kept.to_json_values() == jar.to_json_values()
    assert kept.header(url) == "b=2; c=3; a=1"
    assert kept.header("https://a.test/out") == "a=1"
    clock.advance_ms(61_000)
    assert kept.header(url) == "c=3; a=1"


def test_session_cookies_belong_to_one_origin():
    jar = OriginCookies.from_json_values("https://a.test", (), ManualClock())

    jar.learn("http://a.test/", answer("plain=1"))
    jar.learn("https://b.test/", answer("other=1"))
    jar.learn("https://a.test/", answer("own=1; Domain=a.test"))

    assert jar.header("https://a.test/") == "own=1"
    for other in ("http://a.test/", "https://a.test:8443/", "https://www.a.test/"):
        assert jar.header(other) is None
