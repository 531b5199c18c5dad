"""
Decide what a page is about: its type, and the items that describe its subject.

Pages declare many items: the site, its owner, breadcrumbs, related items. The subject is chosen by
type, position, number of properties, and whether it has the page's URL or title. Repetitions of the
subject, and items of its type in other syntaxes, are further sources.

If the subject is anything else (an event, a person, or the page itself), the type is `page`, and
`types` contains the item's type.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from richpins._list_entries import (
    find_page_addresses,
    has_address,
    is_list_entry,
    item_name_words,
    words,
)
from richpins.page_facts.site_names import normalize_name
from richpins.page_types import PageType, page_types
from richpins.structured_data.graph import Node
from richpins.structured_data.sources import Sources, sort_by_trust
from richpins.values.scalars import text

_MIN_WEIGHT = 20
_FOLLOWING_ITEM_PENALTY = -45
"""Added to the weight of a place or video if another item comes first."""
_MAIN_ROLES = frozenset({"mainentity", "mainentityofpage", "about"})
_SEPARATE_ROLES = frozenset(
    {"review", "reviews", "comment", "isrelatedto", "issimilarto", "isaccessoryorsparepartfor"}
)
"""Items in these roles are rarely the subject."""
_MAX_SOURCES = 8
_MAX_EXAMINED = 200
# Weights for choosing among several items of a type. Each multiplies a score from 0 to 1. An item's
# position adds between -4.5 and 1.
_PAGE_URL_WEIGHT = 3.0
_COMPLETE_WEIGHT = 2.5
_TITLE_WEIGHT = 2.0
_PROPERTIES_WEIGHT = 1.5
_MAX_COUNTED_PROPERTIES = 12

_PART_TYPES = frozenset(
    "website breadcrumblist imageobject listitem itemlist sitenavigationelement wpheader wpfooter "
    "wpsidebar wpadblock webpageelement searchaction readaction contactpoint postaladdress "
    "aggregaterating rating comment speakablespecification entrypoint categorization "
    "nutritioninformation offer aggregateoffer".split()
)
"""Types that occur on pages about any subject."""
_PERSON_TYPES = frozenset({"person", "profilepage"})
_ORGANIZATION_TYPES = frozenset(
    "organization corporation newsmediaorganization ngo onlinebusiness onlinestore brand "
    "governmentorganization performinggroup musicgroup sportsteam sportsorganization".split()
)
_OWNER_TYPES = _PERSON_TYPES | _ORGANIZATION_TYPES
_WEB_PAGE_TYPES = frozenset(
    "webpage aboutpage collectionpage contactpage faqpage itempage medicalwebpage profilepage "
    "qapage checkoutpage searchresultspage realestatelisting".split()
)
_COMMON_TYPES = _PART_TYPES | _OWNER_TYPES | _WEB_PAGE_TYPES
_MAIN_ENTITY_ROLES = frozenset({"mainentity", "mainentityofpage"})
_CREATOR_ROLES = frozenset({"author", "creator", "contributor", "publisher"})


def find_subject(sources: Sources) -> tuple[PageType | None, list[Node]]:
    """Return the type of the page and the items that describe its subject, most trusted first."""
    og_type = (sources.metas.first("og:type") or "").strip().lower()
    best: tuple[float, PageType, list[Node]] | None = None
    for page_type in page_types() if sources.graph.nodes else ():
        nodes = [n for n in sources.graph.find_nodes(page_type.schema_types) if n.properties]
        chosen = choose_item(sources, page_type, nodes) if nodes else None
        if chosen is None or _is_listed(sources, page_type, chosen, nodes):
            continue
        weight = _calculate_weight(sources, page_type, chosen, og_type)
        if best is None or weight > best[0]:
            best = (weight, page_type, _add_repeated_items(chosen, nodes))
    if best is not None and best[0] > _MIN_WEIGHT:
        return best[1], best[2]
    declared_type = (
        next((page_type for page_type in page_types() if og_type in page_type.og_types), None)
        if og_type
        else None
    )
    return declared_type if declared_type is not None else _find_declared_type(sources, og_type), []


def _calculate_weight(sources: Sources, page_type: PageType, chosen: Node, og_type: str) -> int:
    weight = page_type.weight + _position_weight(chosen)
    if og_type in page_type.og_types:
        weight += page_type.og_weight
    if page_type.yields_to_others and _follows_other_item(sources, chosen):
        weight += _FOLLOWING_ITEM_PENALTY
    return weight + page_type.adjustment(sources, chosen, og_type)


def _find_declared_type(sources: Sources, og_type: str) -> PageType | None:
    declared_type = max(
        page_types(), key=lambda page_type: page_type.declaration_weight(sources, og_type)
    )
    return declared_type if declared_type.declaration_weight(sources, og_type) else None


def _follows_other_item(sources: Sources, node: Node) -> bool:
    """Return True if an item of another type comes first, such as the trip before its places."""
    other = next(_find_uncommon_items(sources), None)
    return (
        other is not None and other.position != node.position and not other.is_a(_page_type_names())
    )


@cache
def _page_type_names() -> frozenset[str]:
    return frozenset(name for page_type in page_types() for name in page_type.schema_types)


def _position_weight(node: Node) -> int:
    if node.parent is None and node.role in _SEPARATE_ROLES:
        return -45
    if node.parent is None:
        return 10 if "mainentityofpage" in node.properties else 0
    if node.role in _MAIN_ROLES and not (
        node.role == "about" and node.parent.is_a(_page_type_names())
    ):
        return 5
    return -45


def _is_listed(sources: Sources, page_type: PageType, chosen: Node, nodes: list[Node]) -> bool:
    """Return True for an entry of a list, unless the page's tags declare a page of this type."""
    og_type = (sources.metas.first("og:type") or "").strip().lower()
    if og_type in page_type.og_types or _find_declared_type(sources, og_type) is page_type:
        return False
    return not page_type.is_complete(chosen) and is_list_entry(sources, chosen, nodes)


