"""The references of one page, made absolute and normalized, each spelling once."""

from __future__ import annotations

from aragog.errors import InvalidUrl
from aragog.urls.normalize import normalize

MAX_HREF_CHARS = 8_192
"""Longer references are data, not addresses; browsers and servers stop near 8,000."""

_WHITESPACE = " \t\n\f\r"
_NOT_FETCHED = (
    "javascript:", "mailto:", "tel:", "data:", "sms:", "whatsapp:", "about:", "blob:", "ftp:",
    "file:", "viber:", "skype:", "fb-messenger:", "android-app:", "ios-app:", "intent:",
)  # fmt: skip


class Resolver:
    """
    Resolves what a page refers to. `base` is the `href` of its base element, which counts only
    when it is itself an http(s) URL, resolved against the page's own.
    """

    def __init__(self, url: str, base: str | None = None) -> None:
        self.base_url = url
        self._known: dict[str, str | None] = {}
        if base is not None:
            self.base_url = self.resolve(base) or url
            self._known = {}

    def resolve(self, href: str) -> str | None:
        """`href` absolute and normalized; None when it is no http(s) URL or too long."""
        if href in self._known:
            return self._known[href]
        self._known[href] = found = self._resolve(href)
        return found

    def _resolve(self, href: str) -> str | None:
        stripped = href.strip(_WHITESPACE)
        if len(stripped) > MAX_HREF_CHARS or stripped[:16].lower().startswith(_NOT_FETCHED):
            return None
        try:
            return normalize(stripped, self.base_url)
        except InvalidUrl:
            return None
