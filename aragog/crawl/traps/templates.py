"""
The templates of a URL: what it has in common with other URLs of its host. Pure.

The path is one template, in which numbers, dates and ids are folded (`/calendar/{n}/{n}/`). Words
stay as they are at a place that has few of them, and are `*` otherwise. Each name of the query is a
template of its own for all of the host (`?color=`), because what it brings does not depend on the
order, and so are its names together. So is the last word of a path that is at several places
(`**/about`), and a path or a query that repeats a part of itself (`{again}`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlsplit
from zlib import crc32

AGAIN = "{again}"
"""The template of paths and queries that repeat a part of themselves."""
MOST_PARTS = 12
"""Further folders or names of a URL are left out of its templates."""
MOST_WORDS_OF_PLACE, MOST_WORDS = 16, 128
_NUMBER = re.compile(r"v?\d[\d.:_T+-]*Z?", re.IGNORECASE)
_ID = re.compile(
    r"(?=[^\d]*\d)(?:[0-9a-f]{8,}|[0-9a-f-]{32,40}|[\w=~-]{20,}(?<![a-z]))|\(\w\(\w+\)\)+",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d+")
_SLUG = re.compile(r"[^\W\d_]*(?:[-_+][^-_+]+){2,}|.{25,}")


class UrlPart(NamedTuple):
    """A part of a URL that may be without meaning: a name of its query, or an id in its path."""

    template: str
    without: int
    """The hash of the URL without it."""


class UrlTemplates(NamedTuple):
    """What a URL has in common with others."""

    own: int
    """The hash of the URL."""
    templates: tuple[str, ...]
    """Its templates, that of the path first."""
    parts: tuple[UrlPart, ...]
    number: int | None = None
    """The number in it, if it has only one."""


class PathWords:
    """The words of a host's paths that stand for themselves: those of places that have few."""

    def __init__(self, words: dict[str, list[str]] | None = None) -> None:
        self.words: dict[str, list[str]] = words or {}
        self._count = sum(map(len, self.words.values()))

    def place(self, before: str, word: str) -> str:
        """The word, or `*`."""
        known = self.words.get(before, [])
        if word in known:
            return word
        if known == _MANY or self._count >= MOST_WORDS:
            return "*"
        if len(known) >= MOST_WORDS_OF_PLACE:
            self._count += 1 - len(known)
            self.words[before] = list(_MANY)
            return "*"
        self.words.setdefault(before, []).append(word)
        self._count += 1
        return word

    def is_at_several_places(self, word: str) -> bool:
        """Whether a word stands for itself at more than one place."""
        return sum(word in known for known in self.words.values()) > 1


_MANY = ["*"]
"""Stands for the words of a place that has too many."""


def templates_of(url: str, words: PathWords) -> UrlTemplates:
    """The templates of a normalized URL; new words are added to `words`."""
    split = urlsplit(url)
    segments = split.path.split("/")[1 : MOST_PARTS + 1]
    path = _path(segments, words)
    found = [path]
    names = split.query.split("&")[:MOST_PARTS] if split.query else []
    named = [piece.partition("=")[0] for piece in names]
    found += [f"?{name[:40]}=" for name in dict.fromkeys(named)]
    if len(set(named)) > 1:
        found.append("?" + "&".join(f"{name[:20]}=" for name in sorted(set(named))))
    last = next((s for s in reversed(segments) if s), "")
    if _is_word(last) and words.is_at_several_places(last):
        found.append(f"**/{last[:40]}")
    if (
        _repeats([s for s in segments if s])
        or len(set(named)) < len(named)
        or "amp%3B" in split.query
    ):
        found.append(AGAIN)
    parts = tuple(_parts(url, segments, names, path))
    return UrlTemplates(hash_of(url), tuple(found), parts, _number(split.path + split.query))


def hash_of(text: str) -> int:
    """32 bits of a URL or of a URL without a part."""
    return crc32(text.encode())


def _path(segments: list[str], words: PathWords) -> str:
    path = ""
    for at, segment in enumerate(segments):
        is_last = at == len(segments) - 1
        path += "/" + _folded(segment, path, words, is_last=is_last)
    return path


def _folded(segment: str, before: str, words: PathWords, *, is_last: bool) -> str:
    if not segment:
        return ""
    if _NUMBER.fullmatch(segment):
        return "{n}"
    if _ID.fullmatch(segment):
        return "{id}"
    stem, dot, ending = segment.rpartition(".")
    if is_last and dot and stem and len(ending) <= 5:
        return f"{_folded(stem, before, words, is_last=False)}.{ending}"
    folded = _DIGITS.sub("{n}", segment)
    if _SLUG.fullmatch(segment):
        return "*"
    return words.place(before, folded[:40])


def _number(text: str) -> int | None:
    found = _DIGITS.findall(text)
    return int(found[0]) if len(found) == 1 and len(found[0]) <= 12 else None


def _is_word(segment: str) -> bool:
    return not (
        _NUMBER.fullmatch(segment) or _ID.fullmatch(segment) or _SLUG.fullmatch(segment)
    ) and not (_DIGITS.search(segment))


def _repeats(segments: list[str]) -> bool:
    words = [segment for segment in segments if _is_word(segment)]
    return len(set(words)) < len(words)


def _parts(url: str, segments: list[str], names: list[str], path: str) -> Iterator[UrlPart]:
    front, _, query = url.partition("?")
    for name in dict.fromkeys(piece.partition("=")[0] for piece in names):
        left = "&".join(piece for piece in query.split("&") if piece.partition("=")[0] != name)
        yield UrlPart(f"?{name[:40]}=", hash_of(f"{front}?{left}" if left else front))
    for segment in segments:
        if _ID.fullmatch(segment):
            yield UrlPart(path, hash_of(url.replace(f"/{segment}", "", 1)))
