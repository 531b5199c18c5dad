"""
Parses sitemaps: urlset, index, plain text, RSS and Atom, with or without gzip. No I/O.

Follows sitemaps.org (50,000 URLs and 50 MB per file). From a broken file, the parser returns all
unambiguous entries and sets `complete` to False. The encoding is taken from the byte order mark,
the Content-Type header or the XML declaration, in this order; otherwise it is UTF-8 (RFC 7303).
"""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from aragog.pages.feed_entries import MAX_URL_BYTES, ListedEntry, read_entries
from aragog.pages.sitemap_dates import DateSpan
from aragog.pages.tolerant_xml import decode_text
from richpins import encodings
from urlspelling import InvalidUrl, normalize

MAX_URLS = 50_000
MAX_ENTRIES = 100_000
"""Maximum number of entries per file, including duplicates and invalid ones."""


@dataclass(frozen=True, slots=True)
class SitemapUrl:
    """One entry of a sitemap."""

    url: str
    """The normalized URL."""
    lastmod_ms: int | None = None
    """When the page changed, in ms since the epoch; the start (UTC) of a date without a time."""
    lastmod_end_ms: int | None = None
    """The last millisecond of a date without a time. None for an instant or a missing date."""
    alternates: tuple[tuple[str, str], ...] = ()
    """Language and normalized URL of each translation that the entry lists, at most 100,000 per
    file.

    They are not entries of the sitemap.
    """

    def changed_since(self, seen_at_ms: int, now_ms: int) -> bool:
        """
        Return True if the page may have changed after it was last seen.

        A date without a time counts as the start of its day, month or year until that period has
        ended, and then as its end. So one date makes aragog fetch the page at most twice. A time in
        the future is ignored.
        """
        at_ms = self.lastmod_ms
        if self.lastmod_end_ms is not None and self.lastmod_end_ms <= now_ms:
            at_ms = self.lastmod_end_ms
        return at_ms is not None and seen_at_ms < at_ms <= now_ms


class EntryCollector:
    """Collects a file's entries. Of several entries for one URL, only the first is kept."""

    def __init__(self) -> None:
        self.urls: dict[str, SitemapUrl] = {}
        self.children: dict[str, SitemapUrl] = {}
        self.invalid = 0
        self.is_cut = False
        """True if entries were dropped because of the limit."""
        self._entries = 0

    def take(self, listed: ListedEntry) -> bool:
        """Add an entry. Returns False when the file has reached the limit."""
        target = self.children if listed.is_sitemap else self.urls
        for url in listed.locations or (None,):
            if len(self.urls) + len(self.children) >= MAX_URLS or self._entries >= MAX_ENTRIES:
                self.is_cut = True
                return False
            self._entries += 1
            if url is None:
                self.invalid += 1
            elif url not in target:
                target[url] = _sitemap_url(url, listed.modified, listed.alternates)
        return True


def _sitemap_url(
    url: str, modified: DateSpan | None, alternates: tuple[tuple[str, str], ...]
) -> SitemapUrl:
    if modified is None:
        return SitemapUrl(url, alternates=alternates)
    end_ms = modified.end_ms if modified.end_ms != modified.start_ms else None
    return SitemapUrl(url, modified.start_ms, end_ms, alternates)


MAX_BYTES = 52_428_800
"""The maximum size of a sitemap after decompression."""
PIECE_BYTES = 65_536
_COMPRESSED_CHUNK_BYTES = 16_384
_GZIP_MAGIC = b"\x1f\x8b"
_MAX_GZIP_LAYERS = 3
"""Some servers compress files that are already compressed on disk."""


class DecompressedBody:
    """
    The decompressed body, in chunks. Supports several gzip members, and up to three layers of gzip.

    `complete` is False if the body is truncated, damaged or too large.
    """

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.complete = True

    def __iter__(self) -> Iterator[bytes]:
        remaining_bytes = MAX_BYTES
        pieces = _split_into_pieces(self._body)
        for _ in range(_MAX_GZIP_LAYERS):
            first = next(pieces, b"")
            pieces = chain((first,), pieces)
            if not first.startswith(_GZIP_MAGIC):
                break
            pieces = self._decompress_members(pieces)
        for piece in pieces:
            yield piece[:remaining_bytes]
            remaining_bytes -= len(piece)
            if remaining_bytes < 0:
                self.complete = False
                return

    def _decompress_members(self, compressed: Iterator[bytes]) -> Iterator[bytes]:
        unread = b""
        while unread or (unread := next(compressed, b"")):
            unread += next(compressed, b"") if len(unread) < len(_GZIP_MAGIC) else b""
            if not unread.startswith(_GZIP_MAGIC):
                return
            inflate = zlib.decompressobj(wbits=31)
            while not inflate.eof and (unread or (unread := next(compressed, b""))):
                data, unread = unread[:_COMPRESSED_CHUNK_BYTES], unread[_COMPRESSED_CHUNK_BYTES:]
                try:
                    while data:
                        if piece := inflate.decompress(data, PIECE_BYTES):
                            yield piece
                        data = inflate.unconsumed_tail
                except zlib.error:
                    self.complete = False
                    return
            unread = inflate.unused_data + unread
            if not inflate.eof:
                self.complete = False
                return


