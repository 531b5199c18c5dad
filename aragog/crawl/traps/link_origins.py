"""
How links were found: by which chain of templates, counted from the last page with text. Pure.

A finite list leads to each of its pages from pages of other kinds. A calendar leads to its pages
from pages of itself, without end. So a link is grounded if it was found on a page with text, or by
a short chain of pages each of which is of another template.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from zlib import crc32

MAX_LINKS = 4_000
MAX_STEPS = 4
BYTES = 2
WITHIN, UNGROUNDED, TAINTED = b".", b"-", b"x"
"""
Found only on pages with text of its own section; only on other pages of its section; only on copies
of other pages.
"""


class LinkOrigins:
    """
    The shortest known chain of each of a host's last links.

    Args:
        chains: the chains by the hash of the link, each with two bytes for a template.
    """

    def __init__(self, chains: Iterable[tuple[int, bytes]] = ()) -> None:
        self.chains: OrderedDict[int, bytes] = OrderedDict(chains)

    def of(self, link: int) -> bytes:
        """A link's chain; empty if it was found on a page with text, or is not known."""
        return self.chains.get(link, b"")

    def is_grounded(self, link: int) -> bool:
        """True if a link was found from pages of other templates."""
        return self.of(link) not in (UNGROUNDED, TAINTED)

    def is_direct(self, link: int) -> bool:
        """True if a link was found on a page with content."""
        return self.of(link) in (b"", WITHIN)

    def is_within(self, link: int) -> bool:
        """True if a link was found only on pages with text of its own section."""
        return self.of(link) == WITHIN

    def is_from_within(self, link: int) -> bool:
        """True if a link was found only on pages of its own section, or on copies of pages."""
        return self.of(link) in (WITHIN, UNGROUNDED, TAINTED)

    def is_tainted(self, link: int) -> bool:
        """True if a link was found on copies of other pages only."""
        return self.of(link) == TAINTED

    def add(self, link: int, chain: bytes) -> None:
        """Record that a link was found by a chain. Unknown links are not changed to worse."""
        known = self.chains.get(link)
        if known is not None and _rank(known) <= _rank(chain):
            return
        self.chains[link] = chain
        if len(self.chains) > MAX_LINKS:
            self.chains.popitem(last=False)


def chain_of(before: bytes, template: str, target: str) -> bytes:
    """The chain of a link to `target` on a page of `template` without text of its own."""
    if before in (UNGROUNDED, TAINTED):
        return UNGROUNDED
    chain = before.strip(WITHIN) + _code(template) if before == WITHIN else before + _code(template)
    places = [chain[at : at + BYTES] for at in range(0, len(chain), BYTES)]
    return UNGROUNDED if _code(target) in places or len(places) > MAX_STEPS else chain


def _rank(chain: bytes) -> int:
    worst = MAX_STEPS * BYTES
    return {WITHIN: 1, UNGROUNDED: worst + 1, TAINTED: worst + 2}.get(chain, len(chain))


def _code(template: str) -> bytes:
    return (crc32(template.encode()) & 0xFFFF).to_bytes(BYTES)
