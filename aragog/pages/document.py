"""
Parse a page's bytes into one document that link, evidence and Rich Pin extraction share.

`encoding` follows the HTML Standard, 13.2.3.2: byte order mark, Content-Type header, the page's own
declaration, then detection from the bytes. `parse` runs lexbor once (0.2 ms for 57 KB) with
scripting enabled, because browsers decide in that mode where the head of a page ends. This module
does no I/O and never raises for a bad page: it reports what it could not read in
`Document.problems`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import chardet
from selectolax.lexbor import LexborHTMLParser, LexborNode

from aragog.pages import markup_limits
from aragog.pages.encodings import labels, prescan
from aragog.pages.link_resolver import LinkResolver
from aragog.pages.robots_meta import PageRobots, from_meta

Attributes = dict[str, str | None]

MAX_HEAD_ELEMENTS = 2_000
"""Maximum number of meta, link, script and h1 elements that are read; real pages have up to 300."""

MAX_HEADINGS = 5

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le"))
_CHARSET_WORD = re.compile(rb"charset", re.IGNORECASE)
_LATE_DECLARATION_BYTES = 65_536
_JOINED_LITERALS = re.compile(rb"""(["'])[ \t\r\n]*\+[ \t\r\n]*\1""")
"""Scripts hide the tags that they write from the parser this way: `'<meta chars' + 'et=…'`."""
_DETECTION_BYTES = 20_000
_DETECTION_CONFIDENCE = 0.18
"""
chardet was wrong on short Latin texts up to a confidence of 0.12, and right on other scripts from
0.19.
"""
_WITHOUT_EVENTS = 1
"""lexbor's LXB_DOM_DOCUMENT_OPT_WO_EVENTS: no code listens to events of this tree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkElement:
    """One `<link>` element, with its target as written."""

    rel: frozenset[str]
    """In lower case."""
    href: str
    attributes: Attributes
    in_head: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """
    One parsed page. It is cheap to create, but cannot be serialized because it contains the
    parser's tree.
    """

    url: str
    """The URL of the page, as passed to `parse`."""
    base_url: str
    """The base for relative URLs: `<base href>` if present, else `url`."""
    encoding: str
    body: bytes
    """The body in UTF-8, whatever its original encoding."""
    tree: LexborHTMLParser
    title: str | None
    description: str | None
    language: str | None
    robots: PageRobots
    """From meta elements only; `evidence.page_robots` adds the headers."""
    metas: tuple[Attributes, ...]
    """The attributes of each `<meta>`, in document order."""
    link_elements: tuple[LinkElement, ...]
    heading: str | None
    """The text of the first h1 that is not empty."""
    headings: tuple[str, ...]
    """The texts of the first h1 elements that are not empty, at most MAX_HEADINGS."""
    json_ld: tuple[str, ...]
    """The texts of the JSON-LD script elements, as written."""
    html_attributes: Attributes
    resolver: LinkResolver
    problems: tuple[str, ...] = ()
    """Descriptions of what was cut or could not be read."""
    _first: dict[str, str] = field(default_factory=dict, repr=False)

    def meta(self, *names: str) -> str | None:
        """Return the first content of the first of `names` (name, property, itemprop) with one."""
        return next((self._first[name] for name in names if name in self._first), None)

    def resolve(self, href: str) -> str | None:
        """Return `href` as an absolute, normalized http(s) URL, or None if it is not one."""
        return self.resolver.resolve(href)


def encoding(body: bytes, content_type: str | None) -> str:
    """
    Return the WHATWG name, in lower case, of the encoding of `body`, such as `windows-1252`.

    A byte order mark takes precedence over the Content-Type header, which takes precedence over the
    page's own declaration. Without any declaration, the encoding is UTF-8 if the bytes are valid
    UTF-8, else chardet's result if it is confident enough, else windows-1252. Pure ASCII without a
    declaration is windows-1252, as the standard requires.

    If a page declares a legacy encoding but its bytes are valid UTF-8, the result is UTF-8,
    although browsers would show mojibake. Text in a legacy encoding is valid UTF-8 by chance only
    if it is very short.
    """
    for mark, name in _BOMS:
        if body.startswith(mark):
            return name
    declared = prescan.from_header(content_type) or prescan.from_bytes(body) or _declared_late(body)
    if declared is None:
        return _detected(body)
    return "utf-8" if declared not in _NEVER_UTF8 and _is_surely_utf8(body, declared) else declared


def parse(
    body: bytes, *, url: str, content_type: str | None = None, agent: str = "aragog"
) -> Document:
    """
    Parse `body` once and read the facts in its head.

    `body` must already be decoded from its content encodings. `url` is the URL of the page and the
    base for relative URLs. `content_type` is the header as sent. `agent` is the crawler's product
    token, because `<meta name=aragog>` would address this crawler.
    """
    name = encoding(body, content_type)
    problems: list[str] = []
    text = markup_limits.tame(_as_utf8(body, name, problems), problems)
    tree = LexborHTMLParser(text, options=_WITHOUT_EVENTS, scripting=True)
    return _read_head(_Head(tree), url=url, name=name, body=text, problems=problems, agent=agent)


class _Head:
    """The elements of a tree that describe the page, in document order, collected in one query."""

    def __init__(self, tree: LexborHTMLParser) -> None:
        self.tree = tree
        self.metas: list[Attributes] = []
        self.links: list[tuple[Attributes, LexborNode]] = []
        self.title: str | None = None
        self.base: str | None = None
        self.headings: list[str] = []
        self.scripts: list[tuple[str, LexborNode]] = []
        self.cut = False
        for count, node in enumerate(tree.css("meta,link,base,title,h1,script[type]")):
            if count >= MAX_HEAD_ELEMENTS:
                self.cut = True
                break
            self._take(node)

    def _take(self, node: LexborNode) -> None:
        tag = node.tag
        if tag == "meta":
            self.metas.append(node.attributes)
        elif tag == "link":
            self.links.append((node.attributes, node))
        elif tag == "script":
            self.scripts.append(((node.attributes.get("type") or "").lower(), node))
        elif tag == "h1" and len(self.headings) < MAX_HEADINGS:
            self.headings.extend(filter(None, [squeeze(node.text())]))
        elif tag == "base" and self.base is None:
            self.base = node.attributes.get("href")
        elif tag == "title" and self.title is None and not _inside_svg(node):
            self.title = squeeze(node.text()) or None


def _inside_svg(node: LexborNode) -> bool:
    parent = node.parent
    return parent is not None and parent.tag not in {"head", "body", "html"} and _has_svg(parent)


def _has_svg(node: LexborNode | None) -> bool:
    for _ in range(16):
        if node is None:
            return False
        if node.tag == "svg":
            return True
        node = node.parent
    return False


def _read_head(
    head: _Head, *, url: str, name: str, body: bytes, problems: list[str], agent: str
) -> Document:
    if head.cut:
        problems.append(f"more than {MAX_HEAD_ELEMENTS} elements about the page: the rest unread")
    first = _first_contents(head.metas)
    resolver = LinkResolver(url, head.base)
    html = head.tree.root.attributes if head.tree.root is not None else {}
    return Document(
        url=url,
        base_url=resolver.base_url,
        encoding=name,
        body=body,
        tree=head.tree,
        title=head.title,
        description=first.get("description") or None,
        language=_language(html, first, head.metas),
        robots=from_meta(
            ((m.get("name") or "", m.get("content") or "") for m in head.metas if "name" in m),
            agent=agent,
        ),
        metas=tuple(head.metas),
        link_elements=_link_elements(head),
        heading=next(iter(head.headings), None),
        headings=tuple(head.headings),
        json_ld=tuple(node.text() for kind, node in head.scripts if "ld+json" in kind),
        html_attributes=html,
        resolver=resolver,
        problems=tuple(problems),
        _first=first,
    )


def squeeze(text: str) -> str:
    """Return `text` with each run of white space replaced by one space, and none at either end."""
    return " ".join(text.split())


def _first_contents(metas: list[Attributes]) -> dict[str, str]:
    first: dict[str, str] = {}
    for attributes in metas:
        content = attributes.get("content")
        if not content or content.isspace():
            continue
        for key in ("property", "name", "itemprop"):
            names = attributes.get(key)
            if names:
                for name in names.lower().split():
                    first.setdefault(name, content.strip())
    return first


def _language(html: Attributes, first: dict[str, str], metas: list[Attributes]) -> str | None:
    declared = html.get("lang") or html.get("xml:lang")
    if not declared:
        declared = next(
            (
                m.get("content")
                for m in metas
                if (m.get("http-equiv") or "").lower() == "content-language"
            ),
            None,
        )
    return (declared or first.get("og:locale") or "").strip() or None


def _link_elements(head: _Head) -> tuple[LinkElement, ...]:
    found = []
    for attributes, node in head.links:
        href = attributes.get("href")
        if href is None:
            continue
        parent = node.parent
        found.append(
            LinkElement(
                rel=frozenset((attributes.get("rel") or "").lower().split()),
                href=href.strip(),
                attributes=attributes,
                in_head=parent is not None and parent.tag == "head",
            )
        )
    return tuple(found)


def _as_utf8(body: bytes, name: str, problems: list[str]) -> bytes:
    if name == "utf-8":
        body = body.removeprefix(b"\xef\xbb\xbf")
        try:
            body.decode("utf-8")
        except UnicodeDecodeError as error:
            problems.append(f"not UTF-8 at byte {error.start}, though declared or found to be")
            return body.decode("utf-8", "replace").encode()
        return body
    text = labels.decode(body, name).removeprefix("\ufeff")
    if name == "replacement":
        problems.append("written in an encoding that is not read, because it can hide markup")
    return text.encode("utf-8", "replace")


def _declared_late(body: bytes) -> str | None:
    """
    Return the encoding that a meta element after the first 1,024 bytes declares, as the parser
    would see it.
    """
    start = body[:_LATE_DECLARATION_BYTES]
    if b"document.write" in start:
        written = prescan.from_bytes(_JOINED_LITERALS.sub(b"", start))
        if written:
            return written
    if not _CHARSET_WORD.search(start, prescan.PRESCAN_BYTES):
        return None
    text = start.decode("latin-1").encode()
    tree = LexborHTMLParser(markup_limits.tame(text, []), options=_WITHOUT_EVENTS, scripting=True)
    for node in tree.css("meta[charset],meta[http-equiv]"):
        found = _declared_by(node.attributes)
        if found:
            return prescan.as_declared_inside(found)
    return None


def _declared_by(attributes: dict[str, Any]) -> str | None:
    if attributes.get("charset") is not None:
        return labels.name_of(attributes["charset"])
    if (attributes.get("http-equiv") or "").lower() == "content-type":
        return prescan.from_meta_content(attributes.get("content") or "")
    return None


_DETECTABLE = [
    "big5hkscs", "gb18030", "cp932", "euc_jis_2004", "iso2022_jp_2", "cp949", "euc_kr", "koi8-r",
    "koi8-u", "utf-16-le", "utf-16-be", "iso8859-2", "iso8859-5", "iso8859-7", "iso8859-8",
    "cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp874",
]  # fmt: skip
_DETECTED_NAMES = {
    "cp932": "shift_jis", "shift_jis_2004": "shift_jis", "cp949": "euc-kr", "gb18030": "gbk",
    "euc_jis_2004": "euc-jp", "iso2022_jp_2": "iso-2022-jp", "big5hkscs": "big5",
    "cp874": "windows-874", "euc_kr": "euc-kr",
}  # fmt: skip


def _detected(body: bytes) -> str:
    if body.isascii() and b"\x1b" not in body and b"\0" not in body:
        return labels.FALLBACK
    if _is_utf8(body):
        return "utf-8"
    start = max(0, _first_high_byte(body) - 1_000)
    guess = chardet.detect(
        body[start : start + _DETECTION_BYTES],
        include_encodings=_DETECTABLE,
        compat_names=False,
        no_match_encoding="cp1252",
    )
    found = (guess["encoding"] or "").lower()
    if (guess["confidence"] or 0.0) < _DETECTION_CONFIDENCE:
        return labels.FALLBACK
    return _DETECTED_NAMES.get(found) or labels.name_of(found) or labels.FALLBACK


_NEVER_UTF8 = frozenset(
    {"utf-8", "utf-16le", "utf-16be", "replacement", "iso-2022-jp", "x-user-defined"}
)
_OF_SEVERAL_BYTES = frozenset({"big5", "euc-jp", "euc-kr", "gb18030", "gbk", "shift_jis"})
_WHOLE_CHARACTER = re.compile(rb"[\xc2-\xf4][\x80-\xbf]")
_THREE_BYTES = re.compile(rb"[\xe0-\xf4][\x80-\xbf]{2}")
_MIN_LONG_CHARACTERS = 4
"""
Pairs of bytes in a Chinese text may look like UTF-8; four characters of three bytes each do not.
"""


def _is_surely_utf8(body: bytes, declared: str) -> bool:
    if not _is_utf8(body):
        return False
    if declared not in _OF_SEVERAL_BYTES:
        return _WHOLE_CHARACTER.search(body) is not None  # ignore a cut last character
    return (
        sum(1 for _ in islice(_THREE_BYTES.finditer(body), _MIN_LONG_CHARACTERS))
        >= _MIN_LONG_CHARACTERS
    )


_HIGH_BYTE = re.compile(rb"[\x80-\xff]")


def _first_high_byte(body: bytes) -> int:
    found = _HIGH_BYTE.search(body)
    return found.start() if found else 0


def _is_utf8(body: bytes) -> bool:
    """Return True for UTF-8 outside ASCII, even if the last character was cut off."""
    if b"\0" in body:
        return False
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data" and error.start > len(body) - 4
    return not body.isascii()
