"""Separate a page's title from the site's name, and find the site's name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from aragog.errors import InvalidUrl
from aragog.pages.richpins.provenance import Candidate
from aragog.pages.richpins.syntax.graph import Node
from aragog.pages.richpins.syntax.sources import Sources
from aragog.pages.richpins.types import app, book, movie
from aragog.pages.richpins.values import scalars
from aragog.urls.domain import registered_domain

_WORKS = app.TYPES | book.TYPES | movie.TYPES
"""Types whose publishers are rarely the site's publisher."""
_SITE_TYPES = frozenset({"website"})
TITLE_CUTS = re.compile(
    r"\s[|\-–—·•:»│›~]\s{1,9}|\s?[|│｜ㅣ]\s?|(?<=[^\x00-\x7f])_|_(?=[^\x00-\x7f])"
)
"""Separators in a title; scripts without spaces have none around the separator."""
_SECTION = re.compile(r"(?<=[^\x00-\x7f])[-_](?:(?![\x00-\x7f])\w){2,4}\Z")
_SECTION_AND_SITE = re.compile(
    r"(?<=[^\x00-\x7f]{6})_(?:(?![\x00-\x7f])\w){2,6}_(?:(?![\x00-\x7f])\w){2,10}\Z"
)
_NOT_LETTERS = re.compile(r"[\W_]+")


def without_site(title: str, site_names: set[str]) -> str:
    """
    Return a title without the site's name before or after a dash, bar or dot.

    Chinese and Korean sites put the section between both: `title_section_site`.
    """
    cuts = list(TITLE_CUTS.finditer(title))
    if cuts and site_names:
        sites = {bare(name) for name in site_names}
        first, last = cuts[0], cuts[-1]
        if bare(title[last.end() :]) in sites and last.start() > 0:
            return _SECTION.sub("", title[: last.start()].strip())
        if bare(title[: first.start()]) in sites and first.end() < len(title):
            return title[first.end() :].strip()
    return _SECTION_AND_SITE.sub("", title)


def own_names(sources: Sources) -> tuple[str, ...]:
    """Return the two forms of the host that may name the site: `example`, `example.com`."""
    try:
        domain = registered_domain(sources.document.url)
    except InvalidUrl:
        return ()
    return domain.partition(".")[0], domain


def bare(text: str) -> str:
    """Return a name without spaces, punctuation and capitals, as it appears in a host name."""
    return _bare_of_short(text) if len(text) <= _MAX_CACHED_CHARS else _bare(text)


def _bare(text: str) -> str:
    return _NOT_LETTERS.sub("", text.lower().replace("&", "and"))


_MAX_CACHED_CHARS = 300
_bare_of_short = lru_cache(256)(_bare)
"""A page's few names are compared with each other again and again."""


def site_name_of(sources: Sources, nodes: list[Node]) -> str | None:
    """Return the name of the site, preferably as the site states it."""

    def candidates() -> Iterator[Candidate]:
        sites = [n for n in sources.graph.of_types(_SITE_TYPES) if n.role in {"", "ispartof"}]
        yield from sources.scalars(sites, "name", "alternatename")
        yield from sources.meta("og:site_name")
        yield from sources.meta("application-name", "apple-mobile-web-app-title")
        yield from sources.scalars([n for n in nodes if not n.is_a(_WORKS)], "publisher")
        yield from sources.meta("dc.publisher", "dcterms.publisher", "publisher")
        yield from sources.meta("al:ios:app_name", "al:android:app_name", "twitter:app:name:iphone")
        yield from _named_like_the_host(sources)

    # A site that uses its address as its name in one place often has a real name in another.
    ranked = sorted(candidates(), key=lambda candidate: _is_address(candidate.value))
    name = sources.ledger.pick(
        "page.site_name",
        scalars.name,
        ranked,
        otherwise=_spelled_like_the_host(sources),
        expected="a name",
    )
    if name and len(name) > _MAX_SITE_NAME_CHARS:
        return _without_slogan(sources, name)
    return _with_blanks(sources, name)


def _with_blanks(sources: Sources, name: str | None) -> str | None:
    """Return `Headbanger's Kitchen` for `Headbangerskitchen`, if the page's tags spell it so."""
    if name and " " not in name:
        for candidate in sources.meta("og:site_name"):
            other = scalars.name(candidate.value)
            if other and " " in other and bare(other) == bare(name):
                sources.ledger.note("page.site_name", candidate)
                return other
    return name


_MAX_SITE_NAME_CHARS = 80
_ADDRESS = re.compile(r"\s*+[\w\-]++(?:\.[\w\-]++)++\s*+")


def _is_address(value: object) -> bool:
    """Return True for an address as machines write it; with capital letters it is a name."""
    return isinstance(value, str) and value.islower() and _ADDRESS.fullmatch(value) is not None


def _named_like_the_host(sources: Sources) -> Iterator[Candidate]:
    """Yield the part of a title that spells the host's name: `Bong Eats` of bongeats.com."""
    own = {bare(name) for name in own_names(sources)}
    for where, text in (
        ("title", sources.document.title),
        ("og:title", sources.metas.first("og:title")),
    ):
        for part in TITLE_CUTS.split(text or ""):
            if bare(part) in own:
                yield Candidate(part.strip(), "html", where)


def _spelled_like_the_host(sources: Sources) -> Iterator[Candidate]:
    """
    Yield the most frequent stand-alone text, in a logo or a link, that spells the host's name.

    It must contain a capital letter or a space. This is the last resort, because it searches the
    start and the end of the page.
    """
    letters = next(iter(own_names(sources)), "")
    if not _MIN_HOST_CHARS <= len(letters) <= _MAX_HOST_CHARS or not letters.isalnum():
        return
    body, lowered = _ends(sources.document.body), _ends(sources.words.lowered)
    host, bare_body = letters.encode(), lowered.translate(None, b" '.&-\t\n")
    if host not in bare_body or not any(mark + host in bare_body for mark in (b">", b'"')):
        return
    spelled = re.compile(rb"[ '.&-]{0,3}".join(re.escape(char.encode()) for char in letters))
    match = Counter(
        name
        for match in islice(spelled.finditer(lowered), _MAX_SPELLED)
        if _stands_alone(lowered, *match.span())
        and not (name := body[match.start() : match.end()].decode()).islower()
        and not name.isupper()
    )
    for name, _ in match.most_common(1):
        yield Candidate(name, "html", "logo or link")


def _stands_alone(body: bytes, start: int, end: int) -> bool:
    """Return True for a complete text between tags, or a complete attribute value."""
    before = body[max(0, start - _MAX_BLANKS) : start].rstrip()[-1:]
    after = body[end : end + _MAX_BLANKS].lstrip()[:1]
    return before != b"" and after != b"" and before in b">\"'" and after in b"<\"'"


def _ends(body: bytes) -> bytes:
    return body[:_MAX_SEARCHED_BYTES] + body[_MAX_SEARCHED_BYTES:][-_MAX_SEARCHED_BYTES:]


_MAX_SPELLED = 500
_MAX_BLANKS = 40
_MAX_SEARCHED_BYTES = 32_768
"""Number of bytes at the start and at the end of a page, where logos and imprints are."""
_MIN_HOST_CHARS = 5
_MAX_HOST_CHARS = 40


def _without_slogan(sources: Sources, name: str) -> str:
    """Return the part of a sentence that is named like the host, else the first part."""
    own = {bare(own_name) for own_name in own_names(sources)}
    parts = [part.strip() for part in TITLE_CUTS.split(name) if part.strip()]
    return next((part for part in parts if bare(part) in own), parts[0] if parts else name)
