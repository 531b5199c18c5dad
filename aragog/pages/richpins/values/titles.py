"""What a page is called and where: its title without the site's name, and the site's name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from aragog.errors import InvalidUrl
from aragog.pages.richpins.provenance import Candidate
from aragog.pages.richpins.syntax.graph import Node
from aragog.pages.richpins.syntax.sources import Sources
from aragog.pages.richpins.types import app, book, movie
from aragog.pages.richpins.values import scalars
from aragog.urls.domain import registered_domain

_WORKS = app.TYPES | book.TYPES | movie.TYPES
"""Their publishers are rarely the site's."""
_SITE_TYPES = frozenset({"website"})
TITLE_CUTS = re.compile(
    r"\s[|\-–—·•:»│›~]\s{1,9}|\s?[|│｜ㅣ]\s?|(?<=[^\x00-\x7f])_|_(?=[^\x00-\x7f])"
)
"""Where a title is put together; texts of scripts without blanks have none around the mark."""
_NOT_LETTERS = re.compile(r"[\W_]+")


def without_site(title: str, site_names: set[str]) -> str:
    """A title without the site's name behind or before a dash, bar or dot."""
    cuts = list(TITLE_CUTS.finditer(title))
    if cuts and site_names:
        sites = {bare(name) for name in site_names}
        first, last = cuts[0], cuts[-1]
        if bare(title[last.end() :]) in sites and last.start() > 0:
            return title[: last.start()].strip()
        if bare(title[: first.start()]) in sites and first.end() < len(title):
            return title[first.end() :].strip()
    return title


def own_names(sources: Sources) -> tuple[str, ...]:
    """The host in the two ways that a site may be called after it: `example`, `example.com`."""
    try:
        domain = registered_domain(sources.document.url)
    except InvalidUrl:
        return ()
    return domain.partition(".")[0], domain


def bare(text: str) -> str:
    """A name without blanks, marks and capitals: what remains of it in a host name."""
    return _NOT_LETTERS.sub("", text.lower().replace("&", "and"))


def site_name_of(sources: Sources, nodes: list[Node]) -> str | None:
    """The name of the site, best as it gives it itself."""

    def candidates() -> Iterator[Candidate]:
        sites = [n for n in sources.graph.of_types(_SITE_TYPES) if n.role in {"", "ispartof"}]
        yield from sources.scalars(sites, "name", "alternatename")
        yield from sources.meta("og:site_name")
        yield from sources.meta("application-name", "apple-mobile-web-app-title")
        yield from sources.scalars([n for n in nodes if not n.is_a(_WORKS)], "publisher")
        yield from sources.meta("dc.publisher", "dcterms.publisher", "publisher")
        yield from sources.meta("al:ios:app_name", "al:android:app_name", "twitter:app:name:iphone")
        yield from _named_like_the_host(sources)

    # A site that calls itself by its address in one place often has a name in another.
    ranked = sorted(candidates(), key=lambda each: _is_address(each.value))
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
    """`Headbanger's Kitchen` for `Headbangerskitchen`, if the page's tags spell it so."""
    if name and " " not in name:
        for each in sources.meta("og:site_name"):
            other = scalars.name(each.value)
            if other and " " in other and bare(other) == bare(name):
                sources.ledger.note("page.site_name", each)
                return other
    return name


_MAX_SITE_NAME_CHARS = 80
_ADDRESS = re.compile(r"\s*+[\w\-]++(?:\.[\w\-]++)++\s*+")


def _is_address(value: object) -> bool:
    """True for an address as machines write it; with capital letters it is a name."""
    return isinstance(value, str) and value.islower() and _ADDRESS.fullmatch(value) is not None


def _named_like_the_host(sources: Sources) -> Iterator[Candidate]:
    """The part of a title that is the host's name in other letters: `Bong Eats` of bongeats.com."""
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
    What the page shows alone, in a logo or a link, that has the letters of the host's name.

    Only with a capital letter or a blank in it, the most frequent one; asked when all else is
    silent, because the start and the end of the page are searched.
    """
    letters = next(iter(own_names(sources)), "")
    if not _MIN_HOST_CHARS <= len(letters) <= _MAX_HOST_CHARS or not letters.isalnum():
        return
    whole = sources.document.body
    body = whole[:_MAX_SEARCHED_BYTES] + whole[_MAX_SEARCHED_BYTES:][-_MAX_SEARCHED_BYTES:]
    lowered, host = body.lower(), letters.encode()
    bare_body = lowered.translate(None, b" '.&-\t\n")
    if not any(mark + host in bare_body for mark in (b">", b'"')):
        return
    spelled = re.compile(rb"[ '.&-]{0,3}".join(re.escape(char.encode()) for char in letters))
    found = Counter(
        name
        for each in islice(spelled.finditer(lowered), _MAX_SPELLED)
        if _stands_alone(lowered, *each.span())
        and not (name := body[each.start() : each.end()].decode()).islower()
        and not name.isupper()
    )
    for name, _ in found.most_common(1):
        yield Candidate(name, "html", "logo or link")


def _stands_alone(body: bytes, start: int, end: int) -> bool:
    """True for a whole text between tags, or a whole value of an attribute."""
    before = body[max(0, start - _MAX_BLANKS) : start].rstrip()[-1:]
    after = body[end : end + _MAX_BLANKS].lstrip()[:1]
    return before != b"" and after != b"" and before in b">\"'" and after in b"<\"'"


_MAX_SPELLED = 500
_MAX_BLANKS = 40
_MAX_SEARCHED_BYTES = 32_768
"""At the start and at the end of a page, where logos and imprints stand."""
_MIN_HOST_CHARS = 5
_MAX_HOST_CHARS = 40


def _without_slogan(sources: Sources, name: str) -> str:
    """Of a sentence the part that is called as the host is, else the first."""
    own = {bare(each) for each in own_names(sources)}
    parts = [part.strip() for part in TITLE_CUTS.split(name) if part.strip()]
    return next((part for part in parts if bare(part) in own), parts[0] if parts else name)
