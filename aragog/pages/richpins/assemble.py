"""
Decide what a page is about and build its Rich Pin.

A page carries many items: the site, its owner, breadcrumbs, related things. The subject of the page
is chosen by the item's type, its position (at the top level or as a main entity), whether it names
the page's URL or title, and how many properties it has. Items of the same type in other syntaxes,
and repetitions, are used as additional sources.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from aragog.errors import InvalidUrl
from aragog.pages.richpins.heuristics import bylines, visible_recipe
from aragog.pages.richpins.heuristics.price import shown_price
from aragog.pages.richpins.model import PinType, Product, RichPin
from aragog.pages.richpins.provenance import Candidate
from aragog.pages.richpins.syntax.graph import Node
from aragog.pages.richpins.syntax.sources import Sources, by_trust
from aragog.pages.richpins.types import (
    app,
    article,
    book,
    generic,
    movie,
    place,
    product,
    recipe,
    video,
)
from aragog.pages.richpins.types.other import other_subject, special_subject
from aragog.pages.richpins.values.scalars import text
from aragog.urls.domain import registered_domain

MAX_PROBLEMS = 100


def _product(sources: Sources, nodes: list[Node]) -> Product:
    return product.read(sources, nodes, partial(shown_price, is_product=True))


@dataclass(frozen=True, slots=True)
class _Kind:
    """One pin type: its schema.org types, its weight relative to others, and its reader."""

    name: PinType
    types: frozenset[str]
    weight: int
    read: Callable[[Sources, list[Node]], Any]
    names: tuple[str, ...] = ("name", "headline", "alternatename")
    og_types: tuple[str, ...] = ()
    og_weight: int = 30


_KINDS = (
    _Kind("recipe", recipe.TYPES, 90, recipe.read, og_types=("recipe",)),
    _Kind("product", product.TYPES, 80, _product, og_types=("product", "og:product")),
    _Kind("movie", movie.TYPES, 75, movie.read, og_types=("video.movie", "movie")),
    _Kind("app", app.TYPES, 72, app.read, og_types=("app", "game")),
    _Kind("book", book.TYPES, 70, book.read, og_types=("book", "books.book")),
    _Kind(
        "article", article.TYPES, 60, article.read, ("headline", "name", "alternativeheadline"),
        og_types=("article", "blog"), og_weight=10,
    ),
    _Kind(
        "place", place.TYPES, 50, place.read,
        og_types=("place", "business.business", "restaurant.restaurant", "hotel", "restaurant"),
    ),
    _Kind("video", video.TYPES, 45, video.read, og_types=("video", "video.other", "video.episode")),
)  # fmt: skip

_MAIN_ROLES = frozenset({"mainentity", "mainentityofpage", "about"})
_WORD = re.compile(r"\w+")


def pin_of(sources: Sources) -> RichPin:
    """Return the Rich Pin of a page."""
    kind, nodes = _subject(sources)
    typed: dict[str, Any] = {kind.name: kind.read(sources, nodes)} if kind else {}
    kind, nodes, typed = _with_shown_recipe(sources, kind, nodes, typed)
    if kind is None and (sold := _shown_product(sources)) is not None:
        kind, typed = _KINDS[1], {"product": sold}
    subject = nodes or (other_subject(sources) if kind is None else [])
    is_written = kind is None or kind.name not in {"product", "app", "place"}
    facts = generic.read(
        sources,
        subject,
        name_properties=kind.names if kind else _KINDS[0].names,
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
    if shown_price(sources, product.country_of(sources), is_product=False) is None:
        return None
    found = _product(sources, [])
    return found if found.price is not None else None


def _shown_names(sources: Sources) -> Iterator[Candidate]:
    """Yield authors in the visible text; a product's, app's or place's page names reviewers."""
    return chain(bylines.bylines(sources), bylines.names_behind_by(sources))


def _shown_dates(sources: Sources) -> Iterator[Candidate]:
    return chain(bylines.shown_times(sources), bylines.days_behind_heading(sources))


def _articles_around(sources: Sources, nodes: list[Node]) -> list[Node]:
    """Return the article that contains the subject, unless it is the subject itself."""
    if any(node.is_a(article.TYPES) for node in nodes):
        return []
    found = [node for node in sources.graph.of_types(article.TYPES) if node.all("author")]
    chosen = _chosen(sources, found) if found else None
    return [chosen] if chosen is not None and chosen.parent is None else []


def _with_shown_recipe(
    sources: Sources, kind: _Kind | None, nodes: list[Node], typed: dict[str, Any]
) -> tuple[_Kind | None, list[Node], dict[str, Any]]:
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
    return _KINDS[0], nodes, {"recipe": visible_recipe.completed(sources, marked)}


def _subject(sources: Sources) -> tuple[_Kind | None, list[Node]]:
    """Return the kind of the page and the nodes that describe its subject, most trusted first."""
    og_type = (sources.metas.first("og:type") or "").strip().lower()
    best: tuple[float, _Kind, list[Node]] | None = None
    for kind in _KINDS:
        nodes = [node for node in sources.graph.of_types(kind.types) if node.properties]
        chosen = _chosen(sources, nodes) if nodes else None
        if chosen is None:
            continue
        weight = kind.weight + _position_rank(chosen) + (og_type in kind.og_types) * kind.og_weight
        if kind.name in {"place", "video"} and _follows_another(sources, chosen):
            weight -= 45
        if kind.name == "product" and _is_sold_elsewhere(sources, chosen):
            weight -= 45
        if kind.name == "place" and _is_of_the_site(sources, chosen, og_type):
            weight -= 45
        if kind.name == "recipe":
            weight += 60 if _is_whole_recipe(chosen) else -40
        if best is None or weight > best[0]:
            best = (weight, kind, _behind(chosen, nodes))
    if best is not None and best[0] > _LEAST:
        return best[1], best[2]
    declared = next((kind for kind in _KINDS if og_type in kind.og_types), None)
    return declared if declared is not None else _kind_by_tags(sources, og_type), []


