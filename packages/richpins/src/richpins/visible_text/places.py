"""Determine whether an element follows the title, or is in comments or another article."""

from __future__ import annotations

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborNode

from richpins.structured_data.sources import Sources


def after_heading(
    sources: Sources, pattern: re.Pattern[bytes], max_bytes: int
) -> Iterator[re.Match[bytes]]:
    """Yield the matches in the first `max_bytes` after the first h1; none if there is no h1."""
    start = sources.heading_end
    if start < 0:
        return iter(())
    return pattern.finditer(sources.words.body, start, start + max_bytes)


def is_elsewhere(node: LexborNode) -> bool:
    """Return True if an element is in a comment, or in the teaser of another page."""
    at: LexborNode | None = node
    for _ in range(8):
        if at is None or at.tag in {"body", "html"}:
            break
        if at.tag in {"aside", "nav", "footer"} or (at.tag == "a" and at.css_first(_TITLES)):
            return True
        if at.tag in _TEASER_ELEMENTS and _is_teaser(at):
            return True
        at = at.parent
    return is_in_comments(node)


_TITLES = "h1,h2,h3,h4"
_TEASER_ELEMENTS = frozenset({"article", "li", "ul", "ol", "section", "div"})
_TEASER = re.compile(
    r"(?:^|[-_\s])(?:teaser|recommend\w*|read-?more|most-?read|popular|trending|latest|sidebar|"
    r"more-(?:from|on|stories|news)|mehr-zum|weitere)(?:$|[-_\s])",
    re.IGNORECASE,
)


def _is_teaser(node: LexborNode) -> bool:
    """Return True for a block with the class of a teaser, or whose title is a link."""
    if _TEASER.search(node.attributes.get("class") or ""):
        return True
    if node.tag not in {"article", "li"} or node.css_first("h1") is not None:
        return False
    linked = node.css_first("h2 a[href],h3 a[href],h4 a[href]")
    return linked is not None


def is_in_comments(node: LexborNode) -> bool:
    """Return True for an element in comments, reviews or related content."""
    at: LexborNode | None = node
    for _ in range(8):
        if at is None or at.tag in {"body", "html"}:
            return False
        attributes = at.attributes
        named = f"{attributes.get('class') or ''} {attributes.get('id') or ''}".lower()
        if "comment" in named or "review" in named or "related" in named:
            return True
        at = at.parent
    return False
