r"""
Undo the escaping that templates and editors apply to a whole block of JSON.

The start of the block shows how it is escaped: `{&#34;name&#34;: …` for HTML, `{\"name\": …` for a
string, and `%7B%22name%22…` for a URL. An editor turned the quotes of `{“name”: …` into typographic
ones.
Escaped quotes inside the strings of a valid block are left unchanged.
"""

from __future__ import annotations

import html
import json
import re
from urllib.parse import unquote

MAX_LAYERS = 4
"""Maximum levels of escaping to undo; `&amp;quot;` has two."""

_OPENING = r"\s{0,99}+(?:[\[{]\s{0,99}+|){0,9}+"
_HTML_ESCAPED = re.compile(
    rf"{_OPENING}&(?:amp;|#0{{0,5}}38;){{0,3}}(?:quot|apos|[lr]dquo|bdquo|lbrace|lcub|lbrack|lsqb|"
    r"#0{0,5}(?:34|39|91|123|822[0-2])|#x0{0,5}(?:22|27|5b|7b|201[cde]));",
    re.IGNORECASE,
)
_STRING_ESCAPED = re.compile(
    rf"{_OPENING}\"?(?:{_OPENING})\\(?:[\"'nrt]|u00(?:22|27|5b|7b)|x(?:22|27|5b|7b))", re.IGNORECASE
)
_URL_ESCAPED = re.compile(r"\s{0,99}+%(?:7B|5B)(?:%[0-9a-f]{2}|[\s{\[]){0,99}?%22", re.IGNORECASE)
_TYPOGRAPHIC_START = re.compile(rf"{_OPENING}[“”„‟″＂]")
_LINE_TAG_START = re.compile(rf"{_OPENING}<(?:br|p)\b", re.IGNORECASE)
_LINE_TAG = re.compile(r"(?:<br\s?/?>|</?p>)(?=\s{0,99}(?:[\[\]{}\",]|\Z))", re.IGNORECASE)
_CURLY_QUOTES = {ord(quote): '"' for quote in "“”„‟″＂"}
_HEX_ESCAPE = re.compile(r"\\x([0-9a-fA-F]{2})")


def unescape(text: str) -> str | None:
    """Return the unescaped block; None if it is not escaped as a whole."""
    original = text
    for _ in range(MAX_LAYERS):
        result = _unescape_layer(text)
        if result is None or result == text:
            break
        text = result
    return text if text != original else None


def _unescape_layer(text: str) -> str | None:
    if _HTML_ESCAPED.match(text):
        return html.unescape(text)
    if _STRING_ESCAPED.match(text):
        return _unquote_string(text)
    if _URL_ESCAPED.match(text):
        return unquote(text)
    if _TYPOGRAPHIC_START.match(text):
        return text.translate(_CURLY_QUOTES)
    if _LINE_TAG_START.match(text):
        return _LINE_TAG.sub("", text)
    return None


def _unquote_string(text: str) -> str | None:
    contents = _HEX_ESCAPE.sub(r"\\u00\1", text.strip().removeprefix('"').removesuffix('"'))
    try:
        value = json.loads(f'"{contents}"', strict=False)
    except ValueError:
        return contents.replace('\\"', '"').replace("\\'", "'")
    return value if isinstance(value, str) else None
