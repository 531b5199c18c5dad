"""Build the Rich Pin of a page from its markup, and from its visible text where that has none."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from aragog.pages.richpins.heuristics import bylines, visible_recipe
from aragog.pages.richpins.heuristics.price import shown_price
from aragog.pages.richpins.model import Product, RichPin
from aragog.pages.richpins.provenance import Candidate
from aragog.pages.richpins.subject import KINDS, PinKind, chosen_of, read_product, subject_of
from aragog.pages.richpins.syntax.graph import Node
from aragog.pages.richpins.syntax.sources import Sources
from aragog.pages.richpins.types import (
    app,
    article,
    generic,
    recipe,
)
from aragog.pages.richpins.types.other import other_subject
from aragog.pages.richpins.values.prices import country_of

MAX_PROBLEMS = 100


def pin_of(sources: Sources) -> RichPin:
    """Return the Rich Pin of a page."""
    kind, nodes = subject_of(sources)
    typed: dict[str, Any] = {kind.name: kind.read(sources, nodes)} if kind else {}
    kind, nodes, typed = _with_shown_recipe(sources, kind, nodes, typed)
    if kind is None and (sold := _shown_product(sources)) is not None:
        kind, typed = KINDS[1], {"product": sold}
    subject = nodes or (other_subject(sources) if kind is None else [])
    is_written = kind is None or kind.name not in {"product", "app", "place"}
    facts = generic.read(
        sources,
        subject,
        name_properties=kind.names if kind else KINDS[0].names,
        prefers_shared_image=kind is None
        or kind.name in {"article", "video"}
        or not any(node.is_a(kind.types) for node in nodes),
        shown_names=_shown_names(sources) if is_written else (),
        shown_dates=_shown_dates(sources) if is_written else (),
        around=_articles_around(sources, nodes),
    )
    ledger, document = sources.ledger, sources.document
    return RichPin(
        type=kind.name if kind else "page",
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
        provenance=ledger.provenance,
        conflicts=tuple(ledger.conflicts),
        dropped=tuple(ledger.dropped),
        problems=(*document.problems, *sources.graph.problems)[:MAX_PROBLEMS],
        **typed,
    )


def _shown_product(sources: Sources) -> Product | None:
    """Return the product of a page without markup that shows a price and a way to buy."""
    if shown_price(sources, country_of(sources), is_product=False) is None:
        return None
    pin = read_product(sources, [])
    return pin if pin.price is not None else None


def _shown_names(sources: Sources) -> Iterator[Candidate]:
    """Yield authors in the visible text; a product's, app's or place's page names reviewers."""
    return chain(bylines.bylines(sources), bylines.names_behind_by(sources))


def _shown_dates(sources: Sources) -> Iterator[Candidate]:
    return chain(bylines.shown_times(sources), bylines.days_behind_heading(sources))


def _articles_around(sources: Sources, nodes: list[Node]) -> list[Node]:
    """Return the article that contains the subject, unless it is the subject itself."""
    if any(node.is_a(article.TYPES) for node in nodes):
        return []
    articles = [node for node in sources.graph.of_types(article.TYPES) if node.all("author")]
    chosen = chosen_of(sources, articles) if articles else None
    return [chosen] if chosen is not None and chosen.parent is None else []


def _with_shown_recipe(
    sources: Sources, kind: PinKind | None, nodes: list[Node], typed: dict[str, Any]
) -> tuple[PinKind | None, list[Node], dict[str, Any]]:
    """Complete a recipe from the visible text where the markup lacks all or part of it."""
    if kind is not None and kind.name not in {"recipe", "article"}:
        return kind, nodes, typed
    marked = typed.get("recipe")
    if marked is None:
        shown = visible_recipe.recipe_of(sources)
        if shown is None:
            return kind, nodes, typed
        parts = [node for node in sources.graph.of_types(recipe.TYPES) if node.properties]
        marked = recipe.read(sources, parts[:1])
        nodes = parts[:1] or nodes
    return KINDS[0], nodes, {"recipe": visible_recipe.completed(sources, marked)}
