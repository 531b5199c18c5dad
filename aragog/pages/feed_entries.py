"""
Reads the entries of sitemaps, RSS and Atom files, even if their XML is broken. No I/O.

An error in the XML may cause an entry to be lost, but never changes one. A URL is used only if its
element has an end tag and contains no other element, and its text is unambiguous
(`tolerant_xml.decode_text`). An `image:loc` is never read as a `loc`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from aragog.pages.sitemap_dates import DateSpan, parse_date_span
from aragog.pages.tolerant_xml import TokenKind, TokenReader, decode_text, parse_attributes
from urlspelling import InvalidUrl, normalize

MAX_ELEMENTS = 2_000_000
"""Twice as many as a file needs for 50,000 URLs with 20 translations each."""
MAX_DEPTH = 100
# sitemaps.org limits URLs to 2,048 characters. Escaping makes them longer.
MAX_URL_BYTES = 8192
_MAX_LOCATIONS = 50
_MAX_CACHED_ELEMENTS = 1000
MAX_ALTERNATES = 100_000
"""Maximum number of translations kept per file."""
_LANGUAGE_CHARS = 35
_ABSOLUTE_PREFIXES = ("http://", "https://")

_SITEMAP_ENTRIES = {"url": "url", "sitemap": "sitemap"}
_FEED_ENTRIES = {"item": "item", "entry": "entry"}
_ENTRIES_BY_ROOT = {
    "urlset": _SITEMAP_ENTRIES,
    "sitemapindex": _SITEMAP_ENTRIES,
    "rss": _FEED_ENTRIES,
    "RDF": _FEED_ENTRIES,
    "feed": _FEED_ENTRIES,
}
_ALL_ENTRIES = _SITEMAP_ENTRIES | _FEED_ENTRIES
# A `loc` directly in the root element has no entry element. It counts as an entry of this kind.
_KIND_BY_ROOT = {"urlset": "url", "sitemapindex": "sitemap"}
# Elements that contain only text. If the end tag is missing, the element ends where the next one
# starts.
_TEXT_ONLY_ELEMENTS = frozenset({"loc", "lastmod", "changefreq", "priority"})
_DATE_ELEMENTS = ("lastmod", "updated", "pubDate", "published", "date")
# These elements count only if they are in the same namespace as their entry.
_SAME_NAMESPACE_TEXTS = frozenset({"loc", "link", "guid", "content", "id"})
_LOCATION_ELEMENTS = {
    "url": frozenset({"loc"}),
    "sitemap": frozenset({"loc"}),
    "item": frozenset({"link", "guid"}),
}
_ALTERNATE_RELATIONS = frozenset(
    {"alternate", "http://www.iana.org/assignments/relation/alternate"}
)
_PAGE_TYPES = frozenset({"", "text/html", "application/xhtml+xml"})


class ListedEntry(NamedTuple):
    """One entry of a file."""

    is_sitemap: bool
    locations: tuple[str | None, ...]
    """Normalized URLs, with None for each unusable one."""
    modified: DateSpan | None
    alternates: tuple[tuple[str, str], ...]
    """Language and normalized URL of each translation."""


class EntrySink(Protocol):
    """Receives the entries in file order."""

    def take(self, to_listed_entry: ListedEntry) -> bool:
        """Add an entry. Return False to stop the reader."""


@dataclass(frozen=True, slots=True, eq=False)
class _OpenElement:
    """An element that has not ended yet."""

    name: bytes
    local: str
    namespace: str
    scope: dict[str, str]
    """Namespaces by prefix."""
    base: str
    children: dict[bytes, _OpenElement] = field(default_factory=dict)
    """Cache of child elements that set no namespace or base URL, by name. Thousands of entries
    share these elements."""


@dataclass(slots=True)
class _OpenEntry:
    kind: str
    namespace: str
    depth: int
    """How many elements enclose the entry's element."""
    has_no_element: bool = False
    """True if the entry consists only of a location, without an element around it."""
    locations: list[str | None] = field(default_factory=list)
    dates: dict[str, str] = field(default_factory=dict)
    links: list[tuple[bool, str]] = field(default_factory=list)
    """The links of an Atom entry: True if a link leads to a web page, and the link's URL."""
    has_alternate: bool = False
    """True if an Atom entry has a link to its page, even if that link is not usable."""
    content: str | None = None
    """The URL of an Atom entry's content, if it is not in the file (RFC 4287 section 4.1.3.2)."""
    guid: str | None = None
    """The URL in the entry's identifier, which is used if there is no other URL."""
    alternates: list[tuple[str, str]] = field(default_factory=list)

    def to_listed_entry(self) -> ListedEntry:
        return ListedEntry(
            self.kind == "sitemap",
            tuple(self.locations)
            if self.kind in _KIND_BY_ROOT.values()
            else (self._choose_page(),),
            next(
                (
                    span
                    for name in _DATE_ELEMENTS
                    if (span := parse_date_span(self.dates.get(name, "")))
                ),
                None,
            ),
            tuple(self.alternates),
        )

    def _choose_page(self) -> str | None:
        pages = [url for is_page, url in sorted(self.links, key=lambda link: not link[0])]
        urls = [*pages, *self.locations, self.content, self.guid]
        return next((url for url in urls if url), None)


