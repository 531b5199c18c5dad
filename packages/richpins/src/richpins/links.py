"""Extract a page's anchors as absolute, normalized URLs, each once, in document order."""

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

_MAX_TEXT_PER_BODY = 2
"""Maximum text read, as a multiple of the page's length: nested anchors repeat their text."""

_RELS = ("nofollow", "ugc", "sponsored")


class Link(NamedTuple):
    """A link target with the attributes of its anchors."""

    url: str
    """The target, absolute and normalized."""
    text: str = ""
    """The first non-empty text, title, label or image alt text of its anchors."""
    nofollow: bool = False
    """This field and the next two are True only if that is true of every anchor to the URL."""
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
    text_budget = body_bytes * _MAX_TEXT_PER_BODY
    has_images: bool | None = None
    has_base = document.base_url != document.url
    query = "a[href],area[href]" if AREA in document.words else "a[href]"
    for node in document.tree.css(query):
        attributes = node.attributes
        href = address = attributes.get("href") or attributes.get("xlink:href") or ""
        if "#" in href:
            if href[0] == "#" and not has_base:
                continue
            address = without_fragment(href)
        if address in finished_hrefs:
            continue
        url = resolve(address)
        if url is None:
            finished_hrefs.add(address)
            continue
        if url == page_url and "#" in href:
            continue
        link = links.get(url)
        if link is None:
            url_chars_left -= len(url)
            if len(links) >= limit or url_chars_left < 0:
                break
        elif link.text and not (link.nofollow or link.ugc or link.sponsored):
            finished_hrefs.add(address)
            continue
        text = ""
        if text_budget > 0 and not (link and link.text):
            anchor_text = node.text_lexbor()
            text_budget -= len(anchor_text) or body_bytes // limit
            text = " ".join(anchor_text.split()) or _title(attributes)
            if not text:
                if has_images is None:
                    has_images = document.tree.css_first("img[alt]") is not None
                text = _alt(node) if has_images else ""
        text = text[:MAX_TEXT_CHARS]
        if "rel" in attributes:
            new_link = _link(url, text, attributes)
        else:
            new_link = tuple.__new__(Link, (url, text, False, False, False))
        links[url] = _merge(link, new_link) if link else new_link
    return tuple(links.values())


def _link(url: str, text: str, attributes: dict[str, str | None]) -> Link:
    rel = attributes.get("rel")
    if not rel:
        return Link(url, text)
    flags = _cached_flags(rel) if len(rel) <= _MAX_CACHED_CHARS else _flags(rel)
    return tuple.__new__(Link, (url, text, *flags))


def _flags(rel: str) -> tuple[bool, ...]:
    words = rel.lower().replace(",", " ").split()
    return tuple(name in words for name in _RELS)


_MAX_CACHED_CHARS = 100
_cached_flags = lru_cache(256)(_flags)


def _merge(link: Link, other: Link) -> Link:
    return Link(
        link.url,
        link.text or other.text,
        link.nofollow and other.nofollow,
        link.ugc and other.ugc,
        link.sponsored and other.sponsored,
    )


def _title(attributes: dict[str, str | None]) -> str:
    return normalize_space(attributes.get("title") or attributes.get("aria-label") or "")


def _alt(node: LexborNode) -> str:
    child = node.child  # usually the image itself; checking it takes a fifth of a query's time
    if child is None:
        return ""
    attributes = child.attributes if child.tag == "img" else {}
    if "alt" not in attributes:
        image = node.css_first("img[alt]")
        attributes = {} if image is None else image.attributes
    return normalize_space(attributes.get("alt") or "")
