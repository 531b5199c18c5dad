"""
Find tags that would make the parser slow, and split markup into tags.

A parser compares each attribute of a tag with all others: lexbor takes 16 s for 100,000 of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

RAW_TEXT_ELEMENTS = rb"(?:script|style|textarea|title|xmp|iframe|noembed|noframes|noscript)"
QUOTED = rb"=[\t\n\f\r ]*+(?:\"[^\"]*+\"?|'[^']*+'?)"
"""A quote starts a quoted value only after `=`. Anywhere else it is an ordinary character."""
_TAG_REST = rb"(?:[^>=]++|" + QUOTED + rb"|=|)*+"
TOKEN = re.compile(
    rb"<(?:!--[^-]*+(?:-(?!->)[^-]*+|)*+"
    rb"|(?i:"
    + RAW_TEXT_ELEMENTS
    + rb")[\s>/][^<]*+(?:<(?!/(?i:"
    + RAW_TEXT_ELEMENTS
    + rb"))[^<]*+|)*+"
    rb"|((/?[a-zA-Z][^\s/>]*+)" + _TAG_REST + rb">?))"
)
"""A comment, an element that contains only text, or a tag (group 1) and its name (group 2)."""

MAX_TAG_BYTES = 65_536
"""
Shorter tags are not inspected. A longer tag is accepted if it is mostly one long value, but not if
it has too many attributes.
"""
MAX_ATTRIBUTES = 2_000

_LONG_BODY_BYTES = 262_144
"""
In bodies of at least this size, quoted values that contain `>` are inspected too. Smaller bodies
are only searched for a long stretch without any `>`. Anything else in them takes at most 1.3 s to
parse.
"""

_VALUE_WITH_BRACKET = re.compile(rb"=\s*+(?:\"[^\">]*+>|'[^'>]*+>)")
"""The start of a quoted value up to its first `>`, where the tag seems to end."""


def has_slow_tag(body: bytes) -> bool:
    """Return True if `has_too_many_attributes` is true for some tag. Fast for most bodies."""
    if not _has_long_stretch(body) and not _hides_long_tag(body):
        return False
    return any(has_too_many_attributes(tag[0]) for tag in TOKEN.findall(body))


def has_too_many_attributes(tag: bytes) -> bool:
    """Return True for a tag of more than MAX_TAG_BYTES with more than MAX_ATTRIBUTES attributes."""
    if len(tag) <= MAX_TAG_BYTES:
        return False
    return len(_VALUE.sub(b"=x ", tag).replace(b"/", b" ").split()) > MAX_ATTRIBUTES


_VALUE = re.compile(QUOTED)


def _has_long_stretch(body: bytes) -> bool:
    """Return True if a `<` is followed by 65,536 bytes that contain no `>`."""
    position = 0
    while position + MAX_TAG_BYTES < len(body):
        end = body.rfind(b">", position, position + MAX_TAG_BYTES) + 1
        if not end:
            start = body.find(b"<", position, position + MAX_TAG_BYTES)
            end = body.find(b">", position) + 1 or len(body)
            if 0 <= start < end - MAX_TAG_BYTES:
                return True
        position = end
    return False


def _hides_long_tag(body: bytes) -> bool:
    """Return True if tags with a `>` in a quoted value may have more than 65,536 bytes in total."""
    if len(body) <= _LONG_BODY_BYTES or not _may_have_long_tag(body):
        return False
    ends = (match.end() for match in _VALUE_WITH_BRACKET.finditer(body))
    return sum(end - body.rfind(b">", 0, end - 1) for end in ends) > MAX_TAG_BYTES


def _may_have_long_tag(body: bytes) -> bool:
    """
    Return False if certainly no tag has 65,536 bytes, not counting attribute values.

    The function samples one position in each KiB. After a position that is certainly outside any
    tag, it continues at the next multiple of 8 KiB. A tag of that size covers at least 56
    consecutive samples, not counting those in long values. A sample takes 2 µs; all of them take a
    fifth of the time that a search for quoted values would.
    """
    run = run_before_value = 0
    for may_be_in_tag, is_in_value in _samples(body):
        previous_run = max(run_before_value, run)
        run = run + 1 if may_be_in_tag else 0
        if is_in_value:  # a sample inside a value: the tag continues after the value
            run_before_value = max(previous_run, run)
        elif run_before_value:
            run, run_before_value = max(run, run_before_value + 1), 0
        if run >= _MIN_RUN:
            return True
    return False


def _samples(body: bytes) -> Iterator[tuple[bool, bool]]:
    """
    Yield two flags for each sample: whether it may be in a tag, and whether it may be in the same
    value as the previous sample.

    A position may be in a tag if the last `<` or `>` before it is a `<`, or a `>` in a quoted
    value. Each search stops at the previous position, so the time is linear in the length.
    """
    start = searched_to = 0
    last_open = -1
    last_quotes = dict.fromkeys(_QUOTES, -1)
    position = _STEP_BYTES
    while position < len(body):
        last_open = max(last_open, body.rfind(b"<", start, position))
        end = max(searched_to, body.rfind(b">", start, position))
        for quote in _QUOTES:
            last_quotes[quote] = max(last_quotes[quote], body.rfind(quote, searched_to, end))
        open_quotes = [quote for quote in _QUOTES if _may_open_value(body, last_quotes[quote])]
        value_quotes = [quote for quote in open_quotes if last_quotes[quote] < start <= end]
        value_quotes = [quote for quote in value_quotes if body.find(quote, end, position) < 0]
        may_be_in_tag = last_open >= end or len(open_quotes) > len(value_quotes)
        is_in_value = bool(value_quotes)
        yield may_be_in_tag, is_in_value
        start, searched_to = position, end
        step = _STEP_BYTES if may_be_in_tag or is_in_value else _LONG_STEP_BYTES
        position += step - position % step


def _may_open_value(body: bytes, quote_at: int) -> bool:
    """Return True if a quote follows `=`, or so much whitespace that the search for `=` stops."""
    start = max(0, quote_at - _MAX_SPACE_BYTES)
    preceding = body[start:quote_at].rstrip() if quote_at > 0 else b"-"
    return preceding[-1:] in (b"=", b"")


_QUOTES = (b'"', b"'")
_STEP_BYTES = 1_024
_LONG_STEP_BYTES = 8_192
_MIN_RUN = (MAX_TAG_BYTES - _LONG_STEP_BYTES) // _STEP_BYTES
_MAX_SPACE_BYTES = 64
