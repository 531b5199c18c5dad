"""
Hostile markup made harmless before the parser sees it.

An HTML5 parser walks its stack of open elements for most tags, compares each attribute with those
before it, and opens unclosed formatting elements anew in each block. Measured with lexbor: 100,000
nested `<div>` take 13 s, 100,000 attributes 16 s, and 29 KB of unclosed `<b id=…>` before
paragraphs become 1.4 GB. Pages in which none of that can grow pass untouched, after a search
in C (0.05 ms for 57 KB); the others are cut where they go too deep, as browsers do (Chrome stops
nesting at 512).
"""

from __future__ import annotations

import re
from collections import Counter

MAX_DEPTH = 512
MAX_TAGS = 250_000
MAX_TAG_BYTES = 65_536
"""A longer tag is looked at: it may hold one long value, but not too many attributes."""
MAX_ATTRIBUTES = 2_000
MAX_BODY_BYTES = 16_777_216

_MANY_TAGS = 10_000
"""Under it any nesting is parsed within 0.2 s."""
_MAX_REOPENED = 1_000_000
"""Open formatting elements times tags: how many elements may come of them."""
_LONG_BODY_BYTES = 262_144
"""In a shorter body only a stretch without any `>` is looked for; what hides attributes from that
look costs bytes too, and so at most 1.3 s of parsing."""

_FORMATTING = b"b|big|code|em|font|i|s|small|strike|strong|tt|u"
_FORMATTING_TAG = re.compile(rb"<(?:" + _FORMATTING + rb")[\s>/]", re.IGNORECASE)
_FORMATTING_NAMES = frozenset(_FORMATTING.split(b"|"))
_SELF_CLOSING = frozenset(
    b"area base br col embed hr img input link meta param source track wbr "
    b"p li td th tr dt dd option optgroup tbody thead tfoot html head body a nobr".split()
)
"""Void elements, and those that close their like by themselves and so do not nest."""
_RAW = rb"(?:script|style|textarea|title|xmp|iframe|noembed|noframes|noscript)"
_QUOTED = rb"=[\t\n\f\r ]*+(?:\"[^\"]*+\"?|'[^']*+'?)"
"""A quote opens a value only behind `=`; elsewhere it is a character like others."""
_TAG_REST = rb"(?:[^>=]++|" + _QUOTED + rb"|=)*+"
_TOKEN = re.compile(
    rb"<(?:!--[^-]*+(?:-(?!->)[^-]*+)*+"
    rb"|(?i:" + _RAW + rb")[\s>/][^<]*+(?:<(?!/(?i:" + _RAW + rb"))[^<]*+)*+"
    rb"|((/?[a-zA-Z][^\s/>]*+)" + _TAG_REST + rb">?))"
)
"""A comment, an element whose content is text, or (group 1) a tag and (2) its name."""


def tame(body: bytes, problems: list[str]) -> bytes:
    """
    `body` (UTF-8) as it may be parsed; why something was left out is added to `problems`.

    Costs a fifth of the parse on ordinary pages; bounded by the length of the body on all.
    """
    if len(body) > MAX_BODY_BYTES:
        problems.append(f"longer than {MAX_BODY_BYTES} bytes: the rest unread")
        body = body[:MAX_BODY_BYTES]
    tags = body.count(b"<")
    if tags <= _MANY_TAGS and not _may_reopen(body, tags) and not _has_long_tag(body):
        return body
    return _cut(body, max(4, _MAX_REOPENED // max(1, tags)), problems)


def _may_reopen(body: bytes, tags: int) -> bool:
    return tags * tags > _MAX_REOPENED and (
        len(_FORMATTING_TAG.findall(body)) * tags > _MAX_REOPENED
    )


def _has_long_tag(body: bytes) -> bool:
    if len(body) <= _LONG_BODY_BYTES and not _has_long_stretch(body):
        return False
    return any(_is_too_much(found[0]) for found in _TOKEN.findall(body))


def _is_too_much(tag: bytes) -> bool:
    if len(tag) <= MAX_TAG_BYTES:
        return False
    return len(_VALUE.sub(b"=x ", tag).replace(b"/", b" ").split()) > MAX_ATTRIBUTES


_VALUE = re.compile(_QUOTED)


def _has_long_stretch(body: bytes) -> bool:
    """True when some 65,536 bytes in a row hold no `>`: a tag, or a script or text."""
    at = 0
    while at + MAX_TAG_BYTES < len(body):
        at = body.rfind(b">", at, at + MAX_TAG_BYTES) + 1
        if not at:
            return True
    return False


def _cut(body: bytes, max_formatting: int, problems: list[str]) -> bytes:
    """Copy what is not too deep, too long or too much."""
    kept: list[bytes] = []
    opened: Counter[bytes] = Counter()
    depth = formatting = seen = left_out = start = 0
    for found in _TOKEN.finditer(body):
        name = found[2]
        if name is None:
            continue
        seen += 1
        if seen > MAX_TAGS:
            problems.append(f"more than {MAX_TAGS} tags: the rest unread")
            kept.append(body[start : found.start()])
            start = len(body)
            break
        name = name.lower()
        if name.startswith(b"/"):
            name = name[1:]
            if opened[name]:
                opened[name] -= 1
                depth -= 1
                formatting -= name in _FORMATTING_NAMES
            continue
        is_formatting = name in _FORMATTING_NAMES
        too_much = (
            _is_too_much(found[1])
            or (depth >= MAX_DEPTH and name not in _SELF_CLOSING)
            or (is_formatting and formatting >= max_formatting)
        )
        if too_much:
            kept.append(body[start : found.start()])
            start = found.end()
            left_out += 1
        elif name not in _SELF_CLOSING:
            opened[name] += 1
            depth += 1
            formatting += is_formatting
    if left_out:
        problems.append(f"{left_out} tags left out: nested too deep, or of too many attributes")
    kept.append(body[start:])
    return b"".join(kept)
