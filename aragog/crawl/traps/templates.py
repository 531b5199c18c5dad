"""
The templates of a URL: patterns that it shares with other URLs of its host. Pure.

The path and the names of the query form one template, in which marks stand for numbers, dates and
ids (`/calendar/{n}/{n}/?view=`). Words stay as they are at positions with few different words, and
are `*` elsewhere. A path of several parts also belongs to a branch (`/calendar/...`). Each name of
the query is a template of its own for the whole host (`?color=`), because its effect does not
depend on the order. The last word of a path is one, too, if it occurs at several positions
(`**/about`), and so is a path or a query that repeats a part of itself (`{again}`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import NamedTuple
from urllib.parse import urlsplit
from zlib import crc32

AGAIN = "{again}"
"""The template of paths and queries that repeat a part of themselves."""
MAX_PARTS = 12
"""Maximum number of folders, and of query names, that are part of a URL's templates."""
MAX_PAIRED = 5
"""Up to this many names of a query, each pair of names is tried as a meaningless part."""
MAX_WORDS_OF_PLACE, MAX_WORDS = 16, 128
_NUMBER = re.compile(r"v?\d[\d.:_T+-]*Z?", re.IGNORECASE)
_ID = re.compile(
    r"(?=[^\d]*\d)(?:[0-9a-f]{8,}|[0-9a-f-]{32,40}|[\w=~-]{20,}(?<![a-z]))|\(\w\(\w+\)\)+",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"\d+[-_][^\W\d_]+")
_DIGITS = re.compile(r"\d+")
_SLUG = re.compile(r"[^\W\d_]*(?:[-_+][^-_+]+){2,}|.{25,}")


class UrlPart(NamedTuple):
    """
    A part of a URL that may be meaningless: one or two names of its query, the whole query, an id
    in its path, or the last word of its path.
    """

    template: str
    url: str
    """The URL without the part."""

    @property
    def without(self) -> int:
        """The hash of the URL without the part."""
        return hash_of(self.url)


class UrlTemplates(NamedTuple):
    """The templates and parts of a URL."""

    own: int
    """The hash of the URL."""
    templates: tuple[str, ...]
    """The URL's templates, beginning with the path's."""
    branch: str
    """The URL's branch, one of its templates. If the path has one part, the path's template."""
    parts: tuple[UrlPart, ...]
    number: int | None = None
    """The number in the URL if it has exactly one."""
    shape: str = ""
    """
    The path's template without the words at its first two positions (`~/*/page/{n}/`), if more is
    left: the shape of lists in all sections. It is not among the templates.
    """

    @property
    def in_query(self) -> list[UrlPart]:
        """The parts in the query or after a semicolon."""
        return [part for part in self.parts if part.template.startswith(("?", ";"))]


class PathWords:
    """The words in a host's paths that templates keep: those at positions with few words."""

    def __init__(self, words: dict[str, list[str]] | None = None) -> None:
        self.words: dict[str, list[str]] = words or {}
        self._count = sum(map(len, self.words.values()))

    def place(self, before: str, word: str) -> str:
        """The word, or `*`."""
        known = self.words.get(before, [])
        if word in known:
            return word
        if known == _MANY or self._count >= MAX_WORDS:
            return "*"
        if len(known) >= MAX_WORDS_OF_PLACE:
            self._count += 1 - len(known)
            self.words[before] = list(_MANY)
            return "*"
        self.words.setdefault(before, []).append(word)
        self._count += 1
        return word

    def is_at_several_places(self, word: str) -> bool:
        """True if a word is kept at more than one position."""
        return sum(word in known for known in self.words.values()) > 1


_MANY = ["*"]
"""Replaces the words of a position that has too many."""


