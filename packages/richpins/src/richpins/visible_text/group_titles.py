"""
Tell the lines that name the entries after them, such as `For the sauce`, from the entries.

They stand in the same list as ingredients or steps, and are told by their words, by the class of
their element, or by being bold as the entries are not.
"""

from __future__ import annotations

import re

from selectolax.lexbor import LexborNode

from richpins.document import normalize_space
from richpins.visible_text.vocabulary import amounts

MAX_TITLE_CHARS = 60


class GroupTitle(str):
    """A line that is known by its element to be a title of the entries after it."""

    __slots__ = ()


def is_title(text: str) -> bool:
    """
    Return True for a line that names a group of entries.

    It ends with a colon, or begins like `For the`, and has neither an amount nor a sentence.
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
    """Return True for `The dough` or `Der Teig` among steps: an article and one or two words."""
    return _PART.fullmatch(text) is not None


_PART = re.compile(
    r"(?:the|der|die|das|la|le|les|il|lo|el|los|las|het|de)\s[^\W\d]{3,20}(?:\s[^\W\d]{3,20})?",
    re.IGNORECASE,
)


def is_called_title(node: LexborNode) -> bool:
    """Return True for a heading, an element whose class names one, and one that is all bold."""
    at: LexborNode | None = node
    for _ in range(_MAX_LEVELS):
        if at is None:
            return False
        if at.tag in _HEADINGS or _CALLED.search(at.attributes.get("class") or ""):
            return True
        at = _only_child(at)
    return False


_MAX_LEVELS = 4
_HEADINGS = frozenset({"h2", "h3", "h4", "h5", "h6", "b", "strong"})
_CALLED = re.compile(
    r"(?i:heading|subtitle|subheader|subhead|section-?head|tussenkop|(?:ingredients?|group|section)[-_]{1,2}header)"
    r"|(?:^|[-_\s])(?:title|h[2-6])(?:[-_\s]|$)|[a-z]Title(?:_|\s|$)"
)


def _only_child(node: LexborNode) -> LexborNode | None:
    """Return the element that has all the text of another; None if no element has."""
    child: LexborNode | None = None
    for each in node.iter(include_text=True):
        if each.tag == "-text":
            if (each.text_content or "").strip():
                return None
        elif (each.tag or "")[:1] != "-" and each.text(strip=True):
            if child is not None:
                return None
            child = each
    return child


def titled(lines: list[str], by: LexborNode | list[bool]) -> list[str]:
    """
    Return lines with the titles among them marked.

    `by` says of each whether it is called a title, or is the element of the lines, in which those
    that are bold from end to end are titles. Where more than half would be titles, none is.
    """
    if isinstance(by, LexborNode):
        bold = {normalize_space(each.text()) for each in by.css(_BOLD)[:_MAX_BOLD]}
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
    """Return True for a short line without amounts or a full stop right before a list."""
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
