"""The cookie jar of one fetch and its redirects (RFC 6265, by the standard library)."""

from __future__ import annotations

import http.client
import http.cookiejar
import urllib.request
from typing import cast

from aragog.fetcher.http1.head import ResponseHead

# A session needs far fewer; more are an attack on memory.
MAX_COOKIES = 50
# RFC 6265 section 6.1 requires support for 4096 bytes per cookie; servers reject longer headers
# than 8 KB.
MAX_COOKIE_BYTES = 4096
MAX_HEADER_BYTES = 8192


class _SetCookies:
    """The part of a response that a CookieJar reads."""

    def __init__(self, values: list[str]) -> None:
        self._message = http.client.HTTPMessage()
        for value in values:
            self._message["Set-Cookie"] = value

    def info(self) -> http.client.HTTPMessage:
        return self._message


class Cookies:
    """A jar for one fetch: at most 50 cookies of at most 4 KB each over all redirects."""

    def __init__(self) -> None:
        self._jar = http.cookiejar.CookieJar()

    def learn(self, url: str, head: ResponseHead) -> None:
        """Store the cookies that the response to `url` sets."""
        fitting = [v for v in head.values("set-cookie") if len(v) <= MAX_COOKIE_BYTES]
        if values := fitting[: max(0, MAX_COOKIES - len(self._jar))]:
            request = urllib.request.Request(url)  # noqa: S310 - nothing is opened
            self._jar.extract_cookies(
                cast("http.client.HTTPResponse", _SetCookies(values)), request
            )

    def header(self, url: str) -> str | None:
        """Return the Cookie header for `url`, at most 8 KB; None without matching cookies."""
        request = urllib.request.Request(url)  # noqa: S310 - nothing is opened
        self._jar.add_cookie_header(request)
        header = request.get_header("Cookie")
        if header is None or len(header) <= MAX_HEADER_BYTES:
            return header
        return header[: MAX_HEADER_BYTES + 1].rpartition("; ")[0] or None
