"""
Write a page so that searches in its bytes find what a reader of the page sees.

Letters written as references (`sk&#322;adniki`) hide words, comments hold text that nobody sees,
and blanks and line ends between elements push apart what stands together. None of this may change
what is found, so searches use these bytes instead of the page's own.
"""

from __future__ import annotations

import html
import re

MAX_REFERENCES = 200_000
"""Maximum number of references that are replaced; one costs about 1 µs."""
_REFERENCE = re.compile(
    rb"&(?:#(?:[0-9]{2,7}|[xX][0-9a-fA-F]{2,6})|(?!(?:amp|lt|gt|quot|nbsp|apos);)[a-zA-Z][a-zA-Z0-9]{1,31});"
)
_COMMENT_END = re.compile(rb"--!?>")
_RAW_ELEMENTS = (b"script", b"style", b"textarea", b"title")
_LEAST_LETTER = 0xA1


def searchable(body: bytes) -> bytes:
    """Return a page in UTF-8 without comments, with letters for references and single blanks."""
    if b"<!--" in body:
        body = _without_comments(body)
    if b"&" in body:
        body = _REFERENCE.sub(_letter, body, MAX_REFERENCES)
    return b" ".join(body.split())


def _letter(match: re.Match[bytes]) -> bytes:
    """Return the letter, digit or sign of another script for a reference; markup stays as it is."""
    reference = match[0]
    text = html.unescape(reference.decode())
    is_plain = len(text) == 1 and (text.isalnum() or ord(text) >= _LEAST_LETTER)
    return text.encode("utf-8", "replace") if is_plain else reference


def _without_comments(body: bytes) -> bytes:
    """Return a page without its comments; scripts and other raw text keep theirs."""
    lowered = body.lower()
    raw = {name: lowered.find(b"<" + name) for name in _RAW_ELEMENTS}
    parts, at, copied = [], 0, 0
    start = body.find(b"<!--")
    while start >= 0:
        if start < at:
            start = body.find(b"<!--", at)
            continue
        name, first = _first_raw(lowered, raw, at)
        if first < start:
            at = _end_of_raw(lowered, first, name)
        else:
            parts.append(body[copied:start])
            copied = at = _end_of_comment(body, start + 4)
    return b"".join([*parts, body[copied:]])


def _first_raw(lowered: bytes, raw: dict[bytes, int], at: int) -> tuple[bytes, int]:
    """Return the next element of raw text; `raw` has those found before, and is kept up to date."""
    for name, place in raw.items():
        if 0 <= place < at:
            raw[name] = lowered.find(b"<" + name, at)
    return min(
        ((name, place) for name, place in raw.items() if place >= 0),
        key=lambda found: found[1],
        default=(b"", len(lowered)),
    )


def _end_of_raw(lowered: bytes, at: int, name: bytes) -> int:
    """Return where the content of an element of raw text ends."""
    end = lowered.find(b"</" + name, at)
    return end if end >= 0 else len(lowered)


def _end_of_comment(body: bytes, at: int) -> int:
    """Return the place behind a comment whose text begins at a place; HTML Standard 13.2.5.43."""
    if body.startswith((b">", b"->"), at):
        return body.index(b">", at) + 1
    end = _COMMENT_END.search(body, at)
    return end.end() if end else len(body)
