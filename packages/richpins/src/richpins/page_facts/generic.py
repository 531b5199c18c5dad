"""Read the values common to all page types, such as title, image, authors and dates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from richpins.page_facts import publication
from richpins.page_facts.site_names import find_site_name
from richpins.page_facts.titles import find_title
from richpins.provenance import Candidate
from richpins.structured_data.graph import Node
from richpins.structured_data.sources import Sources
from richpins.values import images, scalars
from richpins.values.dates import AnyDate, Moment
from richpins.values.images import Image
from urlspelling import why_no_page

_WEB_PAGE_TYPES = frozenset(
    {"webpage", "itempage", "articlepage", "aboutpage", "collectionpage", "faqpage", "recipepage"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GenericPage:
    """Values common to all page types."""

    title: str | None
    description: str | None
    canonical_url: str | None
    site_name: str | None
    language: str | None
    authors: tuple[str, ...]
    image: Image | None
    images: tuple[Image, ...]
    published_at: AnyDate | None
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
    visible_authors: Iterable[Candidate],
    visible_dates: Iterable[Candidate],
    visible_update_dates: Iterable[Candidate],
    visible_pictures: Iterable[tuple[Image, Candidate]],
    enclosing_articles: list[Node],
) -> GenericPage:
    """
    Return the values common to all page types, for a page about `nodes` (most trusted first).

    `name_properties` are the properties with the subject's name, best first. The
    `enclosing_articles` contain the subject. With `prefers_shared_image`, the image for sharing
    takes precedence over larger images in the markup, which often show an author or come later in
    the page. The `visible_*` values are from the visible text and are used if the markup has none.
    """
    pages = list(sources.graph.find_nodes(_WEB_PAGE_TYPES))
    site_name = find_site_name(sources, nodes)
    image, candidates = _find_images(sources, nodes, pages, shared_first=prefers_shared_image)
    if image is None:
        image, candidates = _choose_image(sources, iter(visible_pictures))
    if image is None:
        _record_site_icon(sources)
    return GenericPage(
        title=find_title(sources, nodes, name_properties, site_name),
        description=_find_description(sources, nodes, pages),
        canonical_url=_find_canonical_url(sources, nodes),
        site_name=site_name,
        language=_find_language(sources, nodes),
        authors=publication.find_authors(
            sources, nodes, [*pages, *enclosing_articles], site_name, visible=visible_authors
        ),
        image=image,
        images=candidates,
        published_at=publication.published_at(sources, nodes, pages, visible=visible_dates),
        modified_at=publication.modified_at(sources, nodes, pages, visible=visible_update_dates),
        keywords=_find_keywords(sources, nodes),
        icon_url=_find_icon_url(sources),
        oembed_url=_find_oembed_url(sources),
    )


def _find_description(sources: Sources, nodes: list[Node], pages: list[Node]) -> str | None:
    def candidates() -> Iterator[Candidate]:
        yield from sources.scalars(nodes, "description", "abstract", "summary")
        yield from sources.meta("og:description", "description", "twitter:description")
        yield from sources.meta("dc.description", "dcterms.description", "dcterms.abstract")
        yield from sources.scalars(pages, "description")

    return sources.ledger.pick(
        "page.description", scalars.text, candidates(), expected="a description"
    )


def _find_canonical_url(sources: Sources, nodes: list[Node]) -> str | None:
    def candidates() -> Iterator[Candidate]:
        for in_head in (True, False):
            for link in sources.document.link_elements:
                if "canonical" in link.rel and link.in_head is in_head:
                    position = "link[rel=canonical]" if in_head else "link[rel=canonical] in body"
                    yield Candidate(link.href, "html", position)
        yield from sources.meta("og:url")
        yield from sources.scalars(nodes, "mainentityofpage", "url")
        yield from sources.meta("twitter:url")

    return sources.ledger.pick(
        "page.canonical_url", lambda raw: _page_url(sources, raw), candidates(), expected="a URL"
    )


def _page_url(sources: Sources, raw: Any) -> str | None:
    if isinstance(raw, str) and why_no_page(raw, sources.document.url):
        return None
    return _absolute_url(sources, raw)


def _absolute_url(sources: Sources, raw: Any) -> str | None:
    if isinstance(raw, Node):
        raw = raw.id or raw.first("url")
    return sources.absolute(raw) if isinstance(raw, str) and raw.strip() else None


def _find_language(sources: Sources, nodes: list[Node]) -> str | None:
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
        "page.language", scalars.language, candidates(), expected="a language tag"
    )


def _find_images(
    sources: Sources, nodes: list[Node], pages: list[Node], *, shared_first: bool
) -> tuple[Image | None, tuple[Image, ...]]:
    image, candidates = _choose_image(sources, _item_images(sources, nodes))
    shared_images = [image for image, _ in images.from_open_graph(sources)] if shared_first else []
    shared_image = images.best(shared_images)
    if (
        shared_image is not None
        and shared_image is not image
        and images.is_presentable(shared_image)
    ):
        image = shared_image
        sources.ledger.note("page.image", Candidate(shared_image.url, "opengraph", "og:image"))
    if image is None:
        image, candidates = _choose_image(sources, _page_images(sources, pages))
    if image is None or images.is_icon(image):
        visible_image, visible_images = _choose_image(sources, images.visible_images(sources))
        if visible_image is not None:
            image, candidates = visible_image, (*visible_images, *candidates)
    return image, candidates


def _item_images(sources: Sources, nodes: list[Node]) -> Iterator[tuple[Image, Candidate]]:
    for candidate in sources.lists(nodes, "image", "photo", "thumbnailurl", "thumbnail"):
        yield from ((image, candidate) for image in images.read(candidate.value, sources))
    yield from images.from_open_graph(sources)
    for candidate in sources.meta("twitter:image", "twitter:image:src"):
        yield from ((image, candidate) for image in images.read(candidate.value, sources))


def _page_images(sources: Sources, pages: list[Node]) -> Iterator[tuple[Image, Candidate]]:
    for candidate in sources.lists(pages, "primaryimageofpage", "image", "thumbnailurl"):
        yield from ((image, candidate) for image in images.read(candidate.value, sources))
    for link in sources.document.link_elements:
        if "image_src" in link.rel:
            candidate = Candidate(link.href, "html", "link[rel=image_src]")
            yield from ((image, candidate) for image in images.read(link.href, sources))
    for candidate in sources.meta("image", "thumbnail", "parsely-image-url", "sailthru.image.full"):
        yield from ((image, candidate) for image in images.read(candidate.value, sources))


def _record_site_icon(sources: Sources) -> None:
    """Record that the site's icon was dropped. Some pages declare it instead of an image."""
    icons = (
        Candidate(link.href, "html", "link[rel=apple-touch-icon]")
        for link in sources.document.link_elements
        if "apple-touch-icon" in link.rel
    )
    for icon in islice(chain(sources.meta("msapplication-tileimage"), icons), 1):
        sources.ledger.drop("page.image", icon, "doubtful: the site's icon")