_LEAST = 20


_PRICE_TAGS = (
    "product:price:amount", "product:sale_price:amount", "og:price:amount", "og:price",
    "product:price",
)  # fmt: skip


def _kind_by_tags(sources: Sources, og_type: str) -> _Kind | None:
    by_name = {kind.name: kind for kind in _KINDS}
    if og_type.startswith("product") or any(tag in sources.metas for tag in _PRICE_TAGS):
        return by_name["product"]
    if og_type.startswith("video"):
        return by_name["video"]
    if og_type.startswith(("book", "books")):
        return by_name["book"]
    if "article:published_time" in sources.metas or "citation_title" in sources.metas:
        return by_name["article"]
    if (sources.metas.first("twitter:card") or "").lower() == "app":
        return by_name["app"]
    return None


def _follows_another(sources: Sources, node: Node) -> bool:
    """Return True if another item comes first: a trip before its places, a fair, a course."""
    other = special_subject(sources)
    return other is not None and other.where != node.where and not other.is_a(_OF_A_KIND)


def _is_of_the_site(sources: Sources, place: Node, og_type: str) -> bool:
    """Return True for the business that runs the site, on a page declared as an article."""
    is_article = og_type in {"article", "blog"} or "article:published_time" in sources.metas
    return is_article and not _has_address(place, _addresses_of(sources))


def _is_sold_elsewhere(sources: Sources, node: Node) -> bool:
    """Return True for another site's product on an article's page: an offer beside its text."""
    url = node.first("url")
    here = _addresses_of(sources)
    articles = sources.graph.of_types(article.TYPES)
    if not isinstance(url, str) or not any(_has_address(each, here) for each in articles):
        return False
    try:
        return registered_domain(url) != registered_domain(sources.document.url)
    except InvalidUrl:
        return False


_OF_A_KIND = frozenset(name for kind in _KINDS for name in kind.types)


def _position_rank(node: Node) -> int:
    """Rank how strongly an item's position indicates that it is the page's subject."""
    if node.parent is None:
        return 10 if "mainentityofpage" in node.properties else 0
    if node.role in _MAIN_ROLES and not (node.role == "about" and node.parent.is_a(_OF_A_KIND)):
        return 5
    return -45


def _is_whole_recipe(node: Node) -> bool:
    return bool(node.all("recipeingredient", "ingredients", "recipeinstructions", "instructions"))


def _chosen(sources: Sources, nodes: list[Node]) -> Node | None:
    """Return the item of one type that the page is about, or None for a list of similar items."""
    if len(nodes) == 1:
        return nodes[0]
    here = _addresses_of(sources)
    title = _words(sources.metas.first("og:title") or sources.document.title or "")

    def score(node: Node) -> tuple[float, ...]:
        named = _words(text(node.first("name", "headline")) or "")
        overlap = 2 * len(named & title) / (len(named) + len(title)) if named else 0.0
        says_here = _has_address(node, here)
        whole = min(len(node.properties), 12) / 12
        return (
            (3.0 if says_here else 0.0)
            + 2.0 * overlap
            + _position_rank(node) / 10
            + 1.5 * whole
            + (2.5 if _is_whole_recipe(node) else 0.0),
        )

    return max(nodes[:200], key=score)


def _addresses_of(sources: Sources) -> set[str]:
    document = sources.document
    found = {_bare(document.url)}
    found.update(_bare(link.href) for link in document.link_elements if "canonical" in link.rel)
    og_url = sources.metas.first("og:url")
    return found | ({_bare(og_url)} if og_url else set())


def _bare(url: str) -> str:
    url = url.partition("#")[0].partition("?")[0]
    return url.partition("://")[2].removeprefix("www.").rstrip("/").lower() or url


def _has_address(node: Node, here: set[str]) -> bool:
    addresses = [node.id, node.first("url"), node.first("mainentityofpage")]
    return any(
        _bare(each.id or "" if isinstance(each, Node) else str(each)) in here
        for each in addresses
        if each
    )


def _words(name: str) -> set[str]:
    return set(_WORD.findall(name.lower()))


def _behind(chosen: Node, nodes: list[Node]) -> list[Node]:
    """
    Return `chosen` and its repetitions, most trusted first, then the sole items of their type in
    other syntaxes, whatever their names.
    """
    name = _words(text(chosen.first("name", "headline")) or "")
    same, alone = [chosen], []
    for node in nodes[:200]:
        if node is chosen:
            continue
        other = _words(text(node.first("name", "headline")) or "")
        alike = not name or not other or len(name & other) * 2 > max(len(name), len(other))
        if alike and (node.parent is None or node.role in _MAIN_ROLES):
            same.append(node)
        elif node.syntax != chosen.syntax and sum(n.syntax == node.syntax for n in nodes) == 1:
            alone.append(node)
    return [*by_trust(same), *by_trust(alone)][:_MAX_SOURCES]


_MAX_SOURCES = 8
