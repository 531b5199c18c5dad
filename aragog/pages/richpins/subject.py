"""
Decide what a page is about: its type, and the items that describe its subject.

A page carries many items: the site, its owner, breadcrumbs, related things. The subject of the page
is chosen by the item's type, its position (at the top level or as a main entity), whether it names
the page's URL or title, and how many properties it has. Items of the same type in other syntaxes,
and repetitions, are used as additional sources.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from aragog.errors import InvalidUrl
from aragog.pages.richpins.heuristics import identifiers
from aragog.pages.richpins.heuristics.price import shown_price
from aragog.pages.richpins.heuristics.stock import shown_stock
from aragog.pages.richpins.model import PinType, Product
from aragog.pages.richpins.syntax.graph import Node
from aragog.pages.richpins.syntax.sources import Sources, by_trust
from aragog.pages.richpins.types import (
    app,
    article,
    book,
    movie,
    place,
    product,
    recipe,
    video,
)
from aragog.pages.richpins.types.entries import (
    addresses_of,
    has_address,
    is_entry,
    words,
    words_of,
)
from aragog.pages.richpins.types.other import special_subject
from aragog.urls.domain import registered_domain


def read_product(sources: Sources, nodes: list[Node]) -> Product:
    """Return the product of `nodes`, with the price in the visible text if they have none."""
    return product.read(sources, nodes, _SHOWN)


_SHOWN = product.Shown(
    price=partial(shown_price, is_product=True),
    brand=identifiers.brands,
    sku=identifiers.skus,
    gtin=identifiers.gtins,
    mpn=identifiers.mpns,
    stock=shown_stock,
)


@dataclass(frozen=True, slots=True)
class PinKind:
    """One pin type: its schema.org types, its weight relative to others, and its reader."""

    name: PinType
    types: frozenset[str]
    weight: int
    read: Callable[[Sources, list[Node]], Any]
    names: tuple[str, ...] = ("name", "headline", "alternatename")
    og_types: tuple[str, ...] = ()
    og_weight: int = 30


KINDS = (
    PinKind("recipe", recipe.TYPES, 90, recipe.read, og_types=("recipe",)),
    PinKind("product", product.TYPES, 80, read_product, og_types=("product", "og:product")),
    PinKind("movie", movie.TYPES, 75, movie.read, og_types=("video.movie", "movie")),
    PinKind("app", app.TYPES, 72, app.read, og_types=("app", "game")),
    PinKind("book", book.TYPES, 70, book.read, og_types=("book", "books.book")),
    PinKind(
        "article", article.TYPES, 60, article.read, ("headline", "name", "alternativeheadline"),
        og_types=("article", "blog"), og_weight=10,
    ),
    PinKind(
        "place", place.TYPES, 50, place.read,
        og_types=("place", "business.business", "restaurant.restaurant", "hotel", "restaurant"),
    ),
    PinKind(
        "video", video.TYPES, 45, video.read,
        og_types=("video", "video.other", "video.episode"),
    ),
)  # fmt: skip


_MAIN_ROLES = frozenset({"mainentity", "mainentityofpage", "about"})


def subject_of(sources: Sources) -> tuple[PinKind | None, list[Node]]:
    """Return the kind of the page and the nodes that describe its subject, most trusted first."""
    og_type = (sources.metas.first("og:type") or "").strip().lower()
    best: tuple[float, PinKind, list[Node]] | None = None
    for kind in KINDS:
        nodes = [node for node in sources.graph.of_types(kind.types) if node.properties]
        chosen = chosen_of(sources, nodes) if nodes else None
        if chosen is None or _is_listed(sources, kind, chosen, nodes):
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
    declared = next((kind for kind in KINDS if og_type in kind.og_types), None)
    return declared if declared is not None else _kind_by_tags(sources, og_type), []


_LEAST = 20


_PRICE_TAGS = (
    "product:price:amount", "product:sale_price:amount", "og:price:amount", "og:price",
    "product:price",
)  # fmt: skip


def _kind_by_tags(sources: Sources, og_type: str) -> PinKind | None:
    by_name = {kind.name: kind for kind in KINDS}
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
    return is_article and not has_address(place, addresses_of(sources))


def _is_sold_elsewhere(sources: Sources, node: Node) -> bool:
    """Return True for another site's product on an article's page: an offer next to its text."""
    url = node.first("url")
    addresses = addresses_of(sources)
    articles = sources.graph.of_types(article.TYPES)
    if not isinstance(url, str) or not any(has_address(article, addresses) for article in articles):
        return False
    try:
        return registered_domain(url) != registered_domain(sources.document.url)
    except InvalidUrl:
        return False


_OF_A_KIND = frozenset(name for kind in KINDS for name in kind.types)


def _position_rank(node: Node) -> int:
    """Rank how strongly an item's position indicates that it is the page's subject."""
    if node.parent is None:
        return 10 if "mainentityofpage" in node.properties else 0
    if node.role in _MAIN_ROLES and not (node.role == "about" and node.parent.is_a(_OF_A_KIND)):
        return 5
    return -45


def _is_whole_recipe(node: Node) -> bool:
    return bool(node.all("recipeingredient", "ingredients", "recipeinstructions", "instructions"))


def _is_listed(sources: Sources, kind: PinKind, chosen: Node, nodes: list[Node]) -> bool:
    """Return True for an entry of a list, unless the page's tags declare a page of this kind."""
    og_type = (sources.metas.first("og:type") or "").strip().lower()
    if og_type in kind.og_types or _kind_by_tags(sources, og_type) is kind:
        return False
    return not _is_whole_recipe(chosen) and is_entry(sources, chosen, nodes)


def chosen_of(sources: Sources, nodes: list[Node]) -> Node:
    """Return the item of one type that the page is about; `nodes` has at least one."""
    if len(nodes) == 1:
        return nodes[0]
    addresses = addresses_of(sources)
    title = words(sources.metas.first("og:title") or sources.document.title or "")

    def score(node: Node) -> tuple[float, ...]:
        named = words_of(node)
        overlap = 2 * len(named & title) / (len(named) + len(title)) if named else 0.0
        says_here = has_address(node, addresses)
        whole = min(len(node.properties), 12) / 12
        return (
            (3.0 if says_here else 0.0)
            + 2.0 * overlap
            + _position_rank(node) / 10
            + 1.5 * whole
            + (2.5 if _is_whole_recipe(node) else 0.0),
        )

    return max(nodes[:200], key=score)


def _behind(chosen: Node, nodes: list[Node]) -> list[Node]:
    """
    Return `chosen` and its repetitions, most trusted first, then the sole items of their type in
    other syntaxes, whatever their names.
    """
    name = words_of(chosen)
    same, alone = [chosen], []
    for node in nodes[:200]:
        if node is chosen:
            continue
        other = words_of(node)
        alike = not name or not other or len(name & other) * 2 > max(len(name), len(other))
        if alike and (node.parent is None or node.role in _MAIN_ROLES):
            same.append(node)
        elif node.syntax != chosen.syntax and sum(n.syntax == node.syntax for n in nodes) == 1:
            alone.append(node)
    return [*by_trust(same), *by_trust(alone)][:_MAX_SOURCES]


_MAX_SOURCES = 8
