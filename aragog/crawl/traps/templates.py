"""
The templates of a URL: patterns that it shares with other URLs of its host. Pure (no I/O).

The path and the query's parameter names form one template, with placeholders for numbers, dates and
IDs (`/calendar/{n}/{n}/?view=`). At positions with few different words, a template keeps the words;
elsewhere it has `*`. The template that keeps only the first word is the URL's *section*. A query
may begin with a path (`/index.php?/tag/{n}`). A path of several parts also belongs to a branch
(`/calendar/...`). Three kinds of templates apply to the whole host: each parameter name
(`?color=`), because its effect does not depend on its position; the last word of a path, if the
word occurs at several positions (`**/about`); and paths or queries that repeat a part of themselves
(`{again}`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple
from urllib.parse import urlsplit
from zlib import crc32

from aragog.crawl.traps.site_functions import function_of

AGAIN = "{again}"
"""The template of URLs whose path or query repeats a part of itself."""
FROM_WITHIN = " <-"
"""Suffix of a record's name. The record is for a template's pages that only their section links
to."""
MAX_PARTS = 12
"""Maximum number of folders, and of parameter names, that a URL's templates use."""
MAX_PAIRED = 5
"""If a query has at most this many names, each pair of them is tried as a meaningless part."""
MAX_WORDS_OF_PLACE, MAX_WORDS = 16, 128
MAX_CACHED = 20_000
MAX_FRONT, MAX_RUN = 4, 3
MIN_SLASHES = 3
"""The number of slashes in a URL with one folder."""
_NUMBER = re.compile(r"v?\d[\d.:_T+-]*Z?", re.IGNORECASE)
_ID = re.compile(
    r"(?=[^\d]*\d)(?:[0-9a-f]{8,}|[0-9a-f-]{32,40}|[\w=~-]{20,}(?<![a-z]))|\(\w\(\w+\)\)+",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"\d+(?:[-_][^\W_]+)+")
_WORD = re.compile(r"[A-Za-z][A-Za-z_-]{0,19}")
_LISTED = re.compile(r"[,|;+]|%2C|%7C|%3B|%20")
_JOINED = re.compile(r"[,|+]|%2C|%7C")
_LIST = "{list}"
_DIGITS = re.compile(r"\d+")
_LAST_NUMBER = re.compile(r"(?<![0-9A-Za-z%])(\d+)(?=\D*$)")
_SLUG = re.compile(r"[^\W\d_]*(?:[-_+][^-_+]+){2,}|.{25,}")


class UrlPart(NamedTuple):
    """
    A part of a URL that may not matter to the page: one or two query parameters, the whole query,
    an ID in the path, or the first or last words of the path.
    """

    template: str
    url: str
    """The URL without the part."""

    @property
    def is_of_path(self) -> bool:
        """True if the part consists of the first folders of the path, or of the last one."""
        return "**" in self.template

    @property
    def without(self) -> int:
        """Return the hash of the URL without the part."""
        return hash_of(self.url)


