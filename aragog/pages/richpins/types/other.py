"""
The subject of a page that is none of the typed things: an event, a course, a person, an
organization, or the page itself.

Such a page stays a `page`, but its title, text and image come from the item, and `types` names it.
"""

from __future__ import annotations

from collections.abc import Iterator

from aragog.pages.richpins.syntax.graph import Node
from aragog.pages.richpins.syntax.sources import Sources
from aragog.pages.richpins.values.scalars import text
from aragog.pages.richpins.values.titles import bare

_PARTS = frozenset(
    "website breadcrumblist imageobject listitem itemlist sitenavigationelement wpheader wpfooter "
    "wpsidebar wpadblock webpageelement searchaction readaction contactpoint postaladdress "
    "aggregaterating rating comment speakablespecification entrypoint categorization "
    "nutritioninformation offer aggregateoffer".split()
)
"""What stands in pages about anything."""
_PERSONS = frozenset({"person", "profilepage"})
_ORGANIZATIONS = frozenset(
    "organization corporation newsmediaorganization ngo onlinebusiness onlinestore brand "
    "governmentorganization performinggroup musicgroup sportsteam sportsorganization".split()
)
_PAGES = frozenset(
    "webpage aboutpage collectionpage contactpage faqpage itempage medicalwebpage profilepage "
    "qapage checkoutpage searchresultspage realestatelisting".split()
)
_MAIN = frozenset({"mainentity", "mainentityofpage"})
_CREATORS = frozenset({"author", "creator", "contributor", "publisher"})
"""Items in these roles created the page, even where no item around them says what they created."""


def other_subject(sources: Sources) -> list[Node]:
    """
    The item that the page is about, or none.

    In this order: the first item of no common type; the main entity of a page; a person or
    organization that the page is called after; the page as it describes itself.
    """
    for candidates in (_special(sources), _main(sources), _named(sources), _described(sources)):
        found = next(candidates, None)
        if found is not None:
            return [found]
    return []


def special_subject(sources: Sources) -> Node | None:
    """The first item at the top that is neither a part of every page nor who runs the site."""
    return next(_special(sources), None)


def _special(sources: Sources) -> Iterator[Node]:
    common = _PARTS | _PERSONS | _ORGANIZATIONS | _PAGES
    return (
        n
        for n in sources.graph.top
        if n.properties and n.types and n.role not in _CREATORS and not n.is_a(common)
    )


def _main(sources: Sources) -> Iterator[Node]:
    for node in sources.graph.of_types(_PAGES):
        for value in node.all("mainentity"):
            if isinstance(value, Node) and value.properties and not value.is_a(_PARTS):
                yield value
    yield from (
        node
        for node in sources.graph.of_types(_PERSONS | _ORGANIZATIONS)
        if node.role in _MAIN and node.properties
    )


def _named(sources: Sources) -> Iterator[Node]:
    document = sources.document
    shown = filter(None, (document.title, document.heading, sources.metas.first("og:title")))
    called = {bare(each) for each in shown}
    for node in sources.graph.top:
        if node.role in _CREATORS:
            continue
        if node.properties and node.is_a(_PERSONS | _ORGANIZATIONS):
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
