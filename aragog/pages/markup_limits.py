"""
Remove hostile markup that would make the parser slow or use too much memory.

The tree builder of the HTML Standard (13.2.6) walks its stack of open elements for most tags, and
reopens formatting elements that were not closed. Measured with lexbor: 100,000 nested `<div>` take
13 s, 100,000 attributes 16 s, and 29 KB of unclosed `<b id=…>` before paragraphs become 1.4 GB.
Pages with low counts of the following, which are counted in C, pass unchanged:

- tags, because 30,000 of them nest at most that deep and are parsed within 1.5 s;
- formatting elements, because each tag may reopen those that are not closed at once: at most three
  of each spelling.

On the other pages, formatting tags that do not close at once are removed, and `depth` removes what
nests too deep, as browsers do (Chrome stops at 512).
"""

from __future__ import annotations

import re

from aragog.pages.depth import MAX_DEPTH, without_depth
from aragog.pages.markup import FORMATTING, QUOTED, TOKEN

__all__ = ["MAX_DEPTH", "limit_markup"]

MAX_TAGS = 250_000
MAX_TAG_BYTES = 65_536
"""Longer tags are inspected: a tag may contain one long value, but not too many attributes."""
MAX_ATTRIBUTES = 2_000
MAX_BODY_BYTES = 16_777_216

_MANY_TAGS = 30_000
"""Below this number any nesting is parsed within 1.5 s; 99 % of real pages have fewer."""
_MAX_REOPENED = 1_000_000
"""Open formatting elements times other tags: how many elements the tree builder may create."""
_MAX_EQUAL = 3
_LONG_BODY_BYTES = 262_144
"""
Minimum size of a body whose quoted values are inspected if they contain `>`. Smaller bodies are
searched only for a stretch without any `>`: hiding attributes from that search costs bytes too, and
so at most 1.3 s of parsing.
"""

_NAMES = b"|".join(FORMATTING)
_ATTRIBUTES = rb"(?:[\s/](?:[^<>\"'=]++|=\s*+(?:\"[^\"<>]*+\"|'[^'<>]*+'|[^\s<>\"'=]++))*+)?"
"""
Matches attributes only where regex and tokenizer must agree on the end of the tag: quotes after
`=`, no `<` or `>`.
"""
_FORMATTING_TAG = re.compile(
    rb"<(?=[bcefistuBCEFISTU][\s>/imotIMOT])(?i:" + _NAMES + rb")"
    rb"(?:" + _ATTRIBUTES + rb">|(?=[\s>/]))"
)
"""
A formatting tag to its end, or only its name where its end is in doubt. The first two letters are
tested first, because most tags are others.
"""
_CLOSED = (
    rb"<(" + _NAMES + rb")" + _ATTRIBUTES + rb">"
    rb"(?:[^<]++|</?(?:span|a|sub|sup|kbd|var|samp|abbr|cite|q|br|wbr|img)" + _ATTRIBUTES + rb">)*+"
    rb"</\1\s*+>"
)
"""A formatting element that contains only text and phrases: the tree builder never reopens it."""
_CLOSED_AT_ONCE = re.compile(_CLOSED)
_CLOSED_IN_CAPITALS = re.compile(_CLOSED, re.IGNORECASE)
_ANY_FORMATTING = re.compile(
    _CLOSED + rb"|</?(?:" + _NAMES + rb")(?=[\s>/])[^<>]{0,1000}>?", re.IGNORECASE
)
_HIDDEN_END = re.compile(rb"=\s*+(?:\"[^\">]*+>|'[^'>]*+>)")
"""A quoted value that contains `>`, which may hide the length of its tag."""


def limit_markup(body: bytes, problems: list[str]) -> bytes:
    """
    Return `body` (UTF-8) in a form that is safe to parse; add the reason for each removal to
    `problems`.

    Costs a tenth of the parse on ordinary pages; the time is bounded by the length of the body.
    """
    if len(body) > MAX_BODY_BYTES:
        problems.append(f"longer than {MAX_BODY_BYTES} bytes: the rest unread")
        body = body[:MAX_BODY_BYTES]
    tags = body.count(b"<")
    if _may_reopen(body, tags):
        body = _without_open_formatting(body, problems)
    if tags > _MANY_TAGS or _has_long_tag(body):
        body = without_depth(body, _is_too_much, MAX_TAGS, problems)
    return body


def _may_reopen(body: bytes, tags: int) -> bool:
    if tags * tags <= 4 * _MAX_REOPENED:  # no part of the tags times the others can be more
        return False
    formatting = _FORMATTING_TAG.findall(body)
    started = len(formatting)
    if min(started, _most_open(formatting)) * (tags - started) <= _MAX_REOPENED:
        return False
    return all(
        (started - len(closed.findall(body))) * tags > _MAX_REOPENED
        for closed in (_CLOSED_AT_ONCE, _CLOSED_IN_CAPITALS)
    )


def _most_open(formatting: list[bytes]) -> int:
    """
    How many of these tags the tree builder may reopen at once: three of each spelling, since it
    forgets the earliest of more equal ones (13.2.4.3, "Noah's Ark clause").
    """
    whole = [tag for tag in formatting if tag.endswith(b">")]
    return _MAX_EQUAL * len(set(whole)) + len(formatting) - len(whole)


def _without_open_formatting(body: bytes, problems: list[str]) -> bytes:
    """Replace each formatting tag that is not closed at once with a space."""
    problems.append("formatting tags left out: too many stay open")
    return _ANY_FORMATTING.sub(lambda m: m[0] if m[1] else b" ", body)


def _has_long_tag(body: bytes) -> bool:
    if not _has_long_stretch(body) and not _hides_long_tag(body):
        return False
    return any(_is_too_much(tag[0]) for tag in TOKEN.findall(body))


def _is_too_much(tag: bytes) -> bool:
    if len(tag) <= MAX_TAG_BYTES:
        return False
    return len(_VALUE.sub(b"=x ", tag).replace(b"/", b" ").split()) > MAX_ATTRIBUTES


_VALUE = re.compile(QUOTED)


def _has_long_stretch(body: bytes) -> bool:
    """Return True if 65,536 bytes after a `<` contain no `>`: a tag, a script or text."""
    at = 0
    while at + MAX_TAG_BYTES < len(body):
        end = body.rfind(b">", at, at + MAX_TAG_BYTES) + 1
        if not end:
            start = body.find(b"<", at, at + MAX_TAG_BYTES)
            end = body.find(b">", at) + 1 or len(body)
            if 0 <= start < end - MAX_TAG_BYTES:
                return True
        at = end
    return False


def _hides_long_tag(body: bytes) -> bool:
    """
    Return True if 65,536 bytes may be attributes of tags with `>` in a quoted value.

    Such attributes stand between that `>` and the one before it.
    """
    if len(body) <= _LONG_BODY_BYTES:
        return False
    ends = (match.end() for match in _HIDDEN_END.finditer(body))
    return sum(end - body.rfind(b">", 0, end - 1) for end in ends) > MAX_TAG_BYTES
