"""
Sitemaps: urlset, index, plain text, RSS and Atom, with or without gzip. No I/O.

The protocol is that of sitemaps.org (50,000 URLs and 50 MB per file). Broken files are common: the
parser returns what it can read and sets `complete` to False. Only the five entities of XML are
recognized, so entities cannot expand.
"""

from __future__ import annotations

import datetime as dt
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from itertools import chain

from aragog.errors import InvalidUrl
from aragog.urls import normalize

MAX_URLS = 50_000
MAX_ENTRIES = 100_000
"""Maximum number of entries that are read, including repeated and invalid ones."""
# sitemaps.org: a URL has less than 2,048 characters; escapes make it longer.
LINE_BYTES = 8192


@dataclass(frozen=True, slots=True)
class SitemapUrl:
    """One entry of a sitemap."""

    url: str
    """The normalized URL."""
    lastmod_ms: int | None = None
    """
    Milliseconds since the epoch; a date without a time means its first moment in UTC. None if not
    given.
    """


class EntryCollector:
    """The entries found so far; the first entry for a URL is kept."""

    def __init__(self, base: str) -> None:
        self._base = base
        self.urls: dict[str, SitemapUrl] = {}
        self.children: dict[str, SitemapUrl] = {}
        self.invalid = 0
        self.cut = False
        """True once an entry was left out, because there are as many as a file may have."""
        self._entries = 0

    def add(
        self, into: dict[str, SitemapUrl], location: str | None, lastmod_ms: int | None = None
    ) -> None:
        if len(self.urls) + len(self.children) >= MAX_URLS or self._entries >= MAX_ENTRIES:
            self.cut = True
            return
        self._entries += 1
        try:
            url = normalize((location or "").strip(), self._base) if location else ""
        except InvalidUrl:
            url = ""
        if url:
            into.setdefault(url, SitemapUrl(url, lastmod_ms))
        else:
            self.invalid += 1


_W3C_DATE = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)"
    r"(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?\s*(Z|[+-]\d\d:?\d\d)?)?)?)?$",
    re.IGNORECASE,
)


def instant_ms(text: str) -> int | None:
    """
    Parse a W3C date (`2024`, `2024-05`, `2024-05-01T12:00+02:00`) or an RFC 5322 date; None for
    others.
    """
    text = text.strip()[:100]
    try:
        if match := _W3C_DATE.match(text):
            *numbers, zone = match.groups()
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


MAX_BYTES = 52_428_800
"""The maximum size of a sitemap after decompression."""
PIECE_BYTES = 65_536
_PACKED_BYTES = 16_384


