"""
Distinguish titles such as `For the sauce` from the entries below them.

Titles can be in the same list as the ingredients or steps. They are recognized by their wording, by
the class of their element, or by being bold when the entries aren't.
"""

from __future__ import annotations

import re

from selectolax.lexbor import LexborNode

from richpins.document import normalize_space
from richpins.visible_text.vocabulary import amounts

MAX_TITLE_CHARS = 60


class GroupTitle(str):
    """A line that is marked up as the title of the entries after it."""

    __slots__ = ()


def is_title(text: str) -> bool:
    """
    Return True if a line names a group of entries.

    Such a line ends with a colon or starts with words such as `For the`. It contains no amount and
    isn't a full sentence.
    """
    if len(text) > MAX_TITLE_CHARS or amounts([text]):
        return False
    return isinstance(text, GroupTitle) or _TITLE.fullmatch(text) is not None


_TITLE = re.compile(
    r"(?:[^.!?;:：]{2,60}[:：]"
    r"|(?:for\sthe|pour\sl(?:a|es?|['’])|für\sd(?:as|en|ie)|voor\s(?:de|het)|per\s(?:la|le|lo|il|gli|l['’])"
    r"|para\s(?:el|la|las|los|o|os|a|as)|do\sdekoracji|til\sserveringen)\b[^.!?;:,\d]{2,40})",
    re.IGNORECASE,
)


def names_a_part(text: str) -> bool:
    """Return True for steps such as `The dough` or `Der Teig`: an article and one or two words."""
    return _PART.fullmatch(text) is not None


_PART = re.compile(
    r"(?:the|der|die|das|la|le|les|il|lo|el|los|las|het|de)\s[^\W\d]{3,20}(?:\s[^\W\d]{3,20})?",
    re.IGNORECASE,
)


def is_called_title(node: LexborNode) -> bool:
    """Return True for a heading, an element with a heading-like class, or all-bold text."""
    current: LexborNode | None = node
    for _ in range(_MAX_LEVELS):
        if current is None:
            return False
        if current.tag in _HEADINGS or _CALLED.search(current.attributes.get("class") or ""):
            return True
        current = _only_child(current)
    return False


_MAX_LEVELS = 4
_HEADINGS = frozenset({"h2", "h3", "h4", "h5", "h6", "b", "strong"})
_CALLED = re.compile(
    r"(?i:heading|subtitle|subheader|subhead|section-?head|tussenkop|(?:ingredients?|group|section)[-_]{1,2}header)"
    r"|(?:^|[-_\s])(?:title|h[2-6])(?:[-_\s]|$)|[a-z]Title(?:_|\s|$)"
)


def _only_child(node: LexborNode) -> LexborNode | None:
    """Return the only child element, if it contains all of a node's text, else None."""
    only: LexborNode | None = None
    for child in node.iter(include_text=True):
        if child.tag == "-text":
            if (child.text_content or "").strip():
                return None
        elif (child.tag or "")[:1] != "-" and child.text(strip=True):
            if only is not None:
                return None
            only = child
    return only


def titled(lines: list[str], by: LexborNode | list[bool]) -> list[str]:
    """
    Return the lines, with the titles among them marked.

    `by` is either a list that says for each line whether it looks like a title, or the element that
    contains the lines. In that element, lines that are entirely bold are titles. If more than half
    of the lines would be titles, none of them are marked.
    """
    if isinstance(by, LexborNode):
        bold = {normalize_space(node.text()) for node in by.css(_BOLD)[:_MAX_BOLD]}
        marks = [line in bold for line in lines] if bold else []
    else:
        marks = by
    marks = [
        mark and len(line) <= MAX_TITLE_CHARS and not amounts([line]) and line[-1:] not in _ENDS
        for mark, line in zip(marks, lines, strict=False)
    ]
    if not any(marks) or 2 * sum(marks) > len(lines):
        return lines
    return [GroupTitle(line) if mark else line for mark, line in zip(marks, lines, strict=True)]


_BOLD = "strong,b,u,h2,h3,h4,h5,h6"
_MAX_BOLD = 60
_ENDS = tuple(".!?;,。！？")


def names_a_list(node: LexborNode) -> bool:
    """Return True for a short line right before a list, without amounts or ending punctuation."""
    if node.tag not in _LINES:
        return False
    after = node.next
    while after is not None and (after.tag or "")[:1] in {"-", "!"} and not after.text(strip=True):
        after = after.next
    if after is None or after.tag not in _LISTS:
        return False
    text = normalize_space(node.text())
    is_name = 1 < len(text) <= MAX_TITLE_CHARS and text[-1] not in _ENDS
    return is_name and not amounts([text]) and not any(map(str.isdigit, text))


_LINES = frozenset({"p", "div", "span", "strong", "b"})
_LISTS = frozenset({"ul", "ol", "table"})
