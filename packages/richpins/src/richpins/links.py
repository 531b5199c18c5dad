"""Extract the targets of a page's anchors in document order, each once, as normalized URLs."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from selectolax.lexbor import LexborNode

from richpins._link_resolver import without_fragment
from richpins.document import Document, normalize_space
from richpins.structured_data.words import AREA

MAX_TEXT_CHARS = 200
"""Longer anchor texts are truncated; 99% of real ones have under 120 characters."""

MAX_TOTAL_CHARS = 1_048_576
"""Maximum total characters of a page's URLs; a thousand real URLs have about 100,000."""

_MAX_TEXT_RATIO = 2
"""Maximum text read, as a multiple of the page's length: nested anchors repeat their text."""

_FLAG_RELATIONS = ("nofollow", "ugc", "sponsored")


class Link(NamedTuple):
    """A link target with the attributes of its anchors."""

    url: str
    """The target, absolute and normalized."""
    text: str = ""
    """The first non-empty text, title, label or image alt text of its anchors."""
    nofollow: bool = False
    """True if every anchor to the URL has this relation. The next two fields work the same way."""
    ugc: bool = False
    sponsored: bool = False


def extract(document: Document, *, limit: int = 1000) -> tuple[Link, ...]:
    """
    Return the http(s) targets of `<a href>` and `<area href>`, except those within the page itself.

    A page-level nofollow (`document.robots`) is not applied. If there are more than `limit`
    distinct targets, or their URLs have more than MAX_TOTAL_CHARS, the first ones are kept.
    """
    links: dict[str, Link] = {}
    finished_hrefs: set[str] = set()
    url_chars_left = MAX_TOTAL_CHARS
    resolve = document.resolver.resolve
    page_url = document.resolve(document.url) or document.url
    body_bytes = len(document.body)
    text_chars_left = body_bytes * _MAX_TEXT_RATIO
    has_images: bool | None = None
    has_base = document.base_url != document.url
    query = "a[href],area[href]" if AREA in document.words else "a[href]"
    for node in document.tree.css(query):
        attributes = node.attributes
        href = target = attributes.get("href") or attributes.get("xlink:href") or ""
        if "#" in href:
            if href[0] == "#" and not has_base:
                continue
            target = without_fragment(href)
        if target in finished_hrefs:
            continue
        url = resolve(target)
        if url is None:
            finished_hrefs.add(target)
            continue
        if url == page_url and "#" in href:
            continue
        link = links.get(url)
        if link is None:
            url_chars_left -= len(url)
            if len(links) >= limit or url_chars_left < 0:
                break
        elif link.text and not (link.nofollow or link.ugc or link.sponsored):
            finished_hrefs.add(target)
            continue
        text = ""
        if text_chars_left > 0 and not (link and link.text):
            anchor_text = node.text_lexbor()
            text_chars_left -= len(anchor_text) or body_bytes // limit
            text = " ".join(anchor_text.split()) or _find_title(attributes)
            if not text:
                if has_images is None:
                    has_images = document.tree.css_first("img[alt]") is not None
                text = _find_alt_text(node) if has_images else ""
        text = text[:MAX_TEXT_CHARS]
        if "rel" in attributes:
            new_link = _make_link(url, text, attributes)
        else:
            new_link = tuple.__new__(Link, (url, text, False, False, False))
        links[url] = _merge(link, new_link) if link else new_link
    return tuple(links.values())


def _make_link(url: str, text: str, attributes: dict[str, str | None]) -> Link:
    rel = attributes.get("rel")
    if not rel:
        return Link(url, text)
    flags = _parse_flags_cached(rel) if len(rel) <= _MAX_CACHED_CHARS else _parse_flags(rel)
    return tuple.__new__(Link, (url, text, *flags))


def _parse_flags(rel: str) -> tuple[bool, ...]:
    words = rel.lower().replace(",", " ").split()
    return tuple(name in words for name in _FLAG_RELATIONS)


_MAX_CACHED_CHARS = 100
_parse_flags_cached = lru_cache(256)(_parse_flags)


def _merge(link: Link, other: Link) -> Link:
    return Link(
        link.url,
        link.text or other.text,
        link.nofollow and other.nofollow,
        link.ugc and other.ugc,
        link.sponsored and other.sponsored,
    )


def _find_title(attributes: dict[str, str | None]) -> str:
    return normalize_space(attributes.get("title") or attributes.get("aria-label") or "")


def _find_alt_text(node: LexborNode) -> str:
    child = node.child  # usually the image itself; checking it takes a fifth of a query's time
    if child is None:
        return ""
    attributes = child.attributes if child.tag == "img" else {}
    if "alt" not in attributes:
        image = node.css_first("img[alt]")
        attributes = {} if image is None else image.attributes
    return normalize_space(attributes.get("alt") or "")
