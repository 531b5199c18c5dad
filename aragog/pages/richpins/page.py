"""What every page has, whatever it is about: title, image, who wrote it and when."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from selectolax.lexbor import LexborNode

from aragog.errors import InvalidUrl
from aragog.pages.document import squeeze
from aragog.pages.richpins import dates, images, values
from aragog.pages.richpins.dates import Moment
from aragog.pages.richpins.graph import Node
from aragog.pages.richpins.images import Image
from aragog.pages.richpins.provenance import Candidate
from aragog.pages.richpins.sources import Sources
from aragog.urls.domain import registered_domain

_SITE_TYPES = frozenset({"website"})
_PAGE_TYPES = frozenset(
    {"webpage", "itempage", "articlepage", "aboutpage", "collectionpage", "faqpage", "recipepage"}
)
_TITLE_CUTS = re.compile(r"\s+[|\-–—·•:»│›~]\s+|\s*[|│]\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Facts common to all types."""

    title: str | None
    description: str | None
    canonical_url: str | None
    site_name: str | None
    language: str | None
    authors: tuple[str, ...]
    image: Image | None
    images: tuple[Image, ...]
    published_at: Moment | None
    modified_at: Moment | None
    keywords: tuple[str, ...]
    icon_url: str | None
    oembed_url: str | None


def read(
    sources: Sources,
    nodes: list[Node],
    *,
    name_properties: tuple[str, ...],
    prefers_shared_image: bool,
) -> Page:
    """
    The common facts of a page about `nodes` (most trusted first; none for an unmarked page).

    `name_properties` are the properties that name such a thing, best first. With
    `prefers_shared_image` the image that the page offers for sharing goes before larger ones of the
    markup: those of an article are as often its author or a later picture.
    """
    pages = list(sources.graph.of_types(_PAGE_TYPES))
    site_name = _site_name(sources, nodes)
    image, candidates = _images(sources, nodes, pages, shared_first=prefers_shared_image)
    return Page(
        title=_title(sources, nodes, name_properties, site_name),
        description=_description(sources, nodes, pages),
        canonical_url=_canonical_url(sources, nodes),
        site_name=site_name,
        language=_language(sources, nodes),
        authors=_authors(sources, nodes, pages),
        image=image,
        images=candidates,
        published_at=_published_at(sources, nodes, pages),
        modified_at=_modified_at(sources, nodes, pages),
        keywords=_keywords(sources, nodes),
        icon_url=_link(sources, "icon", "icon_url"),
        oembed_url=_oembed(sources),
    )


def _title(
    sources: Sources, nodes: list[Node], properties: tuple[str, ...], site_name: str | None
) -> str | None:
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


_NOT_LETTERS = re.compile(r"[\W_]+")


def _description(sources: Sources, nodes: list[Node], pages: list[Node]) -> str | None:
    def candidates() -> Iterator[Candidate]:
        yield from sources.scalars(nodes, "description", "abstract", "summary")
        yield from sources.meta("og:description", "description", "twitter:description")
        yield from sources.meta("dc.description", "dcterms.description", "dcterms.abstract")
        yield from sources.scalars(pages, "description")

    return sources.ledger.pick(
        "page.description", values.text, candidates(), expected="a description"
    )


def _canonical_url(sources: Sources, nodes: list[Node]) -> str | None:
    def candidates() -> Iterator[Candidate]:
        for in_head in (True, False):
            for link in sources.document.link_elements:
                if "canonical" in link.rel and link.in_head is in_head:
                    where = "link[rel=canonical]" if in_head else "link[rel=canonical] in body"
                    yield Candidate(link.href, "html", where)
        yield from sources.meta("og:url")
        yield from sources.scalars(nodes, "mainentityofpage", "url")
        yield from sources.meta("twitter:url")

    return sources.ledger.pick(
        "page.canonical_url", lambda raw: _url(sources, raw), candidates(), expected="a URL"
    )


def _url(sources: Sources, raw: Any) -> str | None:
    if isinstance(raw, Node):
        raw = raw.id or raw.first("url")
    return sources.absolute(raw) if isinstance(raw, str) and raw.strip() else None


def _site_name(sources: Sources, nodes: list[Node]) -> str | None:
    def candidates() -> Iterator[Candidate]:
        sites = [n for n in sources.graph.of_types(_SITE_TYPES) if n.role in {"", "ispartof"}]
        yield from sources.scalars(sites, "name", "alternatename")
        yield from sources.meta("og:site_name")
        yield from sources.meta("application-name", "apple-mobile-web-app-title")
        yield from sources.scalars(nodes, "publisher")
        yield from sources.meta("dc.publisher", "dcterms.publisher", "publisher")
        yield from sources.meta("al:ios:app_name", "al:android:app_name", "twitter:app:name:iphone")
        yield from _named_like_the_host(sources)

    name = sources.ledger.pick("page.site_name", values.name, candidates(), expected="a name")
    return _without_slogan(sources, name) if name else None


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
    """`Baker by Nature - A Baking Blog` is called as its host is, without the rest."""
    own = {_bare(each) for each in own_names(sources)}
    parts = [part.strip() for part in _TITLE_CUTS.split(name) if part.strip()]
    return next((part for part in parts if _bare(part) in own), name)


