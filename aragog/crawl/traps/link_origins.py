"""
How links were found: the chain of templates from the last page with text. Pure (no I/O).

Pages of a finite list are linked from other kinds of pages. Pages of a calendar link to each other
without end. So a link counts as *grounded* if it was found on a page with text, or through a short
chain of pages in which no template repeats.
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
Where a link was found: only in its own section on pages with text, only on other pages of its
section, or only on copies of other pages.
"""


class LinkOrigins:
    """
    The shortest known chain for each of a host's most recent links.

    Args:
        chains: the chains by the link's hash, with two bytes per template.
    """

    def __init__(self, chains: Iterable[tuple[int, bytes]] = ()) -> None:
        self.chains: OrderedDict[int, bytes] = OrderedDict(chains)

    def of(self, link: int) -> bytes:
        """Return a link's chain; empty if the link was found on a page with text, or is unknown."""
        return self.chains.get(link, b"")

    def is_grounded(self, link: int) -> bool:
        """True if a link was found on a page with text or through a short chain, or is unknown."""
        return self.of(link) not in (UNGROUNDED, TAINTED)

    def is_direct(self, link: int) -> bool:
        """True if a link was found on a page with content."""
        return self.of(link) in (b"", WITHIN)

    def is_within(self, link: int) -> bool:
        """True if a link was found only in its own section, on pages with text."""
        return self.of(link) == WITHIN

    def is_from_within(self, link: int) -> bool:
        """True if a link was found only in its own section or on copies of pages."""
        return self.of(link) in (WITHIN, UNGROUNDED, TAINTED)

    def is_tainted(self, link: int) -> bool:
        """True if a link was found only on copies of other pages."""
        return self.of(link) == TAINTED

    def add(self, link: int, chain: bytes) -> None:
        """Record that a link was found through a chain. A shorter known chain is kept."""
        known = self.chains.get(link)
        if known is not None and _rank(known) <= _rank(chain):
            return
        self.chains[link] = chain
        if len(self.chains) > MAX_LINKS:
            self.chains.popitem(last=False)


def chain_of(before: bytes, template: str, target: str) -> bytes:
    """Return the chain of a link to `target` on a page of `template` without text of its own."""
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
