"""
Parse a sitemap file of any form.

The protocol is that of sitemaps.org (50,000 URLs and 50 MB per file). Broken files are common: the
parser returns what it can read and sets `complete` to False. Only the five entities of XML are
recognized, so entities cannot expand.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from aragog.pages.sitemaps.entries import LINE_BYTES, EntryCollector, SitemapUrl
from aragog.pages.sitemaps.unpacking import PIECE_BYTES, Unpacked
from aragog.pages.sitemaps.xml_reader import read_xml


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