def _choose_image(
    sources: Sources, candidates: Iterator[tuple[Image, Candidate]]
) -> tuple[Image | None, tuple[Image, ...]]:
    images_by_url: dict[str, tuple[Image, Candidate]] = {}
    for image, candidate in candidates:
        entry = images_by_url.get(image.url)
        if entry is None:
            images_by_url[image.url] = (image, candidate)
        elif not entry[0].pixels and image.pixels:
            images_by_url[image.url] = (image, entry[1])
    chosen = images.best(image for image, _ in images_by_url.values())
    if chosen is not None:
        sources.ledger.note("page.image", images_by_url[chosen.url][1])
    return chosen, tuple(image for image, _ in images_by_url.values())[: images.MAX_IMAGES]


def _meta_lists(sources: Sources, *names: str) -> Iterator[Candidate]:
    for name in names:
        contents = [candidate.value for candidate in sources.meta(name)]
        if contents:
            yield next(sources.meta(name))._replace(value=contents)


def _find_keywords(sources: Sources, nodes: list[Node]) -> tuple[str, ...]:
    def candidates() -> Iterator[Candidate]:
        yield from sources.lists(nodes, "keywords")
        yield from _meta_lists(sources, "article:tag", "news_keywords", "parsely-tags", "keywords")

    return sources.ledger.pick("page.keywords", scalars.words, candidates()) or ()


def _find_icon_url(sources: Sources) -> str | None:
    candidates = (
        Candidate(link.href, "html", f"link[rel={rel}]")
        for rel, is_alternate in _ICON_RELS
        for link in sources.document.link_elements
        if rel in link.rel and ("alternate" in link.rel) is is_alternate
    )
    return sources.ledger.pick("page.icon_url", sources.absolute, candidates, expected="a URL")


_ICON_RELS = (
    ("icon", False), ("icon", True), ("apple-touch-icon", False),
    ("apple-touch-icon-precomposed", False), ("fluid-icon", False),
)  # fmt: skip
"""The link types of icons, best first, and whether they are alternate icons."""


def _find_oembed_url(sources: Sources) -> str | None:
    candidates = (
        Candidate(link.href, "oembed", "link[rel=alternate]")
        for link in sources.document.link_elements
        if "oembed" in (link.attributes.get("type") or "").lower()
    )
    return sources.ledger.pick("page.oembed_url", sources.absolute, candidates, expected="a URL")
