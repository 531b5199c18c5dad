"""
Find values of a product that stand next to a label: `Brand: Pot & Co`, `<th>EAN</th><td>…`.

These are used only where the markup of a product has no such value. A label is the start of a
piece of text, and ends with a colon or with its element; the value is the next piece of text in the
same row. Different values for one label mean that the page shows several products: none is used.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from aragog.pages.document import normalize_space
from aragog.pages.richpins.provenance import Candidate
from aragog.pages.richpins.syntax.sources import Sources

_MAX_CHARS = 60
_VALUE = re.compile(
    rb"\.?\s{0,20}+(?P<colon>:?)(?P<tags>(?:\s{1,300}+(?!\s)|:|&nbsp;|<[^<>]{1,400}+>){0,24}+)"
    rb"(?P<value>[^<>\s:][^<>]{0,200}+)<"
)
_BEFORE = re.compile(rb">(?:\s|&nbsp;){0,60}\Z")
_MAX_BYTES_BEFORE = 80
_TAG = re.compile(rb"<(/?)([a-z][a-z0-9]{0,15})")
_OTHER_ROW = frozenset(
    {
        b"tr", b"li", b"ul", b"ol", b"table", b"form", b"input", b"select", b"option",
        b"button", b"script", b"style", b"template", b"h1", b"h2", b"h3", b"section",
        b"article", b"nav", b"aside", b"footer", b"img", b"svg", b"textarea", b"iframe", b"main",
    }
)  # fmt: skip
"""Elements between a label and a text that belongs to something else."""
_LABELS = frozenset({b"dt", b"label"})
_MAX_CLOSED = 3
_EMPTY = re.compile(rb"<(td|dd|div|span|p|b|strong)(?:\s[^<>]{0,400})?>\s{0,60}</\1>")


def labeled(sources: Sources, labels: tuple[str, ...]) -> Iterator[Candidate]:
    """
    Yield the values next to each of `labels`, label by label.

    They stand after the first h1. A label that has different values yields none.
    """
    for label in labels:
        values: dict[str, str] = {}
        for at in sources.shop_texts.places(label):
            value = _value_at(sources, at, len(label.encode()))
            if value is not None:
                values.setdefault(value.casefold(), value)
        if len(values) == 1:
            yield Candidate(next(iter(values.values())), "html", f"next to {label!r}")


def _value_at(sources: Sources, at: int, length: int) -> str | None:
    lowered, body = sources.words.lowered, sources.document.body
    if not _BEFORE.search(lowered[max(0, at - _MAX_BYTES_BEFORE) : at]):
        return None
    match = _VALUE.match(lowered, at + length)
    if match is None or not _is_same_row(match["tags"], is_said=bool(match["colon"])):
        return None
    raw = body[match.start("value") : match.end("value")].decode("utf-8", "replace")
    text = normalize_space(html.unescape(raw)).strip(" :-–")
    return text if 0 < len(text) <= _MAX_CHARS and not _NO_VALUE.search(text) else None


_NO_VALUE = re.compile(
    r"[{}$%\\\"`:;=]|\A[\W_]*+\Z|\A(?:n/?a|none|null|undefined|unknown)\Z", re.IGNORECASE
)


def _is_same_row(tags: bytes, *, is_said: bool) -> bool:
    """Return True if the tags between a label and a text keep them together."""
    if not (is_said or b"<" in tags) or _EMPTY.search(tags):
        return False
    tag_matches = _TAG.findall(tags)
    opened = [name for closes, name in tag_matches if not closes]
    cells = sum(name in {b"td", b"dd", b"th"} for name in opened)
    closed = sum(bool(closes) for closes, _ in tag_matches)
    others = _OTHER_ROW.intersection(name for _, name in tag_matches) or _LABELS.intersection(
        opened
    )
    return cells <= 1 and closed <= _MAX_CLOSED and not others
