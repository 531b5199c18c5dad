"""Convert markup to plain text, without tags, escapes and unusual white space."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from selectolax.lexbor import LexborNode

_TAG = re.compile(r"<[/!]?[a-zA-Z!][^<>]{0,2000}>")
_BLOCK_TAG = re.compile(
    r"<(?:/?(?:p|div|li|ul|ol|tr|table|section|h[1-6]|dd|dt|dl|blockquote|article)|br|hr)\b"
    r"[^<>]{0,2000}>",
    re.IGNORECASE,
)
_ATTRIBUTES = re.compile(
    r"<([a-zA-Z][\w:-]{0,60})\s(?:[^\"'<>]{1,2000}+|\"[^\"]{0,100000}+\"|'[^']{0,100000}+'|){0,4000}+>"
)
"""A start tag with attributes, whose values may contain `<` and `>`."""
_INVISIBLE = re.compile(r"[\u00ad\u200b\u2060\ufeff]")
"""Soft hyphen, zero-width space, word joiner and byte order mark, which are all invisible."""
_DOUBLE_ENCODED_SPACE = "\u00c2\u00a0"
"""A no-break space whose UTF-8 bytes were read as windows-1252."""
_LINE_END = re.compile(r"[\r\n\u2028]+")
_DOUBLE_ESCAPED = re.compile(r"&(?:#\d{1,7}|#x[0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_HIDDEN_MARKUP = re.compile(
    r"<(script|style|noscript|template|button|svg|select)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)",
    re.DOTALL | re.IGNORECASE,
)

_WORD_IN_BUTTON = re.compile(
    r"(?<=\w)(\s?)<button>((?:(?!</?button)[^\n]){1,300}?)</button>(?=\s?[\w.,;:)])", re.IGNORECASE
)
"""
A button inside a sentence. Its text is part of the sentence: `heat to <button>boil</button> it`.
"""

_CODE_START = re.compile(r"<(script|style)\b[^<>]{0,2000}>", re.IGNORECASE)
_CODE_END = re.compile(r"</(?:script|style)\s{0,9}>", re.IGNORECASE)
_RAW_TEXT_TAGS = frozenset({"script", "style", "noscript", "iframe"})
"""The parser finds no elements inside these."""
HIDDEN_ELEMENTS = "script,style,template,noscript"
"""CSS selector for elements whose text is not displayed."""
_GAP_ELEMENTS = f"{HIDDEN_ELEMENTS},br,p,div,li,h1,h2,h3,h4,h5,h6,td"

_ADJACENT_TAGS = re.compile(r"(</\w+>)(<[a-z])", re.IGNORECASE)
"""Words in adjacent elements are separate words, because style sheets often add a gap."""

MAX_TEXT_CHARS = 100_000
MAX_LINES = 2_000


def clean(text: str) -> str:
    """Convert markup to one line of plain text without tags, (double) escapes and extra spaces."""
    text = _unescape(text[:MAX_TEXT_CHARS])
    if "<" in text:
        text = _TAG.sub("", _BLOCK_TAG.sub(" ", _without_code(_without_comments(text))))
    return " ".join(text.split())


def lines(text: str) -> list[str]:
    """Convert markup to lines of plain text. Block elements and newlines both end a line."""
    text = _unescape(text[:MAX_TEXT_CHARS])
    if "<" in text:
        text = _TAG.sub("", _BLOCK_TAG.sub("\n", _without_code(_without_comments(text))))
    result = (" ".join(line.split()) for line in _LINE_END.split(text))
    return [line for line in result if line][:MAX_LINES]


def displayed_text(element: LexborNode) -> str:
    if element.css_first(HIDDEN_ELEMENTS) is None:
        return " ".join(element.text().split())
    markup = _BLOCK_TAG.sub(" ", _HIDDEN_MARKUP.sub("", element.inner_html or ""))
    return " ".join(html.unescape(_TAG.sub("", markup)).split())


def block_text(element: LexborNode) -> str:
    """Like `displayed_text`, with gaps between blocks."""
    if element.css_first(_GAP_ELEMENTS) is None:
        return " ".join(element.text().split())
    markup = _BLOCK_TAG.sub(" ", _HIDDEN_MARKUP.sub("", element.inner_html or ""))
    return " ".join(html.unescape(_TAG.sub("", markup)).split())


def spaced_text(element: LexborNode) -> str:
    """Like `displayed_text`, with a space between elements."""
    if element.css_first(HIDDEN_ELEMENTS) is None:
        return " ".join(element.text(separator=" ").split())
    markup = _HIDDEN_MARKUP.sub("", element.inner_html or "")
    return " ".join(html.unescape(_TAG.sub(" ", markup)).split())


def spaced_lines(element: LexborNode) -> list[str]:
    """Like `spaced_text`, but return a list of lines."""
    if element.css_first(HIDDEN_ELEMENTS) is None:
        text = element.text(separator="\n")
    else:
        text = html.unescape(_TAG.sub("\n", _HIDDEN_MARKUP.sub("", element.inner_html or "")))
    return [line for part in text.splitlines() if (line := " ".join(part.split()))]


def text_without(
    element: LexborNode, omitted_selector: str, gap: str = " ", max_chars: int | None = None
) -> str:
    """
    Return an element's text without the elements that match `omitted_selector`.

    Other elements are separated by spaces, and each omitted element becomes `gap`. The omitted text
    is cut out of the whole text; removing elements from a copy of the tree would take three times
    as long. If the same text also occurs earlier, that occurrence is cut instead. Text after
    `max_chars` may be missing.
    """
    text, position, parts = element.text(separator=" "), 0, []
    chars_left = len(text) if max_chars is None else max_chars
    for node in _find_outermost(element, omitted_selector):
        omitted = node.text(separator=" ")
        start = text.find(omitted, position) if omitted and not omitted.isspace() else -1
        if start >= 0:
            parts.append(text[position:start])
            chars_left -= start - position
            position = start + len(omitted)
            if chars_left <= 0:
                return gap.join(parts)
    return gap.join([*parts, text[position:]])


def _find_outermost(element: LexborNode, selector: str) -> Iterator[LexborNode]:
    """Yield the outermost matching elements inside another element, in document order."""
    nested_count = 0
    for node in element.css(selector):
        if nested_count:
            nested_count -= 1
        elif node.tag in _RAW_TEXT_TAGS:
            yield node
        elif node.mem_id != element.mem_id:
            nested_count = sum(inner.mem_id != node.mem_id for inner in node.css(selector))
            yield node


def block_lines(element: LexborNode) -> list[str]:
    """Return an element's text, one line per block."""
    source = (element.inner_html or "")[: 4 * MAX_TEXT_CHARS]
    markup = _without_attributes(source)
    if "<button>" in markup:
        markup = _WORD_IN_BUTTON.sub(r"\1\2", markup)
    markup = _HIDDEN_MARKUP.sub("", markup)
    if "<pre" not in markup and element.tag not in {"pre", "textarea"}:
        markup = _LINE_END.sub(" ", markup)  # newlines in the source are not displayed
    return lines(_ADJACENT_TAGS.sub(r"\1 \2", markup))


def _without_comments(text: str) -> str:
    """Remove comments. An unclosed comment is kept as text."""
    parts, position = [], 0
    while (start := text.find("<!--", position)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        parts.append(text[position:start])
        position = end + 3
    return "".join([*parts, text[position:]])


def _without_code(text: str) -> str:
    """Remove scripts and styles. An unclosed element is kept as text."""
    parts, position = [], 0
    while (start := _CODE_START.search(text, position)) and (
        end := _CODE_END.search(text, start.end())
    ):
        parts.append(text[position : start.start()])
        position = end.end()
    return "".join([*parts, text[position:]])


def _unescape(text: str) -> str:
    text = _without_attributes(text)
    for _ in range(3):
        if "&" not in text or not _DOUBLE_ESCAPED.search(text):
            break
        text = html.unescape(text)
    if text.isascii():
        return text
    return _INVISIBLE.sub("", text.replace(_DOUBLE_ENCODED_SPACE, " "))


def _without_attributes(text: str) -> str:
    """Remove the attributes of start tags before their escapes turn into markup."""
    return _ATTRIBUTES.sub(r"<\1>", text) if "<" in text and "=" in text else text
