"""
Remove hostile markup that would make the parser slow or use too much memory.

The tree builder of the HTML Standard (13.2.6) walks its stack of open elements for most tags, and
reopens formatting elements that were not closed. Measured with lexbor: 100,000 nested `<div>` take
13 s, 100,000 attributes 16 s, and 29 KB of unclosed `<b id=…>` before paragraphs become 1.4 GB.

Most pages pass unchanged, because counting their tags (in C) shows that they are harmless: up to
30,000 tags are parsed within 1.5 s, however they nest. Each tag may reopen all formatting
elements that are still open, but at most three equal ones. On other pages, the tags of unclosed
formatting elements are removed, then elements that nest too deep. Browsers limit the depth as well
(Chrome at 512).

`_OpenElements` models the stack of open elements (13.2.4.2 and 13.2.6.4.7). It closes an element
only if the standard certainly does. The parser's tree is therefore never deeper than
`_OpenElements` reports, except for a few elements added by tables and formatting elements.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from ahocorasick_rs import BytesAhoCorasick, Implementation

from richpins import _long_tags as long_tags
from richpins._long_tags import MAX_ATTRIBUTES, MAX_TAG_BYTES, TOKEN

FORMATTING = (
    b"b", b"big", b"code", b"em", b"font", b"i", b"s", b"small", b"strike", b"strong", b"tt", b"u",
)  # fmt: skip
"""The tree builder reopens these elements in each block until they are closed."""

MAX_DEPTH = 512
MAX_STEPS = 10_000_000
"""Maximum number of stack elements examined for one page (about 1 s)."""


def _tag_names(words: str) -> frozenset[bytes]:
    return frozenset(words.encode().split())


_VOID_TAGS = _tag_names(
    "area base basefont bgsound br col embed frame hr image img input keygen link meta param "
    "source track wbr html head body frameset"
)
"""Void elements, and elements of which a page has at most one."""
_SPECIAL_TAGS = _tag_names(
    "address applet article aside blockquote body button caption center colgroup dd details dialog "
    "dir div dl dt fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 head header "
    "hgroup html iframe li listing main marquee menu nav object ol optgroup option p plaintext pre "
    "search section select summary table tbody td template tfoot th thead tr ul "
    "foreignobject desc title mi mo mn ms mtext annotation-xml"
)
_SCOPE_TAGS = _tag_names(
    "applet caption table td th marquee object template "
    "foreignobject desc title mi mo mn ms mtext annotation-xml select"
)
"""An end tag closes no elements outside the innermost one of these."""
_TABLE_SCOPE_TAGS = _tag_names("table template")
_BLOCK_TAGS = _tag_names(
    "address article aside blockquote center details dialog dir div dl fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hgroup hr li listing main menu nav ol p plaintext pre "
    "search section summary table ul dd dt"
)
"""Each of these start tags closes an open paragraph."""
_HEADING_TAGS = _tag_names("h1 h2 h3 h4 h5 h6")
_CELL_TAGS = _tag_names("td th")
_TABLE_SECTION_TAGS = _tag_names("tbody thead tfoot")
_TABLE_PART_TAGS = _CELL_TAGS | _TABLE_SECTION_TAGS | _tag_names("tr caption colgroup")
_SVG_TAGS = _tag_names(
    "a animate animatemotion animatetransform circle clippath defs ellipse feblend fecolormatrix "
    "fecomposite feflood fegaussianblur femerge femergenode feoffset filter g image line "
    "lineargradient marker mask metadata path pattern polygon polyline radialgradient rect set "
    "stop switch symbol text textpath tspan use view"
)
"""SVG elements. Inside SVG, a trailing slash closes them."""
_MUTUALLY_CLOSING_TAGS = _tag_names("p li dd dt tr td th option")
"""These elements close each other, so they may nest `_EXTRA_DEPTH` levels deeper than others."""
_EXTRA_DEPTH = 8
_ANCHOR_TAGS = _tag_names("a nobr")
_FORMATTING_AND_ANCHOR_TAGS = frozenset(FORMATTING) | _ANCHOR_TAGS


def limit_depth(
    body: bytes,
    has_too_many_attributes: Callable[[bytes], bool],
    max_tags: int,
    problems: list[str],
) -> bytes:
    """
    Return `body` without tags that nest too deep or that `has_too_many_attributes` rejects.

    Takes about 1 µs per tag. Removals are described in `problems`.
    """
    parts: list[bytes] = []
    open_elements = _OpenElements()
    tag_count = omitted_count = start = 0
    for match in TOKEN.finditer(body):
        name = match[2]
        if name is None:
            continue
        tag_count += 1
        if tag_count > max_tags or open_elements.steps > MAX_STEPS:
            problems.append(f"more than {max_tags} tags, or too irregular: the rest was not read")
            parts.append(body[start : match.start()])
            start = len(body)
            break
        name = name.lower()
        if name.startswith(b"/"):
            open_elements.close(name[1:])
        elif has_too_many_attributes(match[1]) or not open_elements.open(name, match[1]):
            parts.append(body[start : match.start()])
            start = match.end()
            omitted_count += 1
    if omitted_count:
        problems.append(
            f"{omitted_count} tags omitted: nested too deep, or with too many attributes"
        )
    parts.append(body[start:])
    return b"".join(parts)


class _OpenElements:
    """The open elements, innermost last."""

    def __init__(self) -> None:
        self._open: list[bytes] = []
        self._open_counts: Counter[bytes] = Counter()
        self._in_svg = False
        self.steps = 0

    def open(self, name: bytes, tag: bytes) -> bool:
        """Open an element. Returns False instead if it would nest too deep."""
        if name in _VOID_TAGS:
            return True
        if self._in_svg:
            if name in _SVG_TAGS and tag.endswith(b"/>"):
                return True
            self._in_svg = name in _SVG_TAGS
        elif name == b"svg":
            self._in_svg = not tag.endswith(b"/>")
        self._close_implied(name)
        if len(self._open) >= MAX_DEPTH + (name in _MUTUALLY_CLOSING_TAGS) * _EXTRA_DEPTH:
            return False
        self._open.append(name)
        self._open_counts[name] += 1
        return True

    def close(self, name: bytes) -> None:
        """Close an element if it is certainly open."""
        if self._open and self._open[-1] == name:
            self._open_counts[self._open.pop()] -= 1
        elif name == b"svg":
            self._in_svg = False
            self._close_within(name, _SPECIAL_TAGS)
        elif name in _TABLE_PART_TAGS or name in _TABLE_SCOPE_TAGS:
            self._close_within(name, _TABLE_SCOPE_TAGS)
        elif name in _FORMATTING_AND_ANCHOR_TAGS:
            self._close_within(name, _SPECIAL_TAGS)
        elif name == b"p":
            self._close_within(name, _SCOPE_TAGS | {b"button"})
        elif name == b"li":
            self._close_within(name, _SCOPE_TAGS | {b"ul", b"ol"})
        else:
            self._close_within(name, _SCOPE_TAGS if name in _SPECIAL_TAGS else _SPECIAL_TAGS)

    def _close_implied(self, name: bytes) -> None:
        """Close the elements that the start tag of `name` closes."""
        if name in _BLOCK_TAGS:
            self._close_within(b"p", _SCOPE_TAGS | {b"button"})
        innermost = self._open[-1] if self._open else b""
        if name in _ANCHOR_TAGS:
            self._close_within(name, _SPECIAL_TAGS)
        elif (name in _HEADING_TAGS and innermost in _HEADING_TAGS) or (
            name == innermost == b"option"
        ):
            self._open_counts[self._open.pop()] -= 1
        elif name == b"li":
            self._close_within(name, _SPECIAL_TAGS - {b"li", b"address", b"div", b"p"})
        elif name in {b"dd", b"dt"}:
            boundary = _SPECIAL_TAGS - {b"dd", b"dt", b"address", b"div", b"p"}
            self._close_within(b"dd", boundary) or self._close_within(b"dt", boundary)
        elif name in _TABLE_PART_TAGS:
            self._close_in_table(name)

    def _close_in_table(self, name: bytes) -> None:
        for tag in _CELL_TAGS | {b"caption", b"colgroup"}:
            self._close_within(tag, _TABLE_SCOPE_TAGS)
        if name not in _CELL_TAGS:
            self._close_within(b"tr", _TABLE_SCOPE_TAGS)
        if name in _TABLE_SECTION_TAGS:
            for tag in _TABLE_SECTION_TAGS:
                self._close_within(tag, _TABLE_SCOPE_TAGS)

    def _close_within(self, name: bytes, boundary: frozenset[bytes]) -> bool:
        """Close the innermost `name` with its content, unless that contains a `boundary` tag."""
        if not self._open_counts[name]:
            return False
        open_elements = self._open
        for index in range(len(open_elements) - 1, -1, -1):
            self.steps += 1
            tag = open_elements[index]
            if tag == name:
                self._open_counts.subtract(open_elements[index:])
                del open_elements[index:]
                return True
            if tag in boundary:
                return False
        return False


__all__ = ["MAX_ATTRIBUTES", "MAX_DEPTH", "MAX_TAG_BYTES", "limit_markup"]

MAX_TAGS = 250_000
MAX_BODY_BYTES = 16_777_216

_MAX_UNCHECKED_TAGS = 30_000
"""With fewer tags, any nesting is parsed within 1.5 s. 99% of real pages have fewer."""
_MAX_REOPENED = 1_000_000
"""
Maximum product of open formatting elements and other tags. The parser may create that many
elements.
"""
_MAX_EQUAL_TAGS = 3

_FORMATTING_NAMES = b"|".join(FORMATTING)
_ATTRIBUTES = rb"(?:[\s/](?:[^<>\"'=]++|=\s*+(?:\"[^\"<>]*+\"|'[^'<>]*+'|[^\s<>\"'=]++)|)*+)?"
"""
Matches attributes only where regex and tokenizer must agree on the tag's end: with quotes only
after `=`, and without `<` or `>`.
"""
_FORMATTING_TAG = re.compile(
    rb"<(?=[bcefistuBCEFISTU][\s>/imotIMOT])(?i:" + _FORMATTING_NAMES + rb")"
    rb"(?:" + _ATTRIBUTES + rb">|(?=[\s>/]))"
)
"""
A whole formatting tag, or only its name if its end is uncertain. For speed, the first two letters
are tested first: most tags are not formatting tags.
"""
_CLOSED_ELEMENT = (
    rb"<(" + _FORMATTING_NAMES + rb")" + _ATTRIBUTES + rb">"
    rb"(?:[^<]++|</?(?:span|a|sub|sup|kbd|var|samp|abbr|cite|q|br|wbr|img)"
    + _ATTRIBUTES
    + rb">|)*+"
    rb"</\1\s*+>"
)
"""
A formatting element that contains only text and inline elements. The tree builder never reopens it.
"""
_CLOSED_ELEMENT_PATTERN = re.compile(_CLOSED_ELEMENT)
_CLOSED_ELEMENT_ANY_CASE = re.compile(_CLOSED_ELEMENT, re.IGNORECASE)
_ANY_FORMATTING = re.compile(
    _CLOSED_ELEMENT + rb"|</?(?:" + _FORMATTING_NAMES + rb")(?=[\s>/])[^<>]{0,1000}>?",
    re.IGNORECASE,
)


def limit_markup(body: bytes, problems: list[str]) -> bytes:
    """
    Return `body` (UTF-8) in a form that is safe to parse; describe each removal in `problems`.

    Takes a tenth of the parsing time for ordinary pages, and linear time for any page.
    """
    if len(body) > MAX_BODY_BYTES:
        problems.append(f"longer than {MAX_BODY_BYTES} bytes: the rest was not read")
        body = body[:MAX_BODY_BYTES]
    tags = body.count(b"<")
    if _may_reopen_many(body, tags):
        body = _remove_open_formatting(body, problems)
    if tags > _MAX_UNCHECKED_TAGS or long_tags.has_slow_tag(body):
        body = limit_depth(body, long_tags.has_too_many_attributes, MAX_TAGS, problems)
    return body


def _may_reopen_many(body: bytes, tags: int) -> bool:
    if tags * tags <= 4 * _MAX_REOPENED:  # two parts of `tags` cannot have a larger product
        return False
    if tags <= _MAX_UNCHECKED_TAGS and _reopens_few(body, tags):
        return False
    formatting = _FORMATTING_TAG.findall(body)
    count = len(formatting)
    if min(count, _max_reopened(formatting)) * (tags - count) <= _MAX_REOPENED:
        return False
    return all(
        (count - len(pattern.findall(body))) * tags > _MAX_REOPENED
        for pattern in (_CLOSED_ELEMENT_PATTERN, _CLOSED_ELEMENT_ANY_CASE)
    )


def _reopens_few(body: bytes, tags: int) -> bool:
    """
    Return True if the formatting tags of `body` certainly reopen at most `_MAX_REOPENED` elements.

    Takes half the time of `_may_reopen_many`, because it assumes that a tag ends at the first `>`.
    That is true where `_WHOLE_TAG` matches; other tags are counted individually.
    """
    starts = _TAG_START_AUTOMATON.find_matches_as_indexes(body)
    if starts and max(starts)[0] >= _FIRST_UPPERCASE:
        return False
    other_tags = tags - len(starts)
    if len(starts) * other_tags <= _MAX_REOPENED:
        return True
    tag_counts = Counter(
        [
            body[start : body.find(b">", end, end + _MAX_FORMATTING_TAG_BYTES) + 1]
            for index, start, end in starts
            if index >= len(FORMATTING)
        ]
    )
    max_reopened = _MAX_EQUAL_TAGS * len(FORMATTING) + sum(
        _MAX_EQUAL_TAGS if _WHOLE_TAG.fullmatch(tag) else count for tag, count in tag_counts.items()
    )
    return max_reopened * other_tags <= _MAX_REOPENED


_WHOLE_TAG = re.compile(rb"<[a-z]+" + _ATTRIBUTES + rb">")
_MAX_FORMATTING_TAG_BYTES = 1_000
_BYTES_AFTER_NAME = (b">", b" ", b"/", b"\t", b"\n", b"\r", b"\f", b"\v")
_TAG_STARTS = [b"<" + name + end for end in _BYTES_AFTER_NAME for name in FORMATTING]
"""The starts of formatting tags; those without attributes come first."""
_FIRST_UPPERCASE = len(_TAG_STARTS)
"""Index of the first string that ends with a capital letter, after which the text is irrelevant."""
_TAG_STARTS += sorted(
    {
        b"<" + name[:index] + name[index : index + 1].upper()
        for name in FORMATTING
        for index in range(len(name))
    }
)
_TAG_START_AUTOMATON = BytesAhoCorasick(_TAG_STARTS, implementation=Implementation.DFA)


def _max_reopened(formatting_tags: list[bytes]) -> int:
    """
    Return how many of these tags the tree builder reopens at once, at most.

    It reopens at most three equal tags, because it drops the earliest ones (13.2.4.3, "Noah's Ark
    clause").
    """
    complete_tags = [tag for tag in formatting_tags if tag.endswith(b">")]
    return _MAX_EQUAL_TAGS * len(set(complete_tags)) + len(formatting_tags) - len(complete_tags)


def _remove_open_formatting(body: bytes, problems: list[str]) -> bytes:
    problems.append("formatting tags omitted: too many are not closed")
    return _ANY_FORMATTING.sub(lambda m: m[0] if m[1] else b" ", body)
