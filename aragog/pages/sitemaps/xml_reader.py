"""Read sitemaps in XML: urlset, index, RSS and Atom."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from aragog.pages.sitemaps.dates import instant_ms
from aragog.pages.sitemaps.entries import LINE_BYTES, EntryCollector
from aragog.pages.sitemaps.unpacking import MAX_BYTES

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
        """Number of elements so far."""
        self.depth = 0
        """Number of open elements."""

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