@dataclass(frozen=True)
class UrlTemplates:
    """The templates and parts of a URL."""

    url: str
    own: int
    """The hash of the URL."""
    levels: tuple[str, ...]
    """
    Templates of the path and the query, most general first: without words (`/*/{n}?page=`), with
    the first word (`/news/{n}?page=`), and with all kept words and values.
    """
    marks: tuple[str, ...]
    """Templates for the whole host: parameter names, the last word of the path, and `AGAIN`."""
    branch: str
    """The template of all URLs with the same first part of the path (`/news/...`)."""
    path: str
    """The template of the path."""

    @cached_property
    def parts(self) -> tuple[UrlPart, ...]:
        """The parts that may not change the page."""
        split = urlsplit(self.url)
        names = split.query.split("&")[:MAX_PARTS] if split.query else []
        segments = split.path.split("/")[1 : MAX_PARTS + 1]
        return (
            *_parts_of_query(self.url, names),
            *_parts_of_path(self.url, segments, self.path),
        )

    @cached_property
    def endings(self) -> tuple[int, ...]:
        """Hashes of the URLs that have this path without its first folders."""
        split = urlsplit(self.url)
        base = f"{split.scheme}://{split.netloc}"
        folders = split.path.split("/")[1 : MAX_PARTS + 1]
        ends = ["/".join(folders[at:]) for at in range(1, len(folders))]
        return tuple(hash_of(f"{base}/{end}") for end in ends if end)

    @cached_property
    def parents(self) -> frozenset[int]:
        """Hashes of the URLs of the folders above this one, with and without a final slash."""
        above, found = self.url.partition("?")[0].rstrip("/"), set[int]()
        while above.count("/") > MIN_SLASHES:
            above = above.rpartition("/")[0]
            found |= {hash_of(above), hash_of(f"{above}/")}
        return frozenset(found)

    @cached_property
    def function(self) -> str:
        """The word in the URL that names a function of the site, such as `edit`; "" if none."""
        return function_of(self.url)

    @cached_property
    def section(self) -> str:
        """The template with only the first word of the path (see `levels`)."""
        return self.levels[1] if len(self.levels) > 1 else self.levels[0]

    @property
    def from_within(self) -> str:
        """The name of the record for the template's pages that only their own section links to."""
        return self.finest + FROM_WITHIN

    @cached_property
    def finest(self) -> str:
        """The most precise template in `levels`."""
        return self.levels[-1]

    @cached_property
    def templates(self) -> tuple[str, ...]:
        """All names under which an operator may open or close this URL, most precise first."""
        return tuple(dict.fromkeys((*self.levels[::-1], self.branch, *self.marks)))


class PathWords:
    """The words that a host's templates keep: those at positions with few different words."""

    def __init__(self, words: dict[str, list[str]] | None = None) -> None:
        self.words: dict[str, list[str]] = words or {}
        self._count = sum(map(len, self.words.values()))
        self.cache: dict[str, UrlTemplates] = {}
        """The templates of recent URLs. Cleared when a new word changes templates."""

    def place(self, before: str, word: str) -> str:
        """Return the word if templates keep it after the path `before`, otherwise `*`."""
        known = self.words.get(before, [])
        if word in known:
            return word
        if known == _MANY or self._count >= MAX_WORDS:
            return "*"
        if len(known) >= MAX_WORDS_OF_PLACE:
            self._count += 1 - len(known)
            self.words[before] = list(_MANY)
            self.cache.clear()
            return "*"
        self.words.setdefault(before, []).append(word)
        self.cache.clear()
        self._count += 1
        return word

    def is_at_several_places(self, word: str) -> bool:
        """True if a word is kept at more than one position."""
        return sum(word in known for known in self.words.values()) > 1


_MANY = ["*"]
"""Stands for the words of a position that has too many different ones."""


def templates_of(url: str, words: PathWords) -> UrlTemplates:
    """Return the templates of a normalized URL. Adds new words to `words`."""
    found = words.cache.get(url)
    if found is None:
        found = _templates_of(url, words)
        if len(words.cache) >= MAX_CACHED:
            words.cache.clear()
        words.cache[url] = found
    return found


def _templates_of(url: str, words: PathWords) -> UrlTemplates:
    split = urlsplit(url)
    route, names = _route_and_names(split.query)
    segments = (split.path + route).split("/")[1 : MAX_PARTS + 1]
    path = _path(segments, words)
    named = [piece.partition("=")[0] for piece in names]
    first, slash, rest = path[1:].partition("/")
    branch = f"/{first}/..." if slash and rest else path
    folds = [_folded(segment) for segment in path.split("/")[1:]]
    general = "".join(f"/{fold}" for fold in _without_runs(folds))
    section = "".join(f"/{fold}" for fold in (first, *_without_runs(folds[1:])))
    query_part = _together(names, path, None) if names else ""
    finest = path + (_together(names, path, words) if names else "")
    levels = tuple(dict.fromkeys((general + query_part, section + query_part, finest)))
    marks = [f"?{name[:40]}=" for name in dict.fromkeys(named)]
    last = next((s for s in reversed(segments) if s), "")
    if rest and _is_word(last) and words.is_at_several_places(last):
        marks.append(f"**/{last[:40]}")
    if (
        _repeats([s for s in segments if s])
        or len(set(named)) < len(named)
        or "amp%3B" in split.query
    ):
        marks.append(AGAIN)
    return UrlTemplates(url, hash_of(url), levels, tuple(marks), branch, path)