def _language(sources: Sources, nodes: list[Node]) -> str | None:
    def candidates() -> Iterator[Candidate]:
        html = sources.document.html_attributes
        for attribute in ("lang", "xml:lang"):
            if html.get(attribute):
                yield Candidate(html[attribute], "html", f"html[{attribute}]")
        for attributes in sources.document.metas:
            if (attributes.get("http-equiv") or "").lower() == "content-language":
                yield Candidate(attributes.get("content") or "", "meta", "content-language")
        yield from sources.scalars(nodes, "inlanguage", "language")
        yield from sources.meta("og:locale", "dc.language", "dcterms.language", "language")

    return sources.ledger.pick(
        "page.language", values.language, candidates(), expected="a language tag"
    )


def _authors(sources: Sources, nodes: list[Node], pages: list[Node]) -> tuple[str, ...]:
    def candidates() -> Iterator[Candidate]:
        yield from sources.lists(nodes, "author", "creator", "contributor")
        yield from _metas_at_once(
            sources, "author", "article:author", "dc.creator", "dcterms.creator",
            "citation_author", "parsely-author", "sailthru.author", "byl", "article:author_name",
            "og:article:author", "book:author", "twitter:data1" if _labelled(sources) else "author",
        )  # fmt: skip
        yield from sources.lists(pages, "author", "creator")

    return (
        sources.ledger.pick(
            "page.authors",
            _person_names,
            candidates(),
            otherwise=_bylines(sources),
            expected="a name",
        )
        or ()
    )


def _bylines(sources: Sources) -> Iterator[Candidate]:
    """Names in elements that are called author or byline, outside of comments."""
    for count, node in enumerate(sources.document.tree.css(_BYLINES)):
        if count >= _MAX_BYLINES:
            return
        text = squeeze(node.text())
        named = _BYLINE.fullmatch(text) if len(text) <= _TOO_LONG_FOR_A_NAME else None
        if named and not _is_in_comments(node):
            yield Candidate(named[1], "html", f"{node.tag} of class or rel author")


_BYLINES = '[rel~="author"],[class*="byline" i],[class*="author" i]'
_MAX_BYLINES = 30
_BYLINE = re.compile(
    r"(?i:(?:written |posted |published |recipe )?by:?\s+|(?:von|por|par|di|door|av)\s+)?"
    r"([^\W\d_a-z][\w.’'\-]*(?:\s+(?:(?:de|van|von|der|la|del|di|da|el|al|bin|ter|and)\s+)*"
    r"[^\W\d_a-z][\w.’'\-]*){1,3})(?:\s*[|,–·•\-].*)?"
)


def _is_in_comments(node: LexborNode) -> bool:
    at: LexborNode | None = node
    for _ in range(8):
        if at is None or at.tag in {"body", "html"}:
            return False
        attributes = at.attributes
        named = f"{attributes.get('class') or ''} {attributes.get('id') or ''}".lower()
        if "comment" in named or "review" in named or "related" in named:
            return True
        at = at.parent
    return False


def _labelled(sources: Sources) -> bool:
    label = sources.metas.first("twitter:label1") or ""
    return label.strip().lower() in {"written by", "author", "by"}


_TOO_LONG_FOR_A_NAME = 80


def _person_names(raw: Any) -> tuple[str, ...] | None:
    found = values.names(raw)
    if found is None:
        return None
    return tuple(name for name in found if len(name) <= _TOO_LONG_FOR_A_NAME) or None


def _metas_at_once(sources: Sources, *names: str) -> Iterator[Candidate]:
    for name in names:
        contents = [each.value for each in sources.meta(name)]
        if contents:
            yield next(sources.meta(name))._replace(value=contents)


def _images(
    sources: Sources, nodes: list[Node], pages: list[Node], *, shared_first: bool
) -> tuple[Image | None, tuple[Image, ...]]:
    image, everything = _best_of(sources, _offered(sources, nodes))
    shared = [each for each, _ in images.from_open_graph(sources)] if shared_first else []
    own = images.best(shared)
    if own is not None and own is not image and images.is_presentable(own):
        image = own
        sources.ledger.note("page.image", Candidate(own.url, "opengraph", "og:image"))
    if image is None:
        image, everything = _best_of(sources, _offered_by_the_page(sources, pages))
    return image, everything