def _split_into_pieces(data: bytes) -> Iterator[bytes]:
    return (data[offset : offset + PIECE_BYTES] for offset in range(0, len(data), PIECE_BYTES))


@dataclass(frozen=True, slots=True)
class Sitemap:
    """The contents of one sitemap file."""

    urls: tuple[SitemapUrl, ...] = ()
    children: tuple[SitemapUrl, ...] = ()
    """The URLs of other sitemaps, if this file is an index of sitemaps."""
    invalid: int = 0
    """Number of entries without a usable URL."""
    complete: bool = True
    """False if the file is truncated or broken, or longer than the protocol allows."""
    is_feed: bool = False
    """True for RSS and Atom."""


# The start of an XML file, possibly after a warning printed by a script.
_XML_START = re.compile(rb"<(?:\?xml\s|(?:[\w.-]+:)?(?:urlset|sitemapindex|rss|feed|RDF)[\s>])")
_FEED_START = re.compile(rb"<(?:[\w.-]+:)?(?:rss|feed|RDF)[\s>]")
_BLANK_BYTES = b" \t\r\n\0"
_UTF8_BOM = b"\xef\xbb\xbf"
# Files in these encodings are converted before parsing, because the parser does not know them or
# searches for ASCII bytes.
_REENCODED_CHARSETS = frozenset({"utf-16le", "utf-16be", "iso-2022-jp", "x-user-defined"})


def parse(body: bytes, url: str, content_type: str | None = None) -> Sitemap:
    """
    Parse the sitemap in `body`.

    Takes about 30 µs per entry. Memory grows only with the number of entries.
    """
    decompressed, entries = DecompressedBody(body), EntryCollector()
    pieces = iter(decompressed)
    first = next(pieces, b"")
    charset = _detect_charset(first, content_type)
    pieces = chain((first,), pieces)
    if charset == "replacement":
        return Sitemap(complete=False)
    if charset in _REENCODED_CHARSETS:
        pieces, charset = _reencode(pieces, charset), "utf-8"
    first = _strip_byte_order_marks(next(pieces, b""))
    pieces = chain((first,), pieces)
    if first.lstrip(_BLANK_BYTES).startswith(b"<") or _XML_START.search(first):
        is_complete = read_entries(pieces, url, charset, entries)
    else:
        is_complete = _read_lines(pieces, url, charset, entries)
    return Sitemap(
        tuple(entries.urls.values()),
        tuple(entries.children.values()),
        entries.invalid,
        decompressed.complete and is_complete and not entries.is_cut,
        _FEED_START.search(first) is not None,
    )


def _detect_charset(first: bytes, content_type: str | None) -> str:
    """Return the WHATWG name of the encoding."""
    if first.startswith(_UTF8_BOM):
        return "utf-8"
    if first[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16le" if first.startswith(b"\xff") else "utf-16be"
    if re.match(rb"[^\0]\0[^\0]\0", first):
        return "utf-16le"
    if re.match(rb"\0[^\0]\0[^\0]", first):
        return "utf-16be"
    declared_charset = encodings.from_header(content_type)
    if declared_charset in (None, "utf-16le", "utf-16be"):  # the bytes are not UTF-16
        declared_charset = encodings.from_xml_declaration(
            first[: encodings.PRESCAN_BYTES].lstrip(_BLANK_BYTES)
        )
    if declared_charset is None or encodings.is_surely_utf8(first, declared_charset):
        return "utf-8"
    return declared_charset


def _reencode(pieces: Iterable[bytes], charset: str) -> Iterator[bytes]:
    """Yield the chunks as UTF-8. Undecodable bytes become U+FFFD, which makes an entry invalid."""
    decoder = codecs.getincrementaldecoder(encodings.codec_of(charset))("replace")
    for piece in pieces:
        yield decoder.decode(piece).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def _strip_byte_order_marks(first: bytes) -> bytes:
    """Remove all byte order marks. Some files have two."""
    start = first.lstrip(_BLANK_BYTES)
    while start.startswith(_UTF8_BOM):
        first = start[len(_UTF8_BOM) :]
        start = first.lstrip(_BLANK_BYTES)
    return first


def _read_lines(pieces: Iterable[bytes], base: str, charset: str, entries: EntryCollector) -> bool:
    """Read a text file with one URL per line. A line that is too long counts as invalid."""
    unread = b""
    for piece in pieces:
        *lines, unread = (unread + piece.replace(b"\r", b"\n")).split(b"\n")
        for line in lines:
            _read_line(line, base, charset, entries)
        if entries.is_cut:
            return False
        if len(unread) > PIECE_BYTES:
            unread = unread[:PIECE_BYTES]
    _read_line(unread, base, charset, entries)
    return True


def _read_line(line: bytes, base: str, charset: str, entries: EntryCollector) -> None:
    if not line.strip():
        return
    # text files have no entities
    text = decode_text([(line, True)], charset) if len(line) <= MAX_URL_BYTES else None
    url = None
    if text is not None and text.strip().lower().startswith(("http://", "https://")):
        try:
            url = normalize(text.strip(), base)
        except InvalidUrl:
            url = None
    entries.take(ListedEntry(is_sitemap=False, locations=(url,), modified=None, alternates=()))


__all__ = ["MAX_BYTES", "MAX_URLS", "Sitemap", "SitemapUrl", "parse"]
