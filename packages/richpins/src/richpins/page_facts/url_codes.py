"""
Find a product's number in its page's URL: `/itm/133588510845`, `/dp/B00BRMIU7A`.

A number in the path counts only if it is also a complete value in the page: a text, an attribute or
a string in a script.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, unquote, urlsplit

from richpins.provenance import Candidate
from richpins.structured_data.sources import Sources
from urlspelling import InvalidUrl
from urlspelling.domain import registered_domain

_ASIN = re.compile(r"/(?:dp|gp/(?:product|aw/d)|d|product)/(B0[0-9A-Z]{8}|\d{9}[\dX])(?:[/?#]|\Z)")
_PRODUCT_PARAMETERS = frozenset(
    "sku childsku pid productid product_id prodid item itemid item_id article articleid".split()
)
_NUMBER_PART = re.compile(r"(?:\A|[-_])(\d{6,14})\Z|\A(\d{6,14})[-_]")
"""A number at the start or end of a path segment; not in `p4781720`, often a page's number."""
_MIXED_CODE = re.compile(
    r"(?=.{0,20}\d.{0,20}[a-z]|.{0,20}[a-z].{0,20}\d)[a-z\d]{7,14}", re.IGNORECASE
)
_EXTENSION = re.compile(r"\.(?:html?|php|aspx?|jsp)\Z", re.IGNORECASE)
_MAX_CODES = 4


def asins(sources: Sources) -> Iterator[Candidate]:
    """Yield the product number (ASIN) in the URL of an Amazon page."""
    try:
        shop = registered_domain(sources.document.url).partition(".")[0]
    except InvalidUrl:
        return
    match = _ASIN.search(sources.document.url) if shop == "amazon" else None
    if match:
        yield Candidate(match[1], "html", "url")


def product_codes(sources: Sources) -> Iterator[Candidate]:
    """Yield numbers in the query, then in the last path segment, that also occur in the page."""
    for code in list(dict.fromkeys(_codes_in_url(sources.document.url)))[:_MAX_CODES]:
        code_in_page = _find_whole_value(sources, code)
        if code_in_page is not None:
            yield Candidate(code_in_page, "html", "url")


def _codes_in_url(url: str) -> Iterator[str]:
    url_parts = urlsplit(url)
    for name, value in parse_qsl(url_parts.query[:1000]):
        if name.lower() in _PRODUCT_PARAMETERS and re.fullmatch(r"[\w-]{3,20}", value):
            yield value
    segment = _EXTENSION.sub("", unquote(url_parts.path.rstrip("/").rpartition("/")[2]))
    number = _NUMBER_PART.search(segment)
    if number:
        yield number[1] or number[2]
    elif _MIXED_CODE.fullmatch(segment):
        yield segment


def _find_whole_value(sources: Sources, code: str) -> str | None:
    """Return the code as written in the page, or None if it is not a complete value there."""
    encoded, lowered = code.lower().encode(), sources.words.lowered
    start = lowered.find(encoded)
    for _ in range(_MAX_OCCURRENCES):
        if start < 0:
            return None
        end = start + len(encoded)
        if lowered[start - 1 : start] in _VALUE_STARTS and lowered[end : end + 1] in _VALUE_ENDS:
            return sources.words.body[start:end].decode("utf-8", "replace")
        start = lowered.find(encoded, end)
    return None


_MAX_OCCURRENCES = 200
_VALUE_STARTS = frozenset({b'"', b"'", b">", b" ", b":", b"#", b"\n", b"\t"})
_VALUE_ENDS = frozenset({b'"', b"'", b"<", b" ", b",", b"}", b"\n", b"\t", b"\r"})
