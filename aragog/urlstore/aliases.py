"""The public API to list, merge and undo aliases. URLs need not be normalized."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from aragog.errors import TakenDown
from aragog.urlstore import nodes
from aragog.urlstore.nodes import Nodes
from aragog.urlstore.takedowns import Takedowns
from aragog.urlstore.write_clock import WriteClock
from aragog.urlstore.writing.alias_merger import AliasMerger
from urlspelling import normalize


class Aliases:
    """Manages the URLs that lead to the same page; threads may share an instance."""

    def __init__(
        self, merger: AliasMerger, page_nodes: Nodes, takedowns: Takedowns, clock: WriteClock
    ) -> None:
        self._merger = merger
        self._nodes = page_nodes
        self._takedowns = takedowns
        self._clock = clock

    def of(self, url: str) -> list[str]:
        """Return the page's aliases, without its canonical URL."""
        return list(self._merger.aliases_of(self._nodes.resolve(normalize(url))[0]))

    def reasons(self, url: str) -> list[str]:
        """Return why the last fetch of `url` chose its canonical URL; empty if unknown."""
        normalized = normalize(url)
        cell = self._nodes.read([normalized], [nodes.REASONS])[normalized].get(nodes.REASONS)
        return [str(reason) for reason in orjson.loads(cell.value)] if cell else []

    def conflicting_pages(self, url: str) -> list[str]:
        """
        Return different pages that all declare `url` as their canonical URL; empty if there is no
        conflict.

        These declarations are not trusted until `url` itself is fetched.
        """
        normalized = normalize(url)
        columns = [nodes.CONFLICTING_PAGES, nodes.OWN]
        row = self._nodes.read([normalized], columns)[normalized]
        if nodes.CONFLICTING_PAGES not in row or nodes.was_fetched(row):
            return []
        return [str(page) for page in orjson.loads(row[nodes.CONFLICTING_PAGES].value) if page]

    def mark_enqueued_for_check(self, urls: Sequence[str]) -> None:
        """Record that these normalized URLs were enqueued to resolve a conflict between pages."""
        self._merger.mark(urls, nodes.ENQUEUED_FOR_CHECK, self._clock.now_ms())

    def merge(
        self,
        alias_url: str,
        canonical_url: str,
        *,
        at_ms: int | None = None,
        provisional: bool = False,
        reasons: Sequence[str] = (),
    ) -> None:
        """
        Make one URL an alias of another, based on evidence from `at_ms` (now if None).

        The alias's data moves to the canonical URL. Merges are safe to repeat and may run in any
        order.

        Raises:
            BadInput: `at_ms` is negative, or more than a minute in the future.
            TakenDown: one of the URLs was taken down; nothing was changed.
        """
        now_ms, at_ms = self._clock.now_ms(), self._clock.instant(at_ms)
        alias, canonical = normalize(alias_url), normalize(canonical_url)
        for taken_down in self._takedowns.refused([alias, canonical]):
            raise TakenDown(taken_down)
        row = self._nodes.read([alias], [nodes.FACTS])[alias]
        with self._takedowns.guard_write(alias, canonical, nodes.sender_of(row, alias)):
            self._merger.merge(
                alias,
                canonical,
                at_ms=at_ms,
                now_ms=now_ms,
                provisional=provisional,
                reasons=tuple(reasons),
            )
        self._clock.record_deletion(now_ms)

    def undo(self, alias_url: str) -> None:
        """Make an alias independent again. Data from its own fetches moves back to it."""
        now_ms = self._clock.now_ms()
        self._merger.undo(normalize(alias_url), now_ms)
        self._clock.record_deletion(now_ms)