def templates_of(url: str, words: PathWords) -> UrlTemplates:
    """The templates of a normalized URL. New words are added to `words`."""
    split = urlsplit(url)
    segments = split.path.split("/")[1 : MAX_PARTS + 1]
    path = _path(segments, words)
    first, slash, rest = path[1:].partition("/")
    names = split.query.split("&")[:MAX_PARTS] if split.query else []
    named = [piece.partition("=")[0] for piece in names]
    path += _together(named) if named else ""
    branch = f"/{first}/..." if slash and rest else path
    found = [path, branch, *(f"?{name[:40]}=" for name in named)]
    last = next((s for s in reversed(segments) if s), "")
    if _is_word(last) and words.is_at_several_places(last):
        found.append(f"**/{last[:40]}")
    if (
        _repeats([s for s in segments if s])
        or len(set(named)) < len(named)
        or "amp%3B" in split.query
    ):
        found.append(AGAIN)
    parts = (*_parts_of_query(url, names), *_parts_of_path(url, segments, path))
    number = _number(split.path + split.query)
    own, templates = hash_of(url), tuple(dict.fromkeys(found))
    return UrlTemplates(own, templates, branch, parts, number, _shape(path))


def _shape(path: str) -> str:
    segments = path.split("/")[1:]
    rest = [segment for segment in segments[1:] if segment]
    if not rest or all(segment in ("*", "{n}", "{id}") for segment in rest):
        return ""
    first, name, query = segments[0], segments[1], ""
    if len(segments) == 2:
        name, query = "*", segments[1].partition("?")[2]
        return f"~/{first}/*?{query}" if query else ""
    return "~/" + "/".join(["*", name, *segments[2:]])


def _together(names: Iterable[str]) -> str:
    return "?" + "&".join(f"{name[:20]}=" for name in sorted(set(names)))


def hash_of(text: str) -> int:
    """A 32-bit hash of a URL, or of a URL without a part."""
    return crc32(text.encode())


def _path(segments: list[str], words: PathWords) -> str:
    path = ""
    for at, segment in enumerate(segments):
        is_last = at == len(segments) - 1
        path += "/" + _mark_of(segment, path, words, is_last=is_last)
    return path


def _mark_of(segment: str, before: str, words: PathWords, *, is_last: bool) -> str:
    if not segment:
        return ""
    plain, semicolon, _ = segment.partition(";")
    if semicolon:
        return f"{_mark_of(plain, before, words, is_last=is_last)};"
    if _NUMBER.fullmatch(segment):
        return "{n}"
    if _ID.fullmatch(segment):
        return "{id}"
    stem, dot, ending = segment.rpartition(".")
    if is_last and dot and stem and len(ending) <= 5:
        return f"{_mark_of(stem, before, words, is_last=False)}.{ending}"
    if _SLUG.fullmatch(segment):
        return "*"
    if _NUMBERED.fullmatch(segment):
        return "{n}-*"
    return words.place(before, _DIGITS.sub("{n}", segment)[:40])


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


def _parts_of_query(url: str, names: list[str]) -> Iterator[UrlPart]:
    """Yield one or two names of the query, and the whole query."""
    front, _, query = url.partition("?")
    named = list(dict.fromkeys(piece.partition("=")[0] for piece in names))
    counts = {1, len(named)} | ({2} if len(named) <= MAX_PAIRED else set())
    for count in sorted(counts) if named else ():
        for some in combinations(named, count):
            left = "&".join(p for p in query.split("&") if p.partition("=")[0] not in some)
            template = f"?{some[0][:40]}=" if count == 1 else _together(some)
            yield UrlPart(template, f"{front}?{left}" if left else front)


def _parts_of_path(url: str, segments: list[str], path: str) -> Iterator[UrlPart]:
    """Yield ids, texts after a semicolon, and the last part of the path."""
    for segment in segments:
        plain, mark, _ = segment.partition(";")
        if mark:
            yield UrlPart(";", url.replace(segment, plain, 1))
        elif _ID.fullmatch(segment):
            yield UrlPart(path, url.replace(f"/{segment}", "", 1))
    named = [segment for segment in segments if segment]
    if len(named) > 1 and "?" not in url:
        folder = url[: url.rindex(f"/{named[-1]}")]
        template = f"**/{_DIGITS.sub('{n}', named[-1])[:40]}"
        yield UrlPart(template, f"{folder}/" if url.endswith("/") else folder)
