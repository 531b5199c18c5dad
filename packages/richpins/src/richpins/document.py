"""
Parse a page's bytes into one document shared by link, evidence and Rich Pin extraction.

This module does no I/O and never raises for a bad page. It reports what it could not read in
`Document.problems`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from richpins import _markup_limits as markup_limits
from richpins._link_resolver import LinkResolver
from richpins._permalinks import heading_text
from richpins._tree import parse_tree
from richpins.encodings.detection import encoding, to_utf8
from richpins.robots_meta import PageRobots, from_meta
from richpins.structured_data.words import BASE, JSON_LD, Words

Attributes = dict[str, str | None]

MAX_HEAD_ELEMENTS = 2_000
"""Maximum number of meta, link, script and h1 elements read. Real pages have up to 300."""

MAX_HEADINGS = 5


class LinkElement(NamedTuple):
    """One `<link>` element, with its target as written."""

    rel: frozenset[str]
    """The link types, in lower case."""
    href: str
    attributes: Attributes
    in_head: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One parsed page. It cannot be serialized, because it contains the parser's tree."""

    url: str
    base_url: str
    """The base for relative URLs: `<base href>` if present, else `url`."""
    encoding: str
    body: bytes
    """The body in UTF-8, whatever its original encoding."""
    tree: LexborHTMLParser
    words: Words
    """Tells which words occur in the body, even if their letters are escaped."""
    title: str | None
    description: str | None
    language: str | None
    robots: PageRobots
    """The directives of the meta elements. `canonical_evidence.page_robots` adds the headers."""
    metas: tuple[Attributes, ...]
    """The attributes of each `<meta>`, in document order."""
    link_elements: tuple[LinkElement, ...]
    heading: str | None
    """The text of the first h1 that is not empty."""
    headings: tuple[str, ...]
    """The text of each h1 that is not empty, at most MAX_HEADINGS."""
    banners: frozenset[str]
    """Those texts in `headings` that link to the site's start page."""
    json_ld: tuple[str, ...]
    html_attributes: Attributes
    resolver: LinkResolver
    problems: tuple[str, ...] = ()
    """Descriptions of what was cut off or could not be read."""
    text: str | None = None
    """The whole text of a document that is not HTML; None for HTML."""
    _content_by_name: dict[str, str] = field(default_factory=dict, repr=False)

    def meta(self, *names: str) -> str | None:
        """Return the content of the first of `names` (name, property or itemprop) that has any."""
        return next(
            (self._content_by_name[name] for name in names if name in self._content_by_name), None
        )

    def resolve(self, href: str) -> str | None:
        """Resolve `href` to an absolute, normalized URL; None if it is not http(s)."""
        return self.resolver.resolve(href)


def parse(body: bytes, *, url: str, content_type: str | None = None, agent: str = "") -> Document:
    """
    Parse `body` once and read its head.

    `body` must already be decoded from its content encodings. `url` is the base for relative URLs.
    `content_type` is the header as sent. `agent` is the crawler's product token: `<meta
    name=examplebot>` applies only to `examplebot`. Without one, only directives for all crawlers
    are read.
    """
    encoding_name = encoding(body, content_type)
    problems: list[str] = []
    markup = markup_limits.limit_markup(to_utf8(body, encoding_name, problems), problems)
    head = _HeadElements(parse_tree(markup), Words(markup))
    return _read_head(
        head, url=url, encoding_name=encoding_name, body=markup, problems=problems, agent=agent
    )