def _route_and_names(query: str) -> tuple[str, list[str]]:
    """
    Return the path at the start of a query (`index.php?/category/7`), with its question mark, and
    the query's other parameters with their values.
    """
    pieces = query.split("&")[:MAX_PARTS] if query else []
    if pieces and "/" in pieces[0] and "=" not in pieces[0]:
        return f"?/{pieces[0].lstrip('/')}", pieces[1:]
    return "", pieces


def _without_runs(folds: list[str]) -> list[str]:
    """Return the folders of a path, with runs of equal ones cut to `MAX_RUN`."""
    return [fold for at, fold in enumerate(folds) if folds[at - MAX_RUN : at] != [fold] * MAX_RUN]


def _folded(segment: str) -> str:
    """Return a segment of a template without its word."""
    if not segment or segment.startswith("{"):
        return segment
    stem, dot, ending = segment.rpartition(".")
    return f"*.{ending}" if dot and stem else "*"


def _value(name: str, value: str, path: str, words: PathWords | None) -> str:
    """
    Return a parameter's value if it has few values, as actions do; `_LIST` for a list; otherwise
    "".
    """
    if _LISTED.search(value):
        return _LIST
    if words is None or not _WORD.fullmatch(value):
        return ""
    kept = words.place(f"{path}?{name}", value)
    return "" if kept == "*" else kept


def _together(names: Iterable[str], path: str, words: PathWords | None) -> str:
    pieces = {}
    for piece in names:
        name, _, value = piece.partition("=")
        pieces[name[:20]] = _value(name, value, path, words)
    return "?" + "&".join(f"{name}={value}" for name, value in sorted(pieces.items()))


def series_of(url: str) -> tuple[int, int | None]:
    """Return a hash of the URL without its last number, and that number (up to 12 digits)."""
    found = _LAST_NUMBER.search(url, url.find("/", 8))
    if found is None or len(found[1]) > 12:
        return 0, None
    return hash_of(f"{url[: found.start(1)]}#{url[found.end(1) :]}"), int(found[1])


def hash_of(text: str) -> int:
    """Return a 32-bit hash of a URL, or of a URL without one of its parts."""
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
    if _JOINED.search(segment):
        return _LIST
    if _NUMBERED.fullmatch(segment):
        return "{n}-*"
    if _SLUG.fullmatch(segment):
        return "*"
    return words.place(before, _DIGITS.sub("{n}", segment)[:40])


def _is_word(segment: str) -> bool:
    return not (
        _NUMBER.fullmatch(segment) or _ID.fullmatch(segment) or _SLUG.fullmatch(segment)
    ) and not (_DIGITS.search(segment))


def _repeats(segments: list[str]) -> bool:
    words = [segment for segment in segments if _is_word(segment)]
    return len(set(words)) < len(words)


def _parts_of_query(url: str, names: list[str]) -> Iterator[UrlPart]:
    """Yield each query parameter, each pair if there are few, and the whole query."""
    front, _, query = url.partition("?")
    named = list(dict.fromkeys(piece.partition("=")[0] for piece in names))
    counts = {1, len(named)} | ({2} if len(named) <= MAX_PAIRED else set())
    for count in sorted(counts) if named else ():
        for some in combinations(named, count):
            left = "&".join(p for p in query.split("&") if p.partition("=")[0] not in some)
            template = f"?{some[0][:40]}=" if count == 1 else _together(some, "", None)
            yield UrlPart(template, f"{front}?{left}" if left else front)


def _parts_of_path(url: str, segments: list[str], path: str) -> Iterator[UrlPart]:
    """Yield IDs in the path, texts after a semicolon, and the last and first parts of the path."""
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
    yield from _parts_of_front(url, named)


def _parts_of_front(url: str, named: list[str]) -> Iterator[UrlPart]:
    """Yield the first parts of the path, which wrong relative links and language switches add."""
    scheme, _, rest = url.partition("://")
    host, _, path = rest.partition("/")
    for _ in named[1 : MAX_FRONT + 1]:
        first, _, path = path.partition("/")
        yield UrlPart(f"/{first[:40]}/**", f"{scheme}://{host}/{path}")