def choose_item(sources: Sources, page_type: PageType, nodes: list[Node]) -> Node:
    """Return the item of `page_type` that the page is about. `nodes` must not be empty."""
    if len(nodes) == 1:
        return nodes[0]
    addresses = find_page_addresses(sources)
    title_words = words(sources.metas.first("og:title") or sources.document.title or "")

    def score(node: Node) -> float:
        name_words = item_name_words(node)
        overlap = (
            2 * len(name_words & title_words) / (len(name_words) + len(title_words))
            if name_words
            else 0.0
        )
        return (
            (_PAGE_URL_WEIGHT if has_address(node, addresses) else 0.0)
            + _TITLE_WEIGHT * overlap
            + _position_weight(node) / 10
            + _PROPERTIES_WEIGHT
            * min(len(node.properties), _MAX_COUNTED_PROPERTIES)
            / _MAX_COUNTED_PROPERTIES
            + (_COMPLETE_WEIGHT if page_type.is_complete(node) else 0.0)
        )

    return max(nodes[:_MAX_EXAMINED], key=score)


def _add_repeated_items(chosen: Node, nodes: list[Node]) -> list[Node]:
    """
    Return `chosen` and its repetitions, most trusted first, then single items in other syntaxes.

    A single item is the only one of this type in its syntax. Its name may differ.
    """
    name = item_name_words(chosen)
    repetitions, single_items = [chosen], []
    for node in nodes[:_MAX_EXAMINED]:
        if node is chosen:
            continue
        other_words = item_name_words(node)
        is_similar = (
            not name
            or not other_words
            or len(name & other_words) * 2 > max(len(name), len(other_words))
        )
        if is_similar and (node.parent is None or node.role in _MAIN_ROLES):
            repetitions.append(node)
        elif node.syntax != chosen.syntax and sum(n.syntax == node.syntax for n in nodes) == 1:
            single_items.append(node)
    return [*sort_by_trust(repetitions), *sort_by_trust(single_items)][:_MAX_SOURCES]


def find_other_subject(sources: Sources) -> list[Node]:
    """
    Return the item that the page is about, or an empty list.

    The candidates are, in order: the first item of an uncommon type, a page's main entity, the
    person or organization that the page is named after, and the page's description of itself.
    """
    if not sources.graph.nodes:
        return []
    for candidates in (
        _find_uncommon_items(sources),
        _find_main_entities(sources),
        _find_page_owners(sources),
        _find_page_items(sources),
    ):
        node = next(candidates, None)
        if node is not None:
            return [node]
    return []


def _find_uncommon_items(sources: Sources) -> Iterator[Node]:
    """Yield one item of each uncommon type, unless the item is a list entry."""
    nodes_by_types: dict[tuple[str, ...], list[Node]] = {}
    top_items = sources.graph.roots
    for node in [node for node in top_items if _is_top_level_item(node)] or top_items:
        if node.properties and node.types and node.role not in _CREATOR_ROLES:
            nodes_by_types.setdefault(node.types, []).append(node)
    addresses = find_page_addresses(sources)
    for nodes in nodes_by_types.values():
        if nodes[0].is_a(_COMMON_TYPES):
            continue
        chosen = next((node for node in nodes if has_address(node, addresses)), nodes[0])
        if not is_list_entry(sources, chosen, nodes):
            yield chosen


def _is_top_level_item(node: Node) -> bool:
    """
    Return False for a property without its item, such as a review without its product.

    The HTML Standard (5.2.3) does not count it as a top-level item.
    """
    return not node.role or node.role in _MAIN_ROLES


def _find_main_entities(sources: Sources) -> Iterator[Node]:
    for node in sources.graph.find_nodes(_WEB_PAGE_TYPES):
        for value in node.all("mainentity"):
            if isinstance(value, Node) and value.properties and not value.is_a(_PART_TYPES):
                yield value
    yield from (
        node
        for node in sources.graph.find_nodes(_OWNER_TYPES)
        if node.role in _MAIN_ENTITY_ROLES and node.properties
    )


def _find_page_owners(sources: Sources) -> Iterator[Node]:
    document = sources.document
    texts = filter(None, (document.title, document.heading, sources.metas.first("og:title")))
    page_names = {normalize_name(name) for name in texts}
    for node in sources.graph.roots:
        if node.role in _CREATOR_ROLES:
            continue
        if node.properties and node.is_a(_OWNER_TYPES):
            name = normalize_name(text(node.first("name")) or "")
            if not page_names or (name and name in page_names):
                yield node


def _find_page_items(sources: Sources) -> Iterator[Node]:
    yield from (n for n in sources.graph.roots if n.properties and n.is_a(_WEB_PAGE_TYPES))
    if sources.document.title is None and sources.document.heading is None:
        yield from (
            n
            for n in sources.graph.roots
            if n.types and "name" in n.properties and n.role not in _CREATOR_ROLES
        )