def read_entries(pieces: Iterable[bytes], base: str, charset: str, sink: EntrySink) -> bool:
    """
    Pass a file's entries to `sink`.

    Args:
        pieces: the file, in an encoding that `tolerant_xml` supports.
        base: the file's URL; relative references are resolved against it and `xml:base`.
        charset: WHATWG name of the encoding.
        sink: receives the entries.

    Returns:
        False if the XML is not well-formed, or the file exceeds the limits for sitemaps.
    """
    return _EntryReader(pieces, base, charset, sink).read()


class _EntryReader:
    def __init__(self, pieces: Iterable[bytes], base: str, charset: str, sink: EntrySink) -> None:
        self._tokens = TokenReader(pieces)
        self._charset = charset
        self._sink = sink
        self._document = _OpenElement(b"", "", "", {}, base)
        self._stack: list[_OpenElement] = []
        self._root: _OpenElement | None = None
        self._entry_kinds: Mapping[str, str] = _ALL_ENTRIES
        self._entry: _OpenEntry | None = None
        self._entry_namespace: str | None = None
        self._text: list[tuple[bytes, bool]] | None = None
        """The text of the innermost open element, or None if it is not needed."""
        self._text_bytes = 0
        self._is_ambiguous = False
        """True if the element contains more than text."""
        self._is_permalink = False
        self._count = self._cached_count = 0
        self._remaining_alternates = MAX_ALTERNATES
        self._is_stopped = False

    def read(self) -> bool:
        for kind, data, attributes in self._tokens:
            if kind is TokenKind.START:
                self._start_element(data, attributes)
            elif kind is TokenKind.END:
                self._close_element(data)
            elif kind is TokenKind.EMPTY:
                self._start_element(data, attributes)
                if self._stack:
                    self._pop()
            elif kind is TokenKind.FAULT:
                self._is_ambiguous = True
            else:
                self._collect_text(data, is_cdata=kind is TokenKind.CDATA)
            if self._is_stopped or len(self._stack) > MAX_DEPTH or self._count > MAX_ELEMENTS:
                return False
        if self._stack:
            # The file is truncated. An entry that is still open only counts if it has a complete
            # URL.
            self._tokens.damaged = True
        if self._entry is not None and (self._entry.locations or self._entry.links):
            self._finish_entry()
        return not self._tokens.damaged and self._root is not None

    def _start_element(self, name: bytes, attributes: bytes) -> None:
        self._count += 1
        if self._stack and self._stack[-1].local in _TEXT_ONLY_ELEMENTS:
            self._tokens.damaged = self._is_ambiguous = True
            self._pop()
        element = self._open_element(name, attributes)
        if self._text is not None:
            self._is_ambiguous = True
        self._handle_element(element, attributes)
        self._stack.append(element)
        self._tokens.keep_texts = self._text is not None

    def _open_element(self, name: bytes, raw: bytes) -> _OpenElement:
        parent = self._stack[-1] if self._stack else self._document
        scope, base = parent.scope, parent.base
        inherits = not (b"xmlns" in raw or b"xml:base" in raw)
        if inherits and name in parent.children:
            return parent.children[name]
        if not inherits:
            attributes = parse_attributes(raw, self._charset)
            scope = scope | {
                key.partition(":")[2]: uri
                for key, uri in attributes.items()
                if key == "xmlns" or key.startswith("xmlns:")
            }
            base = _resolve(base, attributes.get("xml:base")) or base
        prefix, _, local = name.decode("latin-1").rpartition(":")
        element = _OpenElement(name, local, scope.get(prefix, prefix), scope, base)
        if inherits and self._cached_count < _MAX_CACHED_ELEMENTS:
            self._cached_count += 1
            parent.children[name] = element
        return element

    def _handle_element(self, element: _OpenElement, raw: bytes) -> None:
        local = element.local
        if self._root is None and local in _ENTRIES_BY_ROOT:
            self._root, self._entry_kinds = element, _ENTRIES_BY_ROOT[local]
            return
        if local in self._entry_kinds and self._entry_namespace in (None, element.namespace):
            self._finish_entry()
            self._entry_namespace = element.namespace
            self._entry = _OpenEntry(self._entry_kinds[local], element.namespace, len(self._stack))
            return
        entry = self._entry
        if entry is None:
            if local == "loc" and self._stack and self._stack[-1].local in _KIND_BY_ROOT:
                self._start_entry_without_element(element)
            return
        if len(self._stack) != entry.depth + 1:
            return
        if element.namespace == entry.namespace and local in _SAME_NAMESPACE_TEXTS:
            if entry.kind == "entry":
                self._read_atom_child(entry, element, raw)
            elif local in _LOCATION_ELEMENTS[entry.kind]:
                self._start_text(raw)
        elif local == "link":
            self._read_alternate(entry, element, raw)
        elif local in _DATE_ELEMENTS:
            self._start_text(raw)

    def _start_entry_without_element(self, element: _OpenElement) -> None:
        parent = self._stack[-1]
        if element.namespace == parent.namespace:
            kind = _KIND_BY_ROOT[parent.local]
            self._entry = _OpenEntry(
                kind, element.namespace, len(self._stack) - 1, has_no_element=True
            )
            self._start_text(b"")

    def _start_text(self, raw: bytes) -> None:
        if self._text is not None:
            return
        self._text, self._text_bytes, self._is_ambiguous = [], 0, False
        self._is_permalink = True
        if b"isPermaLink" in raw:
            attributes = parse_attributes(raw, self._charset)
            self._is_permalink = attributes.get("isPermaLink", "").strip().lower() == "true"

    def _collect_text(self, data: bytes, *, is_cdata: bool) -> None:
        if self._text is not None and self._text_bytes <= MAX_URL_BYTES:
            self._text.append((data, is_cdata))
            self._text_bytes += len(data)

    def _close_element(self, name: bytes) -> None:
        if self._stack and self._stack[-1].name == name:
            self._pop()
            return
        if not any(element.name == name for element in self._stack):
            self._tokens.damaged = self._is_ambiguous = True
            return
        while self._stack[-1].name != name:
            # its end tag is missing, so it may be truncated
            self._tokens.damaged = self._is_ambiguous = True
            self._pop()
        self._pop()

    def _pop(self) -> None:
        element = self._stack.pop()
        entry = self._entry
        if entry is None:
            return
        if len(self._stack) == entry.depth:
            self._finish_entry()
        elif len(self._stack) == entry.depth + 1 and self._text is not None:
            text = (
                None
                if self._text_bytes > MAX_URL_BYTES or self._is_ambiguous
                else self._read_text()
            )
            self._text = None
            self._tokens.keep_texts = False
            self._store_text(entry, element, text)

    def _read_text(self) -> str | None:
        text = decode_text(self._text or (), self._charset)
        return None if text is None else text.strip()

    def _store_text(self, entry: _OpenEntry, element: _OpenElement, text: str | None) -> None:
        """Store the text of a child of the entry. The text is None if it is ambiguous."""
        if text is None and element.local != "id":
            self._tokens.damaged = True
        if element.local in _DATE_ELEMENTS:
            entry.dates.setdefault(element.local, text or "")
        elif element.local in ("guid", "id"):
            if self._is_permalink and text and text.lower().startswith(_ABSOLUTE_PREFIXES):
                entry.guid = entry.guid or _resolve(element.base, text)
        elif len(entry.locations) < _MAX_LOCATIONS and (text or element.local == "loc"):
            entry.locations.append(_location_url(element.base, text or ""))
        if entry.has_no_element:
            self._finish_entry()

    def _read_atom_child(self, entry: _OpenEntry, element: _OpenElement, raw: bytes) -> None:
        if element.local == "id":
            self._start_text(raw)
        elif element.local == "content" and b"src" in raw:
            source = parse_attributes(raw, self._charset).get("src")
            entry.content = _resolve(element.base, source)
        elif element.local == "link":
            self._read_atom_link(entry, element, raw)

    def _read_atom_link(self, entry: _OpenEntry, element: _OpenElement, raw: bytes) -> None:
        """Store an Atom `link` (RFC 4287 section 4.2.7)."""
        attributes = parse_attributes(raw, self._charset)
        if attributes.get("rel", "alternate").strip().lower() not in _ALTERNATE_RELATIONS:
            return
        entry.has_alternate = True
        href = attributes.get("href")
        if href == "" and element.base != self._document.base:
            href = element.base  # RFC 3986 section 5.2.2: an empty reference means the entry's base
        url = _resolve(element.base, href)
        if url and len(entry.links) < _MAX_LOCATIONS:
            media_type = attributes.get("type", "").partition(";")[0].strip().lower()
            entry.links.append((media_type in _PAGE_TYPES, url))

    def _read_alternate(self, entry: _OpenEntry, element: _OpenElement, raw: bytes) -> None:
        """Store an `xhtml:link` to a translation, up to the file's limit."""
        if b"hreflang" not in raw or self._remaining_alternates <= 0:
            return
        attributes = parse_attributes(raw, self._charset)
        url = _resolve(element.base, attributes.get("href"))
        language = attributes.get("hreflang", "").strip()[:_LANGUAGE_CHARS]
        if url and language and attributes.get("rel", "").lower() == "alternate":
            entry.alternates.append((language, url))
            self._remaining_alternates -= 1

    def _finish_entry(self) -> None:
        entry, self._entry = self._entry, None
        if entry is not None and (entry.has_alternate or self._tokens.damaged):
            # Do not replace an unusable or lost link with another URL of the entry.
            entry.content = None
            entry.guid = entry.guid if entry.kind == "item" else None
        if entry is not None and not self._sink.take(entry.to_listed_entry()):
            self._is_stopped = True


def _location_url(base: str, text: str) -> str | None:
    """
    Return the normalized URL of a location, or None if the location is neither an absolute URL nor
    a path on the host.
    """
    return _resolve(base, text) if text.lower().startswith((*_ABSOLUTE_PREFIXES, "/")) else None


def _resolve(base: str, reference: str | None) -> str | None:
    if not reference or len(reference) > MAX_URL_BYTES:
        return None
    try:
        return normalize(reference.strip(), base)
    except InvalidUrl:
        return None
