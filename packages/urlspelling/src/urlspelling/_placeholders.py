"""
Recognize placeholders that a page declares instead of its canonical URL.

Placeholders are templates whose variable was not filled in, missing values printed by programs
(`undefined`), and hosts without a scheme, which a URL parser reads as a path. All of a site's pages
with the same placeholder would share one record (docs/urls.md#canonical-urls).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import unquote, urlsplit

from urlspelling.domain import registered_domain

_TEMPLATE = re.compile(
    r"\{\{[^\"%{]|\$\{|\{%(?:[-\s]|%20)|#\{|<[%?]|%%\w|<[A-Za-z_][\w. -]*>"
    r"|(?:^|[/=])\{[A-Za-z_][\w. -]*\}(?=[/?&#]|$)"
    r"|(?:^|/)\[(?:\.\.\.)?[A-Za-z_]\w*\](?=/|$)|^[$%][A-Za-z_]\w*%?$"
    r"|\b(?:window|document)\.location\b|\blocation\.href\b|\bdocument\.URL\b"
)
_TEMPLATE_CHARACTERS = frozenset("{[<%$")
"""Every template has one of these, except those with `location` or `document`."""
_TEMPLATE_ESCAPES = re.compile(r"%(?:7[BD]|2[34]|3[CEF]|5[BD]|25)", re.IGNORECASE)
_MISSING_VALUES = frozenset(
    ["undefined", "null", "(null)", "none", "nil", "nan", "[object object]"]
)
"""What programming languages print for a missing value or an object."""
_PLACEHOLDERS = _MISSING_VALUES | {
    "true",
    "false",
    "0",
    "-",
    "n/a",
    "url",
    "canonical",
    "todo",
    "tbd",
    "example",
}
"""Strings that are placeholders if they are the whole value."""
_ENCODED_SCHEME = re.compile(r"https?%3a", re.IGNORECASE)
_SCHEME_OR_SLASH = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d)|//|[\\/]")
_COMMON_DOMAIN = re.compile(r"[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|edu|gov|info)(?::\d+)?/")


@lru_cache(maxsize=64)  # a page's few declarations are checked several times
def why_no_page(text: str, page: str) -> str | None:
    """
    Return why `text` is not a page's URL, or None if it may be one.

    >>> why_no_page("{{ url }}", "http://example.com/")
    'a template that was not filled in'
    >>> why_no_page("/shoes", "http://example.com/")

    Args:
        text: the URL as written in the page, or resolved.
        page: the normalized URL of the page. A string in this URL is not a placeholder.
    """
    text = text.strip()
    if not text or text[0] == "#":
        return "it does not identify a page"
    if text.lower() in _PLACEHOLDERS:
        return "a placeholder"
    if _is_template(text) and not _is_template(page):
        return "a template that was not filled in"
    if _ENCODED_SCHEME.match(text):
        return "a URL that is percent-encoded as a whole"
    missing_values = {part.lower() for part in _decoded_parts(text)} & _MISSING_VALUES
    if missing_values and not missing_values <= {part.lower() for part in _decoded_parts(page)}:
        return "a placeholder"
    return _missing_scheme_reason(text, page)


def _is_template(text: str) -> bool:
    if _TEMPLATE_CHARACTERS.isdisjoint(text) and "location" not in text and "document" not in text:
        return False
    return _TEMPLATE.search(_decode_template(text)) is not None


def _decode_template(text: str) -> str:
    """Decode template characters, because normalized URLs escape them."""
    return _TEMPLATE_ESCAPES.sub(lambda m: unquote(m[0]), text) if "%" in text else text


def _decoded_parts(url: str) -> Iterator[str]:
    try:
        split = urlsplit(url)
    except ValueError:
        return
    yield split.netloc
    yield from (unquote(segment) for segment in split.path.split("/"))
    yield from (unquote(pair.rpartition("=")[2]) for pair in split.query.split("&") if "=" in pair)


def _missing_scheme_reason(text: str, page: str) -> str | None:
    try:
        host, reason = _strip_host(urlsplit(page).netloc), "a host without a scheme"
        urlsplit(text)
    except ValueError:
        return None  # it is not a URL
    path = urlsplit(text).path
    if host in path.lower() and any(_strip_host(part) == host for part in path.split("/")[:-1]):
        return None if f"/{host}" in urlsplit(page).path else reason
    if _SCHEME_OR_SLASH.match(text):
        return None
    first_part = re.split(r"[/?#]", text, maxsplit=1)[0].lower()
    if "." not in first_part.strip("."):
        return None
    if (
        first_part.startswith("www.")
        or _strip_host(first_part) == host
        or _COMMON_DOMAIN.match(text)
    ):
        return reason
    return reason if registered_domain(f"http://{first_part}/") == registered_domain(page) else None


def _strip_host(host: str) -> str:
    return host.lower().rpartition("@")[2].partition(":")[0].removeprefix("www.")
