"""
Find the subject of a page that has no type of its own.

Examples are an event, a course, a person, an organization, or the page itself. The pin keeps the
type `page`, but its title, text and image come from the item, and `types` names it.
"""

from __future__ import annotations

from collections.abc import Iterator

from aragog.pages.richpins.syntax.graph import Node
from aragog.pages.richpins.syntax.sources import Sources
from aragog.pages.richpins.types.entries import addresses_of, has_address, is_entry
from aragog.pages.richpins.types.titles import bare
from aragog.pages.richpins.values.scalars import text

_PARTS = frozenset(
    "website breadcrumblist imageobject listitem itemlist sitenavigationelement wpheader wpfooter "
    "wpsidebar wpadblock webpageelement searchaction readaction contactpoint postaladdress "
    "aggregaterating rating comment speakablespecification entrypoint categorization "
    "nutritioninformation offer aggregateoffer".split()
)
"""Types that occur in pages on any subject."""
_PERSONS = frozenset({"person", "profilepage"})
_ORGANIZATIONS = frozenset(
    "organization corporation newsmediaorganization ngo onlinebusiness onlinestore brand "
    "governmentorganization performinggroup musicgroup sportsteam sportsorganization".split()
)
_OWNERS = _PERSONS | _ORGANIZATIONS
_PAGES = frozenset(
    "webpage aboutpage collectionpage contactpage faqpage itempage medicalwebpage profilepage "
    "qapage checkoutpage searchresultspage realestatelisting".split()
)
_COMMON = _PARTS | _OWNERS | _PAGES
_MAIN = frozenset({"mainentity", "mainentityofpage"})
_CREATORS = frozenset({"author", "creator", "contributor", "publisher"})
"""Items in these roles created the page, even if no item around them states what they created."""


def other_subject(sources: Sources) -> list[Node]:
    """
    Return the item that the page is about, or none.

    The candidates are, in this order: the first item of an uncommon type; the main entity of a
    page; a person or organization that the page is named after; the page's description of itself.
    """
    for candidates in (_special(sources), _main(sources), _named(sources), _described(sources)):
        node = next(candidates, None)
        if node is not None:
            return [node]
    return []


def special_subject(sources: Sources) -> Node | None:
    """
    Return the first top-level item of no common type that is neither the owner of the site nor an
    entry of a list.
    """
    return next(_special(sources), None)


def _special(sources: Sources) -> Iterator[Node]:
    """Yield one item of each uncommon type, unless the items of the type are entries of a list."""
    by_types: dict[tuple[str, ...], list[Node]] = {}
    for node in sources.graph.top:
        if node.properties and node.types and node.role not in _CREATORS:
            by_types.setdefault(node.types, []).append(node)
    addresses = addresses_of(sources)
    for nodes in by_types.values():
        if nodes[0].is_a(_COMMON):
            continue
        chosen = next((node for node in nodes if has_address(node, addresses)), nodes[0])
        if not is_entry(sources, chosen, nodes):
            yield chosen


def _main(sources: Sources) -> Iterator[Node]:
    for node in sources.graph.of_types(_PAGES):
        for value in node.all("mainentity"):
            if isinstance(value, Node) and value.properties and not value.is_a(_PARTS):
                yield value
    yield from (
        node for node in sources.graph.of_types(_OWNERS) if node.role in _MAIN and node.properties
    )


def _named(sources: Sources) -> Iterator[Node]:
    document = sources.document
    shown = filter(None, (document.title, document.heading, sources.metas.first("og:title")))
    called = {bare(name) for name in shown}
    for node in sources.graph.top:
        if node.role in _CREATORS:
            continue
        if node.properties and node.is_a(_OWNERS):
            name = bare(text(node.first("name")) or "")
            if not called or (name and name in called):
                yield node


def _described(sources: Sources) -> Iterator[Node]:
    yield from (n for n in sources.graph.top if n.properties and n.is_a(_PAGES))
    if sources.document.title is None and sources.document.heading is None:
        yield from (
            n
            for n in sources.graph.top
            if n.types and "name" in n.properties and n.role not in _CREATORS
        )