def _offered(sources: Sources, nodes: list[Node]) -> Iterator[tuple[Image, Candidate]]:
    for found in sources.lists(nodes, "image", "photo", "thumbnailurl", "thumbnail"):
        yield from ((image, found) for image in images.read(found.value, sources))
    yield from images.from_open_graph(sources)
    for found in sources.meta("twitter:image", "twitter:image:src"):
        yield from ((image, found) for image in images.read(found.value, sources))


def _offered_by_the_page(sources: Sources, pages: list[Node]) -> Iterator[tuple[Image, Candidate]]:
    for found in sources.lists(pages, "primaryimageofpage", "image", "thumbnailurl"):
        yield from ((image, found) for image in images.read(found.value, sources))
    for link in sources.document.link_elements:
        if "image_src" in link.rel:
            found = Candidate(link.href, "html", "link[rel=image_src]")
            yield from ((image, found) for image in images.read(link.href, sources))
    for found in sources.meta("image", "thumbnail", "msapplication-tileimage"):
        yield from ((image, found) for image in images.read(found.value, sources))


def _best_of(
    sources: Sources, offered: Iterator[tuple[Image, Candidate]]
) -> tuple[Image | None, tuple[Image, ...]]:
    everything: dict[str, tuple[Image, Candidate]] = {}
    for image, found in offered:
        known = everything.get(image.url)
        if known is None:
            everything[image.url] = (image, found)
        elif not known[0].pixels and image.pixels:
            everything[image.url] = (image, known[1])
    chosen = images.best(image for image, _ in everything.values())
    if chosen is not None:
        sources.ledger.note("page.image", everything[chosen.url][1])
    return chosen, tuple(image for image, _ in everything.values())[: images.MAX_IMAGES]


def _published_at(sources: Sources, nodes: list[Node], pages: list[Node]) -> Moment | None:
    def candidates() -> Iterator[Candidate]:
        yield from sources.scalars(nodes, "datepublished", "datecreated", "uploaddate")
        yield from sources.meta(
            "article:published_time", "og:article:published_time", "article:published",
            "og:published_time", "datepublished", "date", "pubdate", "publishdate",
            "publish_date", "parsely-pub-date", "sailthru.date", "dc.date.issued", "dc.date",
            "dcterms.created", "dcterms.date", "dcterms.issued", "dc.date.created",
            "citation_publication_date", "citation_date", "cxenseparse:recs:publishtime",
            "article.published", "last-modified", "rnews:datepublished", "created", "ptime",
            "video:release_date", "book:release_date", "published_date", "release_date",
        )  # fmt: skip
        yield from sources.scalars(pages, "datepublished")

    return sources.ledger.pick(
        "page.published_at",
        dates.moment,
        candidates(),
        otherwise=_shown_times(sources),
        expected="a date",
    )


def _shown_times(sources: Sources) -> Iterator[Candidate]:
    for node in sources.document.tree.css("time[datetime]")[:3]:
        yield Candidate(node.attributes.get("datetime") or "", "html", "time[datetime]")


def _modified_at(sources: Sources, nodes: list[Node], pages: list[Node]) -> Moment | None:
    def candidates() -> Iterator[Candidate]:
        yield from sources.scalars(nodes, "datemodified")
        yield from sources.meta(
            "article:modified_time", "og:updated_time", "dcterms.modified", "dc.date.modified",
            "last-modified", "revision_date",
        )  # fmt: skip
        yield from sources.scalars(pages, "datemodified")

    return sources.ledger.pick("page.modified_at", dates.moment, candidates(), expected="a date")


def _keywords(sources: Sources, nodes: list[Node]) -> tuple[str, ...]:
    def candidates() -> Iterator[Candidate]:
        yield from sources.lists(nodes, "keywords")
        yield from _metas_at_once(sources, "article:tag", "news_keywords", "keywords")

    return sources.ledger.pick("page.keywords", values.words, candidates()) or ()


def _link(sources: Sources, rel: str, name: str) -> str | None:
    found = (
        Candidate(link.href, "html", f"link[rel={rel}]")
        for link in sources.document.link_elements
        if rel in link.rel
    )
    return sources.ledger.pick(f"page.{name}", sources.absolute, found, expected="a URL")


def _oembed(sources: Sources) -> str | None:
    found = (
        Candidate(link.href, "oembed", "link[rel=alternate]")
        for link in sources.document.link_elements
        if "oembed" in (link.attributes.get("type") or "").lower()
    )
    return sources.ledger.pick("page.oembed_url", sources.absolute, found, expected="a URL")