class Unpacked:
    """A body without gzip (any number of members), in chunks; `complete` if that was all."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.complete = True

    def __iter__(self) -> Iterator[bytes]:
        room = MAX_BYTES
        packed = self._body.startswith(b"\x1f\x8b")
        for piece in self._members() if packed else _slices(self._body):
            yield piece[:room]
            room -= len(piece)
            if room < 0:
                self.complete = False
                return

    def _members(self) -> Iterator[bytes]:
        at, body = 0, self._body
        while body.startswith(b"\x1f\x8b", at):
            inflate = zlib.decompressobj(wbits=31)
            while not inflate.eof and at < len(body):
                data = body[at : at + _PACKED_BYTES]
                at += len(data)
                try:
                    while data:
                        yield inflate.decompress(data, PIECE_BYTES)
                        data = inflate.unconsumed_tail
                except zlib.error:
                    self.complete = False
                    return
            at -= len(inflate.unused_data)
            if not inflate.eof:
                self.complete = False
                return


def _slices(data: bytes) -> Iterator[bytes]:
    return (data[at : at + PIECE_BYTES] for at in range(0, len(data), PIECE_BYTES))


MAX_ELEMENTS = 2_000_000
"""Fifty thousand URLs with twenty translations each have half as many."""

MAX_DEPTH = 100
# No tag or text of a sitemap is longer than this; the parser would keep it whole in memory.
_TAG_BYTES = 262_144
_MOST_CHILDREN = 50
_REFERENCE_BYTES = 12
_ENTRIES = frozenset({"url", "sitemap", "item", "entry"})

# A bare ampersand is the most common error in sitemaps. Escaping each one that does not start a
# predefined XML reference also leaves no entity that could expand. CDATA is not changed.
_AMPERSAND = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9A-Fa-f]{1,6});)")


def read_xml(pieces: Iterable[bytes], result: EntryCollector) -> bool:
    """
    Add the entries of a file in XML to `result`.

    Return False if the file ends before its root element, is not XML, or exceeds the limits of a
    sitemap.
    """
    entries = _Entries(result)
    from lxml import etree  # noqa: PLC0415 - few messages carry a sitemap

    parser = etree.XMLParser(
        target=entries, recover=True, resolve_entities=False, no_network=True, load_dtd=False
    )
    unclosed = room = 0
    try:
        for piece in literal_ampersands(pieces):
            unclosed = len(piece) - piece.rfind(b">") if b">" in piece else unclosed + len(piece)
            room += len(piece)
            if unclosed > _TAG_BYTES or room > MAX_BYTES:
                return False
            parser.feed(piece)
            if result.cut or entries.count > MAX_ELEMENTS or entries.depth > MAX_DEPTH:
                return False
        # An entry that is still open at the end was cut off, perhaps inside a URL: ignore it.
        parser.close()
    except etree.XMLSyntaxError:
        return False
    return not parser.feed_error_log


def literal_ampersands(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the chunks with bare ampersands escaped; references and CDATA marks stay whole."""
    rest, in_cdata, wide = b"", False, None
    for piece in pieces:
        if wide is None:
            wide = piece[:2] in (b"\xff\xfe", b"\xfe\xff")  # in UTF-16 an ampersand is two bytes
        if wide:
            yield piece
            continue
        done, rest, in_cdata = _escaped(rest + piece, in_cdata=in_cdata)
        yield done
    yield rest if in_cdata else _AMPERSAND.sub(b"&amp;", rest)


def _escaped(data: bytes, *, in_cdata: bool) -> tuple[bytes, bytes, bool]:
    """Return the part of `data` to pass on, the rest, and whether the rest is in CDATA."""
    done, at = [], 0
    while True:
        mark = b"]]>" if in_cdata else b"<![CDATA["
        end = data.find(mark, at)
        if end < 0:
            break
        part = data[at:end]
        done.append((part if in_cdata else _AMPERSAND.sub(b"&amp;", part)) + mark)
        at, in_cdata = end + len(mark), not in_cdata
    keep = len(data) - 2 if in_cdata else _before_reference(data)
    keep = max(keep, at)
    part = data[at:keep]
    done.append(part if in_cdata else _AMPERSAND.sub(b"&amp;", part))
    return b"".join(done), data[keep:], in_cdata


def _before_reference(data: bytes) -> int:
    """Return the start of a reference or mark that may be incomplete at the end of `data`."""
    last = max(data.rfind(b"&", -_REFERENCE_BYTES), data.rfind(b"<", -_REFERENCE_BYTES))
    return last if last >= 0 else len(data)


