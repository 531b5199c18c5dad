"""
Distinguish titles such as `For the sauce` from the entries below them.

Titles can be in the same list as the ingredients or steps. They are recognized by their wording, by
their element's class, or by being bold when the entries aren't.
"""

from __future__ import annotations

import re

from selectolax.lexbor import LexborNode

from richpins.document import normalize_space
from richpins.visible_text.vocabulary import count_amounts

MAX_TITLE_CHARS = 60


class GroupTitle(str):
    """A line marked up as the title of the entries after it."""

    __slots__ = ()


def is_title(text: str) -> bool:
    """
    Return True if a line names a group of entries: it ends with a colon or starts with `For the`.

    Such a line has no amount and isn't a full sentence.
    """
    if len(text) > MAX_TITLE_CHARS or count_amounts([text]):
        return False
    return isinstance(text, GroupTitle) or _TITLE_WORDING.fullmatch(text) is not None


_TITLE_WORDING = re.compile(
    r"(?:[^.!?;:：]{2,60}[:：]"
    r"|(?:for\sthe|pour\sl(?:a|es?|['’])|für\sd(?:as|en|ie)|voor\s(?:de|het)|per\s(?:la|le|lo|il|gli|l['’])"
    r"|para\s(?:el|la|las|los|o|os|a|as)|do\sdekoracji|til\sserveringen)\b[^.!?;:,\d]{2,40})",
    re.IGNORECASE,
)


def is_part_name(text: str) -> bool:
    """Return True for `The` or `Der` and one or two words, such as `The dough` or `Der Teig`."""
    return _PART_NAME.fullmatch(text) is not None


_PART_NAME = re.compile(
    r"(?:the|der|die|das|la|le|les|il|lo|el|los|las|het|de)\s[^\W\d]{3,20}(?:\s[^\W\d]{3,20})?",
    re.IGNORECASE,
)


def is_title_element(node: LexborNode) -> bool:
    """Return True for a heading, an element with the class of a heading, or all-bold text."""
    current: LexborNode | None = node
    for _ in range(_MAX_LEVELS):
        if current is None:
            return False
        if current.tag in _HEADING_TAGS or _HEADING_CLASS.search(
            current.attributes.get("class") or ""
        ):
            return True
        current = _only_child(current)
    return False


_MAX_LEVELS = 4
_HEADING_TAGS = frozenset({"h2", "h3", "h4", "h5", "h6", "b", "strong"})
_HEADING_CLASS = re.compile(
    r"(?i:heading|subtitle|subheader|subhead|section-?head|tussenkop|(?:ingredients?|group|section)[-_]{1,2}header)"
    r"|(?:^|[-_\s])(?:title|h[2-6])(?:[-_\s]|$)|[a-z]Title(?:_|\s|$)"
)


def _only_child(node: LexborNode) -> LexborNode | None:
    only_child: LexborNode | None = None
    for child in node.iter(include_text=True):
        if child.tag == "-text":
            if (child.text_content or "").strip():
                return None
        elif (child.tag or "")[:1] != "-" and child.text(strip=True):
            if only_child is not None:
                return None
            only_child = child
    return only_child


def mark_titles(lines: list[str], evidence: LexborNode | list[bool]) -> list[str]:
    """
    Return the lines, turning titles into `GroupTitle`.

    `evidence` is the element that contains the lines, or a list that says for each line whether it
    looks like a title. In an element, entirely bold lines are titles. If more than half of the
    lines would be titles, none are marked.
    """
    if isinstance(evidence, LexborNode):
        bold_texts = {
            normalize_space(node.text())
            for node in evidence.css(_BOLD_ELEMENTS)[:_MAX_BOLD_ELEMENTS]
        }
        marks = [line in bold_texts for line in lines] if bold_texts else []
    else:
        marks = evidence
    marks = [
        mark
        and len(line) <= MAX_TITLE_CHARS
        and not count_amounts([line])
        and line[-1:] not in _NON_TITLE_ENDINGS
        for mark, line in zip(marks, lines, strict=False)
    ]
    if not any(marks) or 2 * sum(marks) > len(lines):
        return lines
    return [GroupTitle(line) if mark else line for mark, line in zip(marks, lines, strict=True)]


_BOLD_ELEMENTS = "strong,b,u,h2,h3,h4,h5,h6"
_MAX_BOLD_ELEMENTS = 60
_NON_TITLE_ENDINGS = tuple(".!?;,。！？")


def is_list_title(node: LexborNode) -> bool:
    """Return True for a short line right before a list, without amounts or ending punctuation."""
    if node.tag not in _LINE_TAGS:
        return False
    next_node = node.next
    while (
        next_node is not None
        and (next_node.tag or "")[:1] in {"-", "!"}
        and not next_node.text(strip=True)
    ):
        next_node = next_node.next
    if next_node is None or next_node.tag not in _LIST_TAGS:
        return False
    text = normalize_space(node.text())
    is_name = 1 < len(text) <= MAX_TITLE_CHARS and text[-1] not in _NON_TITLE_ENDINGS
    return is_name and not count_amounts([text]) and not any(map(str.isdigit, text))


_LINE_TAGS = frozenset({"p", "div", "span", "strong", "b"})
_LIST_TAGS = frozenset({"ul", "ol", "table"})
