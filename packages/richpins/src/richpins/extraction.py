"""
Extract typed metadata from a page, with the provenance of each value. No I/O.

    pin = extract(body, url)
    pin.type, pin.title, pin.recipe.total_minutes, pin.provenance["recipe.total_minutes"]

`structured_data` reads markup and meta elements into one graph of items. `_subject` decides which
of them the page is about. `page_types` reads these with the parsers in `values`, and uses
`visible_text` for values that the markup lacks. `page_facts` reads what any page may have: title,
image, authors, dates. RULES.md describes the rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from richpins._subject import choose_item, find_other_subject, find_subject
from richpins.document import Document, parse
from richpins.page_facts import generic
from richpins.page_types import PageType, app, article, page_types
from richpins.provenance import Candidate
from richpins.rich_pins import RichPin
from richpins.structured_data.graph import Node
from richpins.structured_data.sources import Sources
from richpins.values.images import Image
from richpins.visible_text import bylines, pictures, shown_days

MAX_PROBLEMS = 100
_ARTICLE_NAMES = ("name", "headline", "alternatename")
"""The properties that name a subject without a page type, best first."""


def extract(html: bytes, url: str, content_type: str | None = None) -> RichPin:
    """
    Return the Rich Pin of a page.

    Broken markup never raises; it yields fewer values and is reported in `problems`. `content_type`
    is the header as sent; `url` is the page's URL.
    """
    return extract_from(parse(html, url=url, content_type=content_type))


def extract_from(document: Document) -> RichPin:
    """Return the Rich Pin of a parsed page, without parsing it again."""
    sources = Sources(document)
    page_type, nodes, details = _read_subject(sources)
    subject = nodes or (find_other_subject(sources) if page_type is None else [])
    facts = generic.read(
        sources,
        subject,
        name_properties=page_type.name_properties if page_type else _ARTICLE_NAMES,
        prefers_shared_image=page_type is None
        or page_type.shared_image_first
        or not any(node.is_a(page_type.schema_types) for node in nodes),
        visible_authors=_visible_authors(sources, page_type),
        visible_dates=_visible_dates(sources, page_type),
        visible_update_dates=_visible_update_dates(sources, page_type),
        visible_pictures=_visible_pictures(sources, page_type),
        enclosing_articles=_enclosing_articles(sources, nodes),
    )
    ledger = sources.ledger
    return RichPin(
        type=page_type.name if page_type else "page",
        types=subject[0].types if subject else (),
        url=document.url,
        title=facts.title,
        description=facts.description,
        canonical_url=facts.canonical_url,
        site_name=facts.site_name,
        language=facts.language,
        authors=facts.authors,
        image=facts.image,
        images=facts.images,
        published_at=facts.published_at,
        modified_at=facts.modified_at,
        keywords=facts.keywords,
        icon_url=facts.icon_url,
        oembed_url=facts.oembed_url,
        app_links=app.links(sources, []),
        details=details,
        provenance=ledger.provenance,
        alternatives=ledger.alternatives(),
        problems=(*document.problems, *sources.graph.problems)[:MAX_PROBLEMS],
    )


def _read_subject(sources: Sources) -> tuple[PageType | None, list[Node], Any]:
    page_type, nodes = find_subject(sources)
    details = page_type.read(sources, nodes) if page_type else None
    for other in page_types():
        if other.from_text is not None and (result := other.from_text(sources, page_type)):
            return other, result[0] or nodes, result[1]
    return page_type, nodes, details


def _visible_authors(sources: Sources, page_type: PageType | None) -> Iterator[Candidate]:
    """Yield the authors in the visible text, unless names there may belong to reviewers."""
    if page_type is None or page_type.credits_authors:
        yield from chain(
            bylines.bylines(sources),
            bylines.names_after_by(sources),
            bylines.names_after_a_caption(sources),
            bylines.names_below_heading(sources),
        )


def _visible_dates(sources: Sources, page_type: PageType | None) -> Iterator[Candidate]:
    if page_type is None or page_type.credits_authors:
        yield from chain(
            shown_days.visible_times(sources),
            shown_days.dates_before_heading(sources),
            shown_days.dates_after_heading(sources),
            shown_days.visible_times(sources, in_other_articles=True),
        )


def _visible_update_dates(sources: Sources, page_type: PageType | None) -> Iterator[Candidate]:
    if page_type is None or page_type.credits_authors:
        yield from shown_days.update_dates_after_heading(sources)


def _visible_pictures(
    sources: Sources, page_type: PageType | None
) -> Iterator[tuple[Image, Candidate]]:
    if page_type is article.PAGE_TYPE:
        yield from pictures.pictures(sources)


def _enclosing_articles(sources: Sources, nodes: list[Node]) -> list[Node]:
    """Return the article around the subject, unless the subject is that article."""
    if any(node.is_a(article.TYPES) for node in nodes):
        return []
    articles = [node for node in sources.graph.find_nodes(article.TYPES) if node.all("author")]
    chosen = choose_item(sources, article.PAGE_TYPE, articles) if articles else None
    return [chosen] if chosen is not None and chosen.parent is None else []
