"""
Distinguish a page's subject from list entries, such as the products in a category.

Entries have the same markup as a subject, but not the page's URL and title.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from richpins.structured_data.graph import Node
from richpins.structured_data.sources import Sources
from richpins.values.scalars import text

_NAME_WORD = re.compile(r"\w+")
_LIST_TYPES = frozenset({"itemlist", "listitem"})
_MIN_ENTRIES = 3
"""Fewer similar items are usually a subject with its variants or parts."""
_MAX_EXAMINED = 200


def words(name: str) -> set[str]:
    return set(_NAME_WORD.findall(name.lower()))


def item_name_words(node: Node) -> set[str]:
    return words(text(node.first("name", "headline")) or "")


def find_page_addresses(sources: Sources) -> set[str]:
    """Return the page's URLs, without scheme and query."""
    document = sources.document
    addresses = {_without_scheme(document.url)}
    addresses.update(
        _without_scheme(link.href) for link in document.link_elements if "canonical" in link.rel
    )
    og_url = sources.metas.first("og:url")
    return addresses | ({_without_scheme(og_url)} if og_url else set())


def has_address(node: Node, page_addresses: set[str]) -> bool:
    addresses = [node.id, node.first("url"), node.first("mainentityofpage")]
    return any(
        _without_scheme(address.id or "" if isinstance(address, Node) else str(address))
        in page_addresses
        for address in addresses
        if address
    )


def is_list_entry(sources: Sources, chosen: Node, nodes: Iterable[Node]) -> bool:
    """
    Return True if `chosen`, the best of `nodes`, is one of at least three list entries.

    An item with the page's URL is not an entry. If half of the words in an item's name are also in
    a title of the page, it is an entry only if it is marked as one, because categories and their
    products have words in common.
    """
    similar_nodes = [n for n in nodes if n.syntax == chosen.syntax and n.role == chosen.role][
        :_MAX_EXAMINED
    ]
    if len({frozenset(item_name_words(node)) for node in similar_nodes}) < _MIN_ENTRIES:
        return False
    if has_address(chosen, find_page_addresses(sources)):
        return False
    if chosen.parent is not None and chosen.parent.is_a(_LIST_TYPES):
        return True
    name_words, document = item_name_words(chosen), sources.document
    titles = (sources.metas.first("og:title"), document.title, *document.headings)
    return chosen.parent is None and not any(
        2 * len(name_words & words(title)) >= len(name_words) for title in titles if title
    )


def _without_scheme(url: str) -> str:
    url = url.partition("#")[0].partition("?")[0]
    return url.partition("://")[2].removeprefix("www.").rstrip("/").lower() or url
