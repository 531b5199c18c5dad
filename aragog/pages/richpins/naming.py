"""What a page is called and where: its title without the site's name, and the site's name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from aragog.errors import InvalidUrl
from aragog.pages.richpins import values
from aragog.pages.richpins.graph import Node
from aragog.pages.richpins.provenance import Candidate
from aragog.pages.richpins.sources import Sources
from aragog.urls.domain import registered_domain

_SITE_TYPES = frozenset({"website"})
_TITLE_CUTS = re.compile(r"\s+[|\-–—·•:»│›~]\s+|\s*[|│]\s*")
_NOT_LETTERS = re.compile(r"[\W_]+")


def title_of(
    sources: Sources, nodes: list[Node], properties: tuple[str, ...], site_name: str | None
) -> str | None:
    """The title of a page about `nodes`, whose properties of these names are asked first."""

    def candidates() -> Iterator[Candidate]:
        yield from sources.scalars(nodes, *properties)
        yield from sources.meta("og:title", "twitter:title")
        yield from sources.meta("dc.title", "dcterms.title", "citation_title", "title")
        yield from sources.meta("parsely-title", "sailthru.title")
        heading = sources.heading()
        shown = sources.document.title
        if heading is not None and shown and _bare(heading.value) in _bare(shown):
            yield heading
        if shown:
            yield Candidate(shown, "html", "title")
        if heading is not None:
            yield heading

    title = sources.ledger.pick("page.title", values.text, candidates(), expected="a title")
    where = sources.ledger.provenance.get("page.title")
    if not title or not where:
        return None
    title = without_site(title, {*filter(None, [site_name]), *own_names(sources)})
    if where.syntax in {"json-ld", "microdata", "rdfa"}:
        return title
    heading = sources.heading()
    parts = [part for part in _TITLE_CUTS.split(title) if part]
    if heading is not None and len(parts) > 1 and _bare(heading.value) == _bare(parts[0]):
        return parts[0].strip()
    return title


def without_site(title: str, site_names: set[str]) -> str:
    """A title without the site's name behind or before a dash, bar or dot."""
    cuts = list(_TITLE_CUTS.finditer(title))
    if cuts and site_names:
        sites = {_bare(name) for name in site_names}
        first, last = cuts[0], cuts[-1]
        if _bare(title[last.end() :]) in sites and last.start() > 0:
            return title[: last.start()].strip()
        if _bare(title[: first.start()]) in sites and first.end() < len(title):
            return title[first.end() :].strip()
    return title


def own_names(sources: Sources) -> tuple[str, ...]:
    """The host in the two ways that a site may be called after it: `example`, `example.com`."""
    try:
        domain = registered_domain(sources.document.url)
    except InvalidUrl:
        return ()
    return domain.partition(".")[0], domain


def _bare(text: str) -> str:
    return _NOT_LETTERS.sub("", text.lower().replace("&", "and"))


def site_name_of(sources: Sources, nodes: list[Node]) -> str | None:
    """The name of the site, best as it gives it itself."""

    def candidates() -> Iterator[Candidate]:
        sites = [n for n in sources.graph.of_types(_SITE_TYPES) if n.role in {"", "ispartof"}]
        yield from sources.scalars(sites, "name", "alternatename")
        yield from sources.meta("og:site_name")
        yield from sources.meta("application-name", "apple-mobile-web-app-title")
        yield from sources.scalars(nodes, "publisher")
        yield from sources.meta("dc.publisher", "dcterms.publisher", "publisher")
        yield from sources.meta("al:ios:app_name", "al:android:app_name", "twitter:app:name:iphone")
        yield from _named_like_the_host(sources)

    # A site that calls itself by its address in one place often has a name in another.
    ranked = sorted(candidates(), key=lambda each: _is_address(each.value))
    name = sources.ledger.pick("page.site_name", values.name, ranked, expected="a name")
    if name and len(name) > _MAX_SITE_NAME_CHARS:
        return _without_slogan(sources, name)
    return name


_MAX_SITE_NAME_CHARS = 80
_ADDRESS = re.compile(r"\s*[\w\-]+(?:\.[\w\-]+)+\s*")


def _is_address(value: object) -> bool:
    return isinstance(value, str) and _ADDRESS.fullmatch(value) is not None


def _named_like_the_host(sources: Sources) -> Iterator[Candidate]:
    """The part of a title that is the host's name in other letters: `Bong Eats` of bongeats.com."""
    own = {_bare(name) for name in own_names(sources)}
    for where, text in (
        ("title", sources.document.title),
        ("og:title", sources.metas.first("og:title")),
    ):
        for part in _TITLE_CUTS.split(text or ""):
            if _bare(part) in own:
                yield Candidate(part.strip(), "html", where)


def _without_slogan(sources: Sources, name: str) -> str:
    """Of a sentence the part that is called as the host is, else the first."""
    own = {_bare(each) for each in own_names(sources)}
    parts = [part.strip() for part in _TITLE_CUTS.split(name) if part.strip()]
    return next((part for part in parts if _bare(part) in own), parts[0] if parts else name)
