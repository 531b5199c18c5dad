"""
Sitemaps to URLs: urlset, index, plain text, RSS and Atom, gzipped or not. Pure.

The protocol is that of sitemaps.org (50,000 URLs and 50 MB a file). Broken files are the rule: what
can be read of one is given, and `complete` is False. No entity but the five of XML is known here,
so nothing expands.
"""

from __future__ import annotations

import datetime as dt
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from lxml import etree

from aragog.errors import InvalidUrl
from aragog.urls import normalize

MAX_URLS = 50_000
MAX_BYTES = 52_428_800
"""After decompression."""

CHANGE_FREQUENCIES = frozenset(
    {"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"}
)

_PIECE_BYTES = 65_536

# The commonest fault of sitemaps: a bare ampersand. Making all that are no reference of XML's own
# literal also leaves no entity that could expand. CDATA is passed over.
_AMPERSAND = re.compile(
    rb"(<!\[CDATA\[(?:[^\]]++|\](?!\]>))*+)"
    rb"|&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9A-Fa-f]{1,6});)"
)

_W3C_DATE = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)"
    r"(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?\s*(Z|[+-]\d\d:?\d\d)?)?)?)?$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SitemapUrl:
    """One entry."""

    url: str
    """Normalized."""
    lastmod_ms: int | None = None
    """Since the epoch; a date without time means its first moment, in UTC. None: not said."""
    changefreq: str | None = None
    """One of `CHANGE_FREQUENCIES`."""
    priority: float | None = None
    """0 to 1."""


@dataclass(frozen=True, slots=True)
class Sitemap:
    """What one file says."""

    urls: tuple[SitemapUrl, ...] = ()
    """Pages, each once, in the file's order."""
    children: tuple[SitemapUrl, ...] = ()
    """Further sitemaps, where this is an index."""
    invalid: int = 0
    """Entries without a usable URL."""
    complete: bool = True
    """False when the file was cut, is broken, or is longer than the protocol allows."""


def parse(body: bytes, url: str) -> Sitemap:
    """
    The sitemap in `body`, which was fetched from `url`.

    About 20 µs an entry; memory grows with the entries, not with the file.
    """
    data, complete = _unpacked(body)
    found = _Found(url)
    start = data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n\0\xff\xfe")
    read = _read_xml if start.startswith(b"<") else _read_lines
    whole = read(data, found)
    return Sitemap(
        tuple(found.urls.values()),
        tuple(found.children.values()),
        found.invalid,
        complete and whole and not found.full,
    )


class _Found:
    """Entries so far; the first one of a URL counts."""

    def __init__(self, base: str) -> None:
        self._base = base
        self.urls: dict[str, SitemapUrl] = {}
        self.children: dict[str, SitemapUrl] = {}
        self.invalid = 0

    @property
    def full(self) -> bool:
        return len(self.urls) + len(self.children) >= MAX_URLS

    def add(self, into: dict[str, SitemapUrl], location: str | None, **facts: Any) -> None:
        try:
            url = normalize((location or "").strip(), self._base) if location else ""
        except InvalidUrl:
            url = ""
        if url:
            into.setdefault(url, SitemapUrl(url, **facts))
        else:
            self.invalid += 1


def _unpacked(body: bytes) -> tuple[bytes, bool]:
    """`body` without gzip (any number of members), and whether that is all of it."""
    if not body.startswith(b"\x1f\x8b"):
        return body[:MAX_BYTES], len(body) <= MAX_BYTES
    out: list[bytes] = []
    room = MAX_BYTES
    while body.startswith(b"\x1f\x8b"):
        inflate = zlib.decompressobj(wbits=31)
        try:
            out.append(inflate.decompress(body, room))
        except zlib.error:
            return b"".join(out), False
        room -= len(out[-1])
        body = inflate.unused_data
        if not inflate.eof or room <= 0:
            return b"".join(out), False
    return b"".join(out), True


def _read_lines(data: bytes, found: _Found) -> bool:
    """A text file, one URL a line."""
    for line in data.decode("utf-8", "replace").lstrip("\ufeff").splitlines():
        if found.full:
            return False
        if line.strip():
            absolute = line.strip().lower().startswith(("http://", "https://"))
            found.add(found.urls, line if absolute else None)
    return True


def _read_xml(data: bytes, found: _Found) -> bool:
    """False when it ends before its root does, or is no XML."""
    parser = etree.XMLPullParser(
        events=("end",),
        tag=("{*}url", "{*}sitemap", "{*}item", "{*}entry"),
        recover=True,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
    )
    try:
        for piece in _pieces(data):
            parser.feed(piece)
            for _, element in parser.read_events():
                _entry(element, found)
                _forget(element)
                if found.full:
                    return False
        # What is still open at the end was cut in the middle, perhaps inside a URL: not read.
        parser.close()
    except etree.XMLSyntaxError:
        return False
    return not parser.feed_error_log


def _pieces(data: bytes) -> Iterator[bytes]:
    if data[:2] not in (b"\xff\xfe", b"\xfe\xff"):  # in UTF-16 an ampersand is two bytes
        data = _AMPERSAND.sub(lambda m: m[1] or b"&amp;", data)
    return (data[at : at + _PIECE_BYTES] for at in range(0, len(data), _PIECE_BYTES))


def _forget(element: Any) -> None:
    """Keep the tree as small as one entry."""
    element.clear()
    while (before := element.getprevious()) is not None:
        before.getparent().remove(before)


def _entry(element: Any, found: _Found) -> None:
    kind = _name(element)
    texts: dict[str, str] = {}
    for child in element:
        name = _name(child)
        text = "".join(child.itertext()) if isinstance(child.tag, str) else ""
        if name == "link" and kind == "entry":
            if child.get("rel", "alternate") == "alternate":
                texts.setdefault("loc", child.get("href") or "")
        else:
            texts.setdefault(name, text)
    location = texts.get("loc") or (texts.get("link") if kind == "item" else None)
    modified = next((t for n in _DATES if (t := texts.get(n))), None)
    found.add(
        found.children if kind == "sitemap" else found.urls,
        location,
        lastmod_ms=instant_ms(modified) if modified else None,
        changefreq=_frequency(texts.get("changefreq")),
        priority=_priority(texts.get("priority")),
    )


_DATES = ("lastmod", "updated", "pubDate", "published", "date")


def _name(element: Any) -> str:
    """The local name, whatever the namespace; "" for comments and the like."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def _frequency(text: str | None) -> str | None:
    low = (text or "").strip().lower()
    return low if low in CHANGE_FREQUENCIES else None


def _priority(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None


def instant_ms(text: str) -> int | None:
    """A W3C date (`2024`, `2024-05`, `2024-05-01T12:00+02:00`) or a mail's; None for others."""
    text = text.strip()[:100]
    try:
        if found := _W3C_DATE.match(text):
            *numbers, zone = found.groups()
            year, month, day, hour, minute, second = (
                int(n or default) for n, default in zip(numbers, (1, 1, 1, 0, 0, 0), strict=True)
            )
            when = dt.datetime(year, month, day, hour, minute, min(second, 59), tzinfo=_zone(zone))
        else:
            when = parsedate_to_datetime(text)
            when = when if when.tzinfo else when.replace(tzinfo=dt.UTC)
        return int(when.timestamp() * 1000)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _zone(text: str | None) -> dt.tzinfo:
    if not text or text in "Zz":
        return dt.UTC
    minutes = int(text[1:3]) * 60 + int(text[-2:])
    return dt.timezone(dt.timedelta(minutes=-minutes if text[0] == "-" else minutes))
