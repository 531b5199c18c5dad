"""Resolve a page's references to absolute, normalized URLs."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import quote_from_bytes

from richpins.encodings import labels
from urlspelling import MAX_URL_CHARS, InvalidUrl, normalize, with_query

MAX_HREF_CHARS = MAX_URL_CHARS
"""Longer references are data, not URLs."""

_WHITESPACE = " \t\n\f\r"
_UNSUPPORTED_SCHEMES = (
    "javascript:", "mailto:", "tel:", "data:", "sms:", "whatsapp:", "about:", "blob:", "ftp:",
    "file:", "viber:", "skype:", "fb-messenger:", "android-app:", "ios-app:", "intent:",
)  # fmt: skip

_KEPT_ESCAPE = "%(?:[0189A-F][0-9A-F]|2[0-9A-CF]|3[A-F]|[46]0|5[B-E]|7[BCDF])"
"""A percent-escape that normalization keeps: uppercase, and not for a letter, digit or `-._~`."""
_PLAIN_PATH = "[A-Za-z0-9_.~!$&'*+,=@/-]*+"
_PLAIN_QUERY = "[A-Za-z0-9_.~!$&*+,=@:/-]*+"
_PLAIN_REFERENCE = re.compile(
    r"(https?://[a-z0-9.-]+(?::[0-9]+)?(?:/|\Z)|/(?:/[a-z0-9.-]+(?::[0-9]+)?/)?"
    r"|(?:\.\./|)*+(?=[A-Za-z0-9_~%-]))"
    rf"(?![./])({_PLAIN_PATH}(?:{_KEPT_ESCAPE}{_PLAIN_PATH}|)*+)"
    rf"(?:\?({_PLAIN_QUERY}(?:{_KEPT_ESCAPE}{_PLAIN_QUERY}|)*+))?"
)
"""
A prefix (scheme and host, `/`, `../` or nothing), a path and a query that the parser and
normalization leave unchanged, except for empty segments and dots. Most references match.
"""


class LinkResolver:
    """
    Resolves a page's references.

    `base` is the `href` of the page's base element, which is used only if it resolves to an http(s)
    URL. `encoding` is the page's encoding: like browsers, the resolver encodes the letters in a
    query with it (URL Standard, "query state"). Paths are always UTF-8.
    """

    def __init__(self, url: str, base: str | None = None, encoding: str = "utf-8") -> None:
        self.base_url = url
        self._encoding = encoding
        self._resolved_urls: dict[str, str | None] = {}
        self._normalized_prefixes: dict[str, str] = {}
        if base is not None:
            self.base_url = self.resolve(base) or url
            self._resolved_urls, self._normalized_prefixes = {}, {}

    def resolve(self, href: str) -> str | None:
        """Return `href` as an absolute, normalized URL; None if it is too long or not http(s)."""
        if "#" in href:
            href = without_fragment(href)
        if href in self._resolved_urls:
            return self._resolved_urls[href]
        self._resolved_urls[href] = url = self._resolve_uncached(href)
        return url

    def _resolve_uncached(self, href: str) -> str | None:
        """
        Resolve a reference that is not cached.

        Among plain references with the same prefix, only the first is normalized. Concatenating
        strings for later ones takes a tenth of the time.
        """
        match = _PLAIN_REFERENCE.fullmatch(href)
        if match is None or len(href) > MAX_HREF_CHARS:
            return self._normalize(href)
        prefix, path, query = match.groups()
        if "//" in path or "/." in path:
            return self._normalize(href)
        normalized_prefix = self._normalized_prefixes.get(prefix)
        url = (
            self._resolve_first(prefix, path)
            if normalized_prefix is None
            else normalized_prefix + path
        )
        if url is not None and query is not None:
            url = with_query(url, query)
        return url if url is None or len(url) <= MAX_URL_CHARS else None

    def _resolve_first(self, prefix: str, path: str) -> str | None:
        normalized_prefix = _normalize_prefix(prefix) if prefix[:4] == "http" else None
        if normalized_prefix is None:
            url = self._normalize(prefix + path)
            if url is None or not url.endswith(path):
                return url
            normalized_prefix = url.removesuffix(path)
        self._normalized_prefixes[prefix] = normalized_prefix
        return normalized_prefix + path

    def _normalize(self, href: str) -> str | None:
        stripped = href.strip(_WHITESPACE)
        if len(stripped) > MAX_HREF_CHARS or stripped[:16].lower().startswith(_UNSUPPORTED_SCHEMES):
            return None
        if "?" in stripped and not stripped.isascii():
            stripped = encode_query(stripped, self._encoding)
        try:
            return normalize(stripped, self.base_url)
        except InvalidUrl:
            return None


@lru_cache(8_192)
def _normalize_prefix(prefix: str) -> str | None:
    """Normalize a scheme and host with a slash. Cached, because a page links to few hosts."""
    try:
        return normalize(prefix)
    except InvalidUrl:
        return None


_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


def encode_query(href: str, encoding: str) -> str:
    """Percent-encode the non-ASCII letters in a reference's query, using the given encoding."""
    url_part, hash_sign, fragment = href.partition("#")
    path, question_mark, query = url_part.partition("?")
    encoded_query = _NOT_ASCII.sub(
        lambda match: quote_from_bytes(labels.encode(match[0], encoding), ""), query
    )
    return f"{path}{question_mark}{encoded_query}{hash_sign}{fragment}"


def without_fragment(href: str) -> str:
    """Return `href` without its fragment, unless white space precedes the `#`."""
    before_fragment = href.partition("#")[0]
    return before_fragment if not before_fragment or before_fragment[-1] > " " else href
