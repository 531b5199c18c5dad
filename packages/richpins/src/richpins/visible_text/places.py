"""Determine whether an element follows the title, or is in comments or another article."""

from __future__ import annotations

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborNode

from richpins.structured_data.sources import Sources

_MAX_ANCESTORS = 8


def matches_after_heading(
    sources: Sources, pattern: re.Pattern[bytes], max_bytes: int
) -> Iterator[re.Match[bytes]]:
    """Yield the matches in the first `max_bytes` after the first h1; none if there is no h1."""
    start = sources.heading_end
    if start < 0:
        return iter(())
    return pattern.finditer(sources.words.body, start, start + max_bytes)


def is_in_other_content(node: LexborNode) -> bool:
    """Return True if an element is in a menu, a sidebar, a quotation, comments, or a teaser."""
    ancestor: LexborNode | None = node
    for _ in range(_MAX_ANCESTORS):
        if ancestor is None or ancestor.tag in {"body", "html"}:
            break
        if ancestor.tag in {"aside", "nav", "footer", "blockquote"}:
            return True
        if ancestor.tag == "a" and (
            ancestor.css_first(_HEADING_ELEMENTS) or _has_title_beside(ancestor, node)
        ):
            return True
        if ancestor.tag in _TEASER_ELEMENTS and _is_teaser(ancestor):
            return True
        ancestor = ancestor.parent
    return is_in_comments(node)


def _has_title_beside(link: LexborNode, node: LexborNode) -> bool:
    """Return True if a link around a date also has a title in a block of its own."""
    if node.mem_id == link.mem_id or not (node.tag == "time" or node.css_first("time")):
        return False
    date = node.text().strip()
    return any(
        len(text.split()) >= _MIN_TITLE_WORDS and date not in text
        for text in (block.text().strip() for block in link.css(_BLOCKS)[:_MAX_BLOCKS])
    )


_MIN_TITLE_WORDS = 2
_BLOCKS = "div,p,strong,h5,h6"
_MAX_BLOCKS = 20
_HEADING_ELEMENTS = "h1,h2,h3,h4"
_TEASER_ELEMENTS = frozenset({"article", "li", "ul", "ol", "section", "div"})
_TEASER_CLASS = re.compile(
    r"(?:^|[-_\s])(?:teaser|recommend\w*|read-?more|most-?read|popular|trending|latest|sidebar|"
    r"more-(?:from|on|stories|news)|mehr-zum|weitere)(?:$|[-_\s])",
    re.IGNORECASE,
)


def _is_teaser(node: LexborNode) -> bool:
    if _TEASER_CLASS.search(node.attributes.get("class") or ""):
        return True
    if node.tag not in {"article", "li"} or node.css_first("h1") is not None:
        return False
    title_link = node.css_first("h2 a[href],h3 a[href],h4 a[href]")
    return title_link is not None


def is_in_comments(node: LexborNode) -> bool:
    """Return True for an element in comments, reviews, testimonials or related content."""
    ancestor: LexborNode | None = node
    for _ in range(_MAX_ANCESTORS):
        if ancestor is None or ancestor.tag in {"body", "html"}:
            return False
        attributes = ancestor.attributes
        class_and_id = f"{attributes.get('class') or ''} {attributes.get('id') or ''}".lower()
        if _COMMENTS_CLASS.search(class_and_id):
            return True
        ancestor = ancestor.parent
    return False


_COMMENTS_CLASS = re.compile(
    r"comment|review|related|testimon|kundenstimme|temoignage|depoimento|recension[ei]"
)