class _HeadElements:
    """The elements that describe a page, in document order, from one query of the tree."""

    def __init__(self, tree: LexborHTMLParser, words: Words) -> None:
        self.tree = tree
        self.words = words
        self.metas: list[Attributes] = []
        self.links: list[tuple[Attributes, LexborNode]] = []
        self.title: str | None = None
        self.base: str | None = None
        self.headings: list[str] = []
        self.banners: set[str] = set()
        self.scripts: list[tuple[str, LexborNode]] = []
        self.is_truncated = False
        query = "meta,link,title,h1"
        if BASE in words:
            query += ",base"
        if words.any(JSON_LD):
            query += ",script[type]"
        for index, node in enumerate(tree.css(query)):
            if index >= MAX_HEAD_ELEMENTS:
                self.is_truncated = True
                break
            self._add(node)

    def _add(self, node: LexborNode) -> None:
        tag = node.tag
        if tag == "meta":
            self.metas.append(node.attributes)
        elif tag == "link":
            self.links.append((node.attributes, node))
        elif tag == "script":
            self.scripts.append(((node.attributes.get("type") or "").lower(), node))
        elif tag == "h1" and len(self.headings) < MAX_HEADINGS:
            self._add_heading(node)
        elif tag == "base" and self.base is None:
            self.base = node.attributes.get("href")
        elif tag == "title" and self.title is None and not _is_in_svg(node):
            self.title = normalize_space(node.text()) or None

    def _add_heading(self, node: LexborNode) -> None:
        text = heading_text(node)
        if text:
            self.headings.append(text)
            link = node.css_first("a[href]") or (node.parent if node.parent is not None else None)
            href = link.attributes.get("href") if link is not None and link.tag == "a" else None
            if href and _START_PAGE.fullmatch(href.strip()):
                self.banners.add(text)


_START_PAGE = re.compile(r"(?:https?:)?//[^/?#]+/?|/|\./|(?:\.\./)+")


def _is_in_svg(node: LexborNode) -> bool:
    parent = node.parent
    return (
        parent is not None
        and parent.tag not in {"head", "body", "html"}
        and _has_svg_ancestor(parent)
    )


def _has_svg_ancestor(node: LexborNode | None) -> bool:
    for _ in range(16):
        if node is None:
            return False
        if node.tag == "svg":
            return True
        node = node.parent
    return False


def _read_head(
    head: _HeadElements,
    *,
    url: str,
    encoding_name: str,
    body: bytes,
    problems: list[str],
    agent: str,
) -> Document:
    if head.is_truncated:
        problems.append(f"more than {MAX_HEAD_ELEMENTS} head elements: the rest was not read")
    content_by_name = _first_contents(head.metas)
    resolver = LinkResolver(url, head.base, encoding_name)
    html = head.tree.root.attributes if head.tree.root is not None else {}
    return Document(
        url=url,
        base_url=resolver.base_url,
        encoding=encoding_name,
        body=body,
        tree=head.tree,
        words=head.words,
        title=head.title,
        description=content_by_name.get("description") or None,
        language=_find_language(html, content_by_name, head.metas),
        robots=from_meta(
            ((m.get("name") or "", m.get("content") or "") for m in head.metas if "name" in m),
            agent=agent,
        ),
        metas=tuple(head.metas),
        link_elements=_make_link_elements(head),
        heading=next(iter(head.headings), None),
        headings=tuple(head.headings),
        banners=frozenset(head.banners),
        json_ld=tuple(
            node.text() for script_type, node in head.scripts if "ld+json" in script_type
        ),
        html_attributes=html,
        resolver=resolver,
        problems=tuple(problems),
        _content_by_name=content_by_name,
    )


def normalize_space(text: str) -> str:
    """Return `text` with single spaces, and none at either end."""
    return " ".join(text.split())


def _first_contents(metas: list[Attributes]) -> dict[str, str]:
    content_by_name: dict[str, str] = {}
    for attributes in metas:
        content = attributes.get("content")
        if not content or content.isspace():
            continue
        for key in ("property", "name", "itemprop"):
            names = attributes.get(key)
            if names:
                for name in names.lower().split():
                    content_by_name.setdefault(name, content.strip())
    return content_by_name


def _find_language(
    html: Attributes, content_by_name: dict[str, str], metas: list[Attributes]
) -> str | None:
    declared_language = html.get("lang") or html.get("xml:lang")
    if not declared_language:
        declared_language = next(
            (
                m.get("content")
                for m in metas
                if (m.get("http-equiv") or "").lower() == "content-language"
            ),
            None,
        )
    return (declared_language or content_by_name.get("og:locale") or "").strip() or None


def _make_link_elements(head: _HeadElements) -> tuple[LinkElement, ...]:
    elements = []
    for attributes, node in head.links:
        href = attributes.get("href")
        if href is None:
            continue
        parent = node.parent
        elements.append(
            LinkElement(
                rel=frozenset((attributes.get("rel") or "").lower().split()),
                href=href.strip(),
                attributes=attributes,
                in_head=parent is not None and parent.tag == "head",
            )
        )
    return tuple(elements)
