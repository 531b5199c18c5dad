"""
Provisional aliases: pages that are stored under a canonical URL that was never fetched.

The first page that declares such a URL provides its record, and other pages that match it join. If
a later page, or the URL's own page, does not match, the record moves back to the page that provided
it. Every step may be killed and is safe to repeat.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from aragog.settings import RefreshSettings
from aragog.urlstore import nodes
from aragog.urlstore.due_index import DueIndex
from aragog.urlstore.nodes import Nodes, alias_of, text
from aragog.urlstore.watchers import Watches
from aragog.urlstore.writing.agreement import is_trusting
from aragog.urlstore.writing.alias_merger import ALIAS, REFETCH_DELAY_MS, AliasMerger, alias_puts
from aragog.urlstore.writing.next_due import is_wanted
from zengraph import MultiGraph

_ALIAS_COLUMNS = (nodes.CANONICAL, nodes.OWN, nodes.WATCHED, nodes.DUE)


class Trust:
    """Ends provisional aliases; `AliasMerger` moves the data."""

    def __init__(
        self, zen: MultiGraph, aliases: AliasMerger, refresh: RefreshSettings | None = None
    ) -> None:
        self._zen = zen
        self._refresh = refresh or RefreshSettings()
        self._aliases = aliases
        self._properties = zen.nodes
        self._nodes = Nodes(zen)
        self._due_index = DueIndex(zen)
        self._watches = Watches(zen)

    def revoke_aliases(self, urls: Sequence[str], now_ms: int, *, gone: bool = False) -> None:
        """
        Undo the aliases that were created for one of `urls` before it was fetched.

        With `gone`, the URL has no page; aliases that an earlier fetch of it confirmed are kept. If
        the URL now leads to another page, aliases that did not provide its record are kept too,
        because their own data was deleted when they joined the record.
        """
        rows = self._nodes.read(urls, [nodes.ALIASED, nodes.FETCHED])
        for url, row in rows.items():
            if nodes.ALIASED in row and not (gone and nodes.FETCHED in row):
                why = f"{url} was fetched, and does not have this page"
                self.separate_aliases(url, now_ms, why, without_page=gone)

    def schedule_recheck(self, urls: Sequence[str], now_ms: int) -> None:
        """
        Schedule fetches of the aliases of `urls`, because the page they matched has changed or is
        gone.

        Without this, they would still lead to a page that may differ from theirs. Aliases that are
        not wanted or that redirect are left unchanged.
        """
        rows = self._nodes.read(urls, [nodes.ALIASED, nodes.WATCHED])
        for url, row in rows.items():
            for alias in self._aliases.unverified_aliases_of(url) if nodes.ALIASED in row else ():
                alias_row = self._properties.get(self._zen.node_id(alias), _ALIAS_COLUMNS)
                is_joined = alias_of(alias_row, alias) == url and nodes.was_fetched(alias_row)
                watched = alias_row if text(alias_row, nodes.WATCHED) else row
                if (
                    is_joined
                    and not text(alias_row, nodes.DUE)
                    and is_wanted(watched, self._refresh)
                ):
                    self._due_index.schedule(alias, now_ms + REFETCH_DELAY_MS, now_ms)

    def mark_rechecked(self, aliases: Sequence[str], now_ms: int) -> None:
        """Cancel the next fetch of aliases whose fetch returned no page. They stay aliases."""
        for alias in aliases:
            self._due_index.schedule(alias, None, now_ms)

    def dispute(self, canonical: str, url: str, now_ms: int) -> None:
        """
        Stop trusting a never-fetched canonical URL until it is fetched.

        The page of `url` declares the canonical URL too, but differs from its record. After a
        crash, a repeated call completes this.
        """
        row = self._properties.get(self._zen.node_id(canonical), [nodes.FACTS, nodes.SENTINEL])
        first = next(iter(nodes.page_senders(row)), "")
        cells = {nodes.URL: canonical.encode(), nodes.CONFLICTING_PAGES: orjson.dumps([first, url])}
        self._properties.put(self._zen.node_id(canonical), cells, at_ms=now_ms)
        why = f"{canonical} is not trusted until it is fetched: {url} declares it too and differs"
        self.separate_aliases(canonical, now_ms, why)

    def separate_aliases(
        self, canonical: str, now_ms: int, why: str, *, without_page: bool = True
    ) -> None:
        """
        Undo the provisional aliases of a URL, for the reason `why`.

        The record moves back to the alias that it was fetched from. Aliases that matched the record
        become aliases of that alias. If the record was not fetched from an alias, the aliases are
        kept, unless `without_page` is True. Safe to repeat.
        """
        row = self._properties.get(
            self._zen.node_id(canonical), [nodes.FACTS, nodes.SENTINEL, nodes.DUE]
        )
        provisional_aliases = [
            url
            for url in self._aliases.unverified_aliases_of(canonical)
            if self._is_provisional(url, canonical)
        ]
        provider = next(
            (url for url in nodes.page_senders(row) if url in provisional_aliases), None
        )
        for alias in provisional_aliases:
            if provider not in (None, alias):
                self._point_alias_to(alias, canonical, str(provider), now_ms, why)
        to_undo = (
            provisional_aliases
            if without_page
            else list(filter(self._is_half_detached, provisional_aliases))
        )
        for alias in to_undo if provider is None else [provider]:
            self._aliases.undo(alias, now_ms, reasons=self._reasons_with(alias, why))
        if provisional_aliases:
            self._unschedule(canonical, now_ms)

    def shared_record(self, url: str) -> str | None:
        """
        Return the never-fetched URL whose record `url` shares with other pages, or None.

        All of these pages declare it as canonical. The URL is also returned if a process was killed
        while detaching `url`.
        """
        columns = [nodes.LEAVING, nodes.CANONICAL, nodes.PROVISIONAL]
        url_row = self._properties.get(self._zen.node_id(url), columns)
        canonical = text(url_row, nodes.LEAVING) or alias_of(url_row, url)
        if canonical is None or text(url_row, nodes.LEAVING):
            return canonical
        row = self._properties.get(self._zen.node_id(canonical), [nodes.OWN, nodes.ALIASED])
        if nodes.was_fetched(row) or not is_trusting(url_row, url, canonical):
            return None
        others = (alias for alias in self._aliases.unverified_aliases_of(canonical) if alias != url)
        return (
            canonical if any(self._is_provisional(alias, canonical) for alias in others) else None
        )

    def withdraw_from(self, canonical: str, url: str, now_ms: int) -> None:
        """
        Remove a page from the record that it shares, before the page is deleted.

        If the record was fetched from the page's URL, it is deleted with the page, and the other
        pages become due at once.
        """
        self._properties.put(
            self._zen.node_id(url), {nodes.LEAVING: canonical.encode()}, at_ms=now_ms
        )
        row = self._properties.get(
            self._zen.node_id(canonical), [nodes.FACTS, nodes.SENTINEL, nodes.OWN]
        )
        if url in nodes.page_senders(row) and not nodes.was_fetched(row):
            self._aliases.release(canonical, now_ms, lambda alias: alias == url)
        self._aliases.undo(url, now_ms)

    def hand_over(self, canonical: str, now_ms: int) -> bool:
        """
        Hand a record over to the aliases that matched it, because its sender (the URL that returned
        it) now has another page.

        The first alias takes over the record, the others become its aliases, and all are due soon.
        Returns True if there were such aliases. Writing the sender's new page then leaves the
        aliases' page unchanged.
        """
        row = self._properties.get(self._zen.node_id(canonical), [nodes.FACTS, nodes.SENTINEL])
        senders = nodes.page_senders(row)
        matching_aliases = [
            url
            for url in self._aliases.unverified_aliases_of(canonical)
            if url not in senders and self._is_provisional(url, canonical)
        ]
        if not matching_aliases or not senders:
            return False
        new_sender, *others = matching_aliases
        why = f"{senders[0]} now has another page than the one that they matched"
        for alias in others:
            self._point_alias_to(alias, canonical, new_sender, now_ms, why)
        self._aliases.undo(
            new_sender, now_ms, reasons=self._reasons_with(new_sender, why), inherits=True
        )
        return True

    def detach(self, url: str, now_ms: int, *, at_ms: int) -> None:
        """`undo` an alias. Other aliases that matched its page become its aliases."""
        url_row = self._properties.get(self._zen.node_id(url), [nodes.CANONICAL])
        canonical = alias_of(url_row, url)
        if canonical is not None:
            row = self._properties.get(self._zen.node_id(canonical), [nodes.FACTS, nodes.SENTINEL])
            senders = nodes.page_senders(row)
            if url in senders:
                why = f"{url} no longer declares {canonical}"
                for alias in list(self._aliases.unverified_aliases_of(canonical)):
                    if alias not in senders and self._is_provisional(alias, canonical):
                        self._point_alias_to(alias, canonical, url, now_ms, why)
        self._aliases.undo(url, now_ms, at_ms=at_ms)

    def _is_provisional(self, alias: str, canonical: str) -> bool:
        columns = [nodes.CANONICAL, nodes.PROVISIONAL, nodes.LEAVING]
        return is_trusting(
            self._properties.get(self._zen.node_id(alias), columns), alias, canonical
        )

    def _is_half_detached(self, alias: str) -> bool:
        return bool(
            text(self._properties.get(self._zen.node_id(alias), [nodes.LEAVING]), nodes.LEAVING)
        )

    def _reasons_with(self, alias: str, why: str) -> list[str]:
        stored = self._properties.get(self._zen.node_id(alias), [nodes.REASONS])
        texts = orjson.loads(stored[nodes.REASONS].value) if nodes.REASONS in stored else []
        reasons = dict.fromkeys(map(str, texts))
        reasons.pop(why, None)  # the reason is appended below as the latest
        return [*reasons, why]

    def _point_alias_to(
        self, alias: str, canonical: str, target: str, now_ms: int, why: str
    ) -> None:
        """Make an alias point to `target`, whose page it matches."""
        before = self._properties.get(self._zen.node_id(alias), [nodes.CANONICAL])
        pointer = {
            nodes.CANONICAL: target.encode(),
            nodes.PROVISIONAL: b"",
            nodes.REASONS: orjson.dumps([*self._reasons_with(alias, why), f"it matched {target}"]),
        }
        self._zen.mutate(alias_puts(self._zen, alias, target, now_ms))
        at_ms = max(now_ms, before[nodes.CANONICAL].at_ms + 1)
        self._properties.put(self._zen.node_id(alias), pointer, at_ms=at_ms)
        self._watches.move(canonical, target, now_ms, watched_as=alias)
        self._zen.remove_edge(self._zen.node_id(alias), ALIAS, self._zen.node_id(canonical))

    def _unschedule(self, canonical: str, now_ms: int) -> None:
        """Cancel the next fetch of a URL whose record has moved away."""
        columns = [nodes.SENTINEL, nodes.DUE, nodes.WATCHED]
        row = self._properties.get(self._zen.node_id(canonical), columns)
        if nodes.SENTINEL not in row and text(row, nodes.DUE) and text(row, nodes.WATCHED) != "1":
            self._due_index.schedule(canonical, None, now_ms)
