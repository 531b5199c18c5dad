"""Cookies of one chain are bounded, whatever its answers set."""

from aragog.fetcher.cookies import MAX_COOKIES, MAX_HEADER_BYTES, Cookies
from aragog.fetcher.http1.head import parse_head

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


def test_cookies_are_counted_over_the_whole_chain():
    cookies = Cookies()

    for hop in range(10):
        cookies.learn(URL, answer(*(f"c{hop}-{n}=x" for n in range(20))))

    assert len(cookies.header(URL).split("; ")) == MAX_COOKIES


def test_a_cookie_that_is_too_large_is_dropped_and_the_others_stay():
    cookies = Cookies()

    cookies.learn(URL, answer("large=" + "x" * 5000, "small=1"))

    assert cookies.header(URL) == "small=1"
