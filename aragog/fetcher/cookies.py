"""Cookies of one redirect chain; forgotten with it. RFC 6265 as the standard library keeps it."""

from __future__ import annotations

import http.client
import http.cookiejar
import urllib.request
from typing import cast

from aragog.fetcher.head import Head

# More than this from one chain is no session, it is a flood.
MAX_COOKIES = 50


class _Answer:
    """What a CookieJar asks of a response."""

    def __init__(self, head: Head) -> None:
        self._message = http.client.HTTPMessage()
        for value in head.values("set-cookie")[:MAX_COOKIES]:
            self._message["Set-Cookie"] = value

    def info(self) -> http.client.HTTPMessage:
        return self._message


class Cookies:
    """A jar for one fetch."""

    def __init__(self) -> None:
        self._jar = http.cookiejar.CookieJar()

    def learn(self, url: str, head: Head) -> None:
        """Keep what the answer of `url` sets."""
        if head.values("set-cookie"):
            request = urllib.request.Request(url)  # noqa: S310 - only its URL is looked at
            self._jar.extract_cookies(cast("http.client.HTTPResponse", _Answer(head)), request)

    def header(self, url: str) -> str | None:
        """The Cookie header for `url`, None when there is nothing to send."""
        request = urllib.request.Request(url)  # noqa: S310 - only its URL is looked at
        self._jar.add_cookie_header(request)
        return request.get_header("Cookie")
