"""
Recognize permalinks, the marks next to headings that link to the heading: `¶`, `§`, `#`.

Sphinx, MkDocs, GitHub and other programs add them. They are not part of the heading's text.
"""

from __future__ import annotations

import re
from typing import Any

from richpins._plain_text import block_text

_MARKS = frozenset("¶§#🔗⚓∞⛓⌗")
_INVISIBLE = "\u200b\u200d\u2060\ufe0e\ufe0f\ufeff"
_CLASSES = re.compile(
    r"\b(?:header-?link|(?:header|heading)-?anchor|hash-?link|anchor-?link|anchorjs-link|perma-?link"
    r"|headeranchor-link|section-?(?:anchor|link)|toclink-anchor|self-link|anchor)\b",
    re.IGNORECASE,
)
_LABELS = re.compile(
    r"(?:permanent |direct |perma)?link(?: to (?:this|the) .{1,80})?", re.IGNORECASE
)
_MAX_CHARS = 100
_TRAILING_MARKS = frozenset("¶§🔗⚓")
_BLANKS = f" \t\r\n\f\u00a0{_INVISIBLE}"


def is_mark(text: str) -> bool:
    return text.strip().strip(_INVISIBLE).strip() in _MARKS


def is_permalink(text: str, href: str, css_class: str) -> bool:
    """
    Return True if a link with this text, target and class is a permalink.

    Its target must be a fragment. In addition, its text must be a permalink mark. If the link has a
    permalink class, any text without letters will do, and so will a label such as `Link to this
    heading`.
    """
    if "#" not in href or len(text) > _MAX_CHARS:
        return False
    label = text.strip().strip(_INVISIBLE).strip()
    if label in _MARKS:
        return True
    if not _CLASSES.search(css_class):
        return False
    return not any(map(str.isalnum, label)) or _LABELS.fullmatch(label) is not None


def without_trailing_mark(text: str) -> str:
    """Return a heading's text without a trailing mark such as `¶`, but with a `#` (as in `C#`)."""
    stripped = text.rstrip(_BLANKS)
    return (stripped[:-1].rstrip(_BLANKS) if stripped[-1:] in _TRAILING_MARKS else text) or text


def heading_text(node: Any) -> str:
    """
    Return the text of a heading (a node of lexbor's tree) on one line, without permalinks.

    A mark that is the whole heading is kept.
    """
    text = block_text(node)
    for link in node.css("a[href]"):
        attributes = link.attributes
        link_text = link.text()
        if is_permalink(link_text, attributes.get("href") or "", attributes.get("class") or ""):
            mark = " ".join(link_text.split())
            if mark and text.endswith(mark):
                text = text[: -len(mark)].rstrip()
            elif mark and text.startswith(mark):
                text = text[len(mark) :].lstrip()
    return without_trailing_mark(text)
