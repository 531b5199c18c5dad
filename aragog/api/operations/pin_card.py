"""
Build a page's card: a picture, and a title, price and description with their sources and ages.

All strings come from the page and are untrusted. Escape them before showing them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from aragog.crawl.fetcher.ssrf import SsrfFilter
from aragog.errors import InvalidUrl
from aragog.runtime.hosts import is_ip
from aragog.urlstore.field_age import age_text
from aragog.urlstore.records import FieldInfo
from urlspelling import normalize
from urlspelling.domain import host

MAX_CHARACTERS = 600
_PRICE_FIELDS = ("product.price", "app.price", "book.price")
Kind = Literal["title", "price", "text"]


@dataclass(frozen=True, slots=True)
class CardLine:
    """One line of a card."""

    kind: Kind
    text: str
    note: str
    """The value's source and age, such as `from json-ld, confirmed 2 h ago`."""


@dataclass(frozen=True, slots=True)
class PinCard:
    """A page's card."""

    picture: str | None
    """An absolute URL on a public host, which the viewer's browser loads."""
    lines: tuple[CardLine, ...]

    @property
    def empty(self) -> bool:
        return not self.picture and not self.lines


def pin_card(
    fields: Mapping[str, Any],
    info: Mapping[str, FieldInfo],
    confirmed_at_ms: int | None,
    now_ms: int,
) -> PinCard:
    """
    Build the card from a page's decoded fields.

    Args:
        fields: decoded values of the record.
        info: the timestamp and source of each field.
        confirmed_at_ms: when a fetch or a 304 last confirmed the page, or None if none did.
        now_ms: the current time, for ages.
    """
    image = fields.get("page.image")
    picture_url = image.get("url") if isinstance(image, dict) else None
    line_kinds: list[tuple[str, Kind]] = [("page.title", "title")]
    line_kinds += [(price, "price") for price in _PRICE_FIELDS]
    line_kinds += [("page.description", "text")]
    lines = []
    for name, kind in line_kinds:
        if (value := fields.get(name)) in (None, ""):
            continue
        text = shorten(value)
        if kind == "price":
            text = f"{text} {fields.get(name.replace('.price', '.currency'), '')}".strip()
        note = age_text(name, info.get(name), confirmed_at_ms, now_ms)
        lines.append(CardLine(kind, text, note))
    return PinCard(picture_url if _is_public(picture_url) else None, tuple(lines))


def shorten(value: Any) -> str:
    """Return a value as a string of at most `MAX_CHARACTERS` characters, plus an ellipsis."""
    text = str(value)
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}…"


def _is_public(url: Any) -> bool:
    """
    Return True if a picture's URL does not appear to point into the viewer's own network.

    Only the URL itself is checked. The host name may resolve to other addresses for the viewer.
    """
    try:
        url = normalize(url) if isinstance(url, str) else ""
    except InvalidUrl:
        return False
    return bool(url) and not is_ip(host(url)) and _ssrf_filter().vet_url(url) is None


@cache
def _ssrf_filter() -> SsrfFilter:
    return SsrfFilter()