class _Entries:
    """A target for lxml's parser that collects the entries and builds no tree."""

    def __init__(self, entries: EntryCollector) -> None:
        self._result = entries
        self._kind = ""
        self._entry_depth = 0
        self._child = ""
        self._texts: dict[str, str] = {}
        self._text: list[str] = []
        self._chars = 0
        self.count = 0
        """The number of elements so far."""
        self.depth = 0
        """The number of elements that are open."""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self.count += 1
        self.depth += 1
        name = tag.rpartition("}")[2]
        if name in _ENTRIES:
            self._kind, self._entry_depth, self._texts = name, self.depth, {}
            self._child = ""
        elif self._kind and self.depth == self._entry_depth + 1:
            self._child, self._text, self._chars = name, [], 0
            if name == "link" and self._kind == "entry":
                self._child = ""
                if attributes.get("rel", "alternate") == "alternate":
                    self._texts.setdefault("loc", attributes.get("href") or "")

    def data(self, text: str) -> None:
        if self._child and self._chars <= LINE_BYTES:
            self._text.append(text)
            self._chars += len(text)

    def end(self, _tag: str) -> None:
        if self._kind and self.depth == self._entry_depth:
            _entry(self._kind, self._texts, self._result)
            self._kind = ""
        elif self._child and self.depth == self._entry_depth + 1:
            if len(self._texts) < _MOST_CHILDREN:
                text = "" if self._chars > LINE_BYTES else "".join(self._text)
                self._texts[self._child] = self._texts.get(self._child) or text
            self._child = ""
        self.depth -= 1

    def close(self) -> None:
        """Do nothing: the entries are in `entries`."""


def _entry(kind: str, texts: Mapping[str, str], entries: EntryCollector) -> None:
    location = texts.get("loc") or (texts.get("link") if kind == "item" else None)
    modified = next((t for n in _DATES if (t := texts.get(n))), None)
    entries.add(
        entries.children if kind == "sitemap" else entries.urls,
        location,
        lastmod_ms=instant_ms(modified) if modified else None,
    )


_DATES = ("lastmod", "updated", "pubDate", "published", "date")


@dataclass(frozen=True, slots=True)
class Sitemap:
    """The contents of one sitemap file."""

    urls: tuple[SitemapUrl, ...] = ()
    """Pages, each once, in the file's order."""
    children: tuple[SitemapUrl, ...] = ()
    """The URLs of further sitemaps, if this file is an index."""
    invalid: int = 0
    """Number of entries without a usable URL."""
    complete: bool = True
    """False if the file was cut off, is broken, or is longer than the protocol allows."""


def parse(body: bytes, url: str) -> Sitemap:
    """
    Parse the sitemap in `body`, which was fetched from `url`.

    Takes about 20 µs per entry. The file is decompressed and read in chunks, so memory grows with
    the number of entries and not with the decompressed size.
    """
    unpacked, entries = Unpacked(body), EntryCollector(url)
    pieces = iter(unpacked)
    first = next(pieces, b"")
    start = first[:1024].lstrip(b"\xef\xbb\xbf \t\r\n\0\xff\xfe")
    read = read_xml if start.startswith(b"<") else _read_lines
    whole = read(chain((first,), pieces), entries)
    return Sitemap(
        tuple(entries.urls.values()),
        tuple(entries.children.values()),
        entries.invalid,
        unpacked.complete and whole and not entries.cut,
    )


def _read_lines(pieces: Iterable[bytes], entries: EntryCollector) -> bool:
    """Read a text file with one URL per line; a line too long for a URL counts as invalid."""
    rest, mark = b"", b"\xef\xbb\xbf"
    for piece in pieces:
        text, mark = rest + piece.removeprefix(mark).replace(b"\r", b"\n"), b""
        *lines, rest = text.split(b"\n")
        for line in lines:
            _line(line, entries)
        if entries.cut:
            return False
        if len(rest) > PIECE_BYTES:
            rest = rest[:PIECE_BYTES]
    _line(rest, entries)
    return True


def _line(line: bytes, entries: EntryCollector) -> None:
    for text in line[: LINE_BYTES + 1].decode("utf-8", "replace").splitlines():
        if text.strip():
            absolute = text.strip().lower().startswith(("http://", "https://"))
            entries.add(entries.urls, text if absolute and len(line) <= LINE_BYTES else None)


__all__ = ["MAX_BYTES", "MAX_URLS", "Sitemap", "SitemapUrl", "parse"]
