"""
Recognize permalinks, the symbols next to headings that link to the heading: `¶`, `§`, `#`.

Sphinx, MkDocs, GitHub and other programs add these symbols to headings. They are not part of the
text.
"""

from __future__ import annotations

import re
from typing import Any

from richpins._plain_text import block_text

_PERMALINK_MARKS = frozenset("¶§#🔗⚓∞⛓⌗")
_INVISIBLE = "\u200b\u200d\u2060\ufe0e\ufe0f\ufeff"
_PERMALINK_CLASS = re.compile(
    r"\b(?:header-?link|(?:header|heading)-?anchor|hash-?link|anchor-?link|anchorjs-link|perma-?link"
    r"|headeranchor-link|section-?(?:anchor|link)|toclink-anchor|self-link|anchor)\b",
    re.IGNORECASE,
)
_PERMALINK_LABEL = re.compile(
    r"(?:permanent |direct |perma)?link(?: to (?:this|the) .{1,80})?", re.IGNORECASE
)
_MAX_CHARS = 100
_TRAILING_MARKS = frozenset("¶§🔗⚓")
_BLANK_CHARACTERS = f" \t\r\n\f\u00a0{_INVISIBLE}"


def is_mark(text: str) -> bool:
    return text.strip().strip(_INVISIBLE).strip() in _PERMALINK_MARKS


def is_permalink(text: str, href: str, css_class: str) -> bool:
    """
    Return True if a link with this text, target and class is a permalink.

    The target of a permalink contains a fragment, and its text is a permalink mark. If the link has
    a class for permalinks, its text may also be a label such as `Link to this heading`, or any text
    without letters and digits.
    """
    if "#" not in href or len(text) > _MAX_CHARS:
        return False
    label = text.strip().strip(_INVISIBLE).strip()
    if label in _PERMALINK_MARKS:
        return True
    if not _PERMALINK_CLASS.search(css_class):
        return False
    return not any(map(str.isalnum, label)) or _PERMALINK_LABEL.fullmatch(label) is not None


def without_trailing_mark(text: str) -> str:
    """Return a heading's text without a trailing mark such as `¶`. Keeps a `#`, as in `C#`."""
    stripped = text.rstrip(_BLANK_CHARACTERS)
    return (
        stripped[:-1].rstrip(_BLANK_CHARACTERS) if stripped[-1:] in _TRAILING_MARKS else text
    ) or text


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
