"""Cookies of one redirect chain; forgotten with it. RFC 6265 as the standard library keeps it."""

from __future__ import annotations

import http.client
import http.cookiejar
import urllib.request
from typing import cast

from aragog.fetcher.http1.head import ResponseHead

# More than this from one chain is no session, it is a flood.
MAX_COOKIES = 50
# RFC 6265 (6.1) asks for 4096 bytes a cookie; servers refuse headers of more than 8 KB.
MAX_COOKIE_BYTES = 4096
MAX_HEADER_BYTES = 8192


class _Answer:
    """What a CookieJar asks of a response."""

    def __init__(self, values: list[str]) -> None:
        self._message = http.client.HTTPMessage()
        for value in values:
            self._message["Set-Cookie"] = value

    def info(self) -> http.client.HTTPMessage:
        return self._message


class Cookies:
    """A jar for one fetch: 50 cookies of the whole chain, of 4 KB each."""

    def __init__(self) -> None:
        self._jar = http.cookiejar.CookieJar()

    def learn(self, url: str, head: ResponseHead) -> None:
        """Keep what the answer of `url` sets."""
        fitting = [v for v in head.values("set-cookie") if len(v) <= MAX_COOKIE_BYTES]
        if values := fitting[: max(0, MAX_COOKIES - len(self._jar))]:
            request = urllib.request.Request(url)  # noqa: S310 - only its URL is looked at
            self._jar.extract_cookies(cast("http.client.HTTPResponse", _Answer(values)), request)

    def header(self, url: str) -> str | None:
        """The Cookie header for `url`, of 8 KB at most; None when there is nothing to send."""
        request = urllib.request.Request(url)  # noqa: S310 - only its URL is looked at
        self._jar.add_cookie_header(request)
        header = request.get_header("Cookie")
        if header is None or len(header) <= MAX_HEADER_BYTES:
            return header
        return header[: MAX_HEADER_BYTES + 1].rpartition("; ")[0] or None
