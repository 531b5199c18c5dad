"""
Records aliases of URLs, and moves the data stored under them.

The pointer with the latest evidence in the alias's node is authoritative. The canonical URL's edges
list its aliases, and are verified against that pointer. An alias's data moves to the canonical URL
with unchanged timestamps, so moves are safe to repeat and may run in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing

import orjson

from aragog.settings import RefreshSettings
from aragog.urlstore import items, nodes
from aragog.urlstore.bodies import Bodies
from aragog.urlstore.due_index import DueIndex
from aragog.urlstore.hosts import host_put
from aragog.urlstore.items import ItemIndex
from aragog.urlstore.nodes import Nodes, alias_of, facts_of, leads_to, text
from aragog.urlstore.records import Fact
from aragog.urlstore.same_content import SameContent, stored_entries
from aragog.urlstore.watchers import Watches
from aragog.urlstore.writing.next_due import is_wanted
from aragog.urlstore.writing.page_facts import attempt_facts
from aragog.urlstore.writing.page_mover import PageMover
from zengraph import IN, MultiGraph
from zengraph.links import LinksWrite, OutlinkWriter
from zengraph.records import Cell, Mutation, Row, put_properties

ALIAS = 1
"""The edge type. An alias's score is always 0, so merging twice creates only one edge."""

REFETCH_DELAY_MS = 600_000
"""Milliseconds until an undone alias is fetched, because conflicting pages may undo it
repeatedly."""

_URL = "u"
_POINTER_COLUMNS = (nodes.CANONICAL, nodes.ALIASED)
_ALIAS_COLUMNS = (*_POINTER_COLUMNS, nodes.REMOVED)
"""The columns that `nodes.leads_to` needs: an alias that was taken down leads nowhere."""


def alias_puts(zen: MultiGraph, alias: str, canonical: str, now_ms: int) -> list[Mutation]:
    """Return the edge to `alias`, and the flag that `canonical` has aliases."""
    canonical_id, properties = zen.node_id(canonical), {_URL: alias.encode()}
    cells = {nodes.URL: canonical.encode(), nodes.ALIASED: b"1"}
    return [
        *zen.edge_rows(zen.node_id(alias), ALIAS, canonical_id, properties, now_ms),
        put_properties(canonical_id, cells, now_ms),
    ]


class AliasMerger:
    """Merges, undoes and lists aliases of normalized URLs. Each step is safe to repeat."""

    def __init__(
        self,
        zen: MultiGraph,
        bodies: Bodies,
        outlinks: OutlinkWriter,
        refresh: RefreshSettings | None = None,
    ) -> None:
        self._zen = zen
        self._refresh = refresh or RefreshSettings()
        self._due_index = DueIndex(zen)
        self._properties = zen.nodes
        self._nodes = Nodes(zen)
        self._watches = Watches(zen)
        self._same_content = SameContent(zen)
        self._item_index = ItemIndex(zen)
        self._bodies = bodies
        self._outlinks = outlinks
        self._mover = PageMover(zen, bodies, outlinks)

    def merge(
        self,
        alias: str,
        canonical: str,
        *,
        at_ms: int,
        now_ms: int,
        provisional: bool,
        reasons: Sequence[str],
    ) -> None:
        """
        Make `alias` an alias of `canonical`, unless evidence newer than `at_ms` is stored.

        Moves all data of the alias.
        """
        if alias == canonical:
            return
        pointer = {
            nodes.URL: alias.encode(),
            nodes.CANONICAL: canonical.encode(),
            nodes.PROVISIONAL: b"1" if provisional else b"",
            nodes.REASONS: orjson.dumps(reasons),
        }
        self._zen.mutate(
            [host_put(self._zen, alias, now_ms), *alias_puts(self._zen, alias, canonical, now_ms)]
        )
        self._zen.mutate([put_properties(self._zen.node_id(alias), pointer, at_ms)])
        self.settle(alias, now_ms, trusted=True)

    def settle(self, alias: str, now_ms: int, *, trusted: bool = False) -> None:
        """
        Move an alias's own content, links, due row and fields to its canonical URL.

        If the canonical URL has its own page, the alias's page is deleted instead, because just
        declaring a canonical URL must not replace the page there. With `trusted` it is moved
        anyway: a redirect within a host shows that the pages are the same.
        """
        canonical, row = self._nodes.follow([alias], None)[alias]
        alias_row = self._properties.get(self._zen.node_id(alias))
        if canonical == alias:
            return
        if not trusted and _has_another_page(canonical, row, alias, alias_row):
            alias_row = self._delete_page(alias, alias_row, now_ms)
        self._mover.move_links(alias, canonical, row, now_ms)
        if text(alias_row, nodes.WATCHED):
            self._watches.move(alias, canonical, now_ms)
        due = text(alias_row, nodes.DUE)
        if due:
            self._zen.by_number.delete_many([(self._zen.node_id(alias), int(due), now_ms)])
            self._properties.put(self._zen.node_id(alias), {nodes.DUE: b""}, at_ms=now_ms)
        if nodes.SENTINEL in alias_row:
            self._mover.move(alias, alias_row, canonical, row, now_ms)

    def _delete_page(self, alias: str, alias_row: Row, now_ms: int) -> Row:
        """Delete what fetches stored. Returns the remaining cells."""
        self._bodies.give_up(alias_row)
        fields = facts_of(alias_row, nodes.PROVENANCE)
        columns = {
            column_of(name)
            for name in fields
            for column_of in (nodes.field_column, nodes.history_column)
        }
        columns |= {nodes.FACTS, nodes.PROVENANCE, nodes.LIKENESS, *nodes.CONTENT_AND_RESPONSE}
        self._same_content.forget(stored_entries(alias, alias_row))
        self._item_index.forget(items.stored_records(alias, alias_row, columns))
        if not any(
            c.startswith(b"m:") and c not in columns for c in alias_row.keys() - {nodes.SENTINEL}
        ):
            columns.add(nodes.SENTINEL)
        present = [column for column in columns if column in alias_row]
        if present:
            # The deleted page may be dated later than now if its worker's clock is ahead.
            at_ms = max(now_ms, *(alias_row[column].at_ms for column in present))
            self._properties.delete(self._zen.node_id(alias), present, at_ms=at_ms)
        self._outlinks.write([LinksWrite(alias, now_ms, lambda _: b"")], now_ms)
        return {column: cell for column, cell in alias_row.items() if column not in columns}

    def has_data(self, alias: str, row: Row) -> bool:
        if nodes.SENTINEL in row or text(row, nodes.DUE):
            return True
        return bool(self._outlinks.read([alias])[alias].lines)

    def undo(
        self,
        alias: str,
        now_ms: int,
        *,
        at_ms: int | None = None,
        reasons: Sequence[str] | None = None,
        inherits: bool = False,
        is_needed: bool = False,
    ) -> None:
        """
        Make a URL independent again. Data from its own fetch moves back to it.

        If the URL is still wanted (`is_wanted`), it is fetched soon, because a later page may have
        replaced its data. Evidence older than `at_ms` (now if None) does not make it an alias
        again. After a crash, a repeated call completes the work.

        Args:
            alias: a normalized URL.
            now_ms: the store's time.
            at_ms: the time of the evidence.
            reasons: the reasons that `explain` shows; None keeps the stored reasons.
            inherits: move the canonical URL's page here although it was fetched from another URL,
                because the pages matched.
            is_needed: make the URL due at once even if it is not wanted, because its page's data is
                deleted.
        """
        alias_row = self._properties.get(self._zen.node_id(alias))
        detaching_from = text(alias_row, nodes.LEAVING)
        canonical = detaching_from or alias_of(alias_row, alias)
        if canonical is None:
            return
        if not detaching_from:
            self._properties.put(
                self._zen.node_id(alias), {nodes.LEAVING: canonical.encode()}, at_ms=now_ms
            )
        at_ms = max(now_ms if at_ms is None else at_ms, alias_row[nodes.CANONICAL].at_ms + 1)
        pointer = {nodes.CANONICAL: alias.encode(), nodes.PROVISIONAL: b""}
        if reasons is not None:
            pointer[nodes.REASONS] = orjson.dumps(reasons)
        self._properties.put(self._zen.node_id(alias), pointer, at_ms=at_ms)
        self._return_page(alias, alias_row, canonical, now_ms, inherits=inherits)
        self._watches.move(canonical, alias, now_ms, watched_as=alias)
        self._zen.remove_edge(self._zen.node_id(alias), ALIAS, self._zen.node_id(canonical))
        begun_ms = alias_row[nodes.LEAVING].at_ms if detaching_from else now_ms
        self._create_record(alias, canonical, begun_ms + REFETCH_DELAY_MS, at_ms)
        if is_needed:
            self._due_index.schedule(alias, now_ms, now_ms)
        self._properties.put(self._zen.node_id(alias), {nodes.LEAVING: b""}, at_ms=now_ms)

    def _create_record(self, alias: str, canonical: str, due_at_ms: int, at_ms: int) -> None:
        """Create the record, and schedule a fetch if the URL or its old canonical URL is wanted."""
        row = self._properties.get(self._zen.node_id(alias))
        cells = {nodes.URL: alias.encode(), nodes.SENTINEL: b"1"}
        if nodes.FACTS not in row:
            cells[nodes.FACTS] = orjson.dumps(_known_facts(alias, row))
        if nodes.SENTINEL not in row:
            self._zen.mutate(
                [
                    host_put(self._zen, alias, at_ms),
                    put_properties(self._zen.node_id(alias), cells, at_ms),
                ]
            )
        watched = (
            row
            if text(row, nodes.WATCHED)
            else self._properties.get(self._zen.node_id(canonical), [nodes.WATCHED])
        )
        if not text(row, nodes.DUE) and is_wanted(watched, self._refresh):
            self._due_index.schedule(alias, due_at_ms, at_ms)

    def _return_page(
        self, alias: str, alias_row: Row, canonical: str, now_ms: int, *, inherits: bool
    ) -> None:
        row = self._properties.get(self._zen.node_id(canonical))
        facts = facts_of(row)
        if not inherits and alias not in (facts.get("url"), facts.get("final_url")):
            return
        fetched_ms = int(facts.get("fetched_at_ms") or 0)
        times = {fetched_ms, nodes.after_moves(row, fetched_ms)}
        page_cells = {c: cell for c, cell in row.items() if cell.at_ms in times}
        if page_cells:
            page_cells.setdefault(nodes.FACTS, _first_facts(facts, alias_row, fetched_ms))
            if inherits:
                facts_of_alias = {**facts_of(page_cells), "url": alias, "final_url": alias}
                page_cells[nodes.FACTS] = Cell(
                    orjson.dumps(facts_of_alias), page_cells[nodes.FACTS].at_ms
                )
            self._mover.move_links(canonical, alias, alias_row, now_ms)
            self._mover.move(canonical, page_cells, alias, alias_row, now_ms)
        if nodes.FACTS in row and row[nodes.FACTS].at_ms not in times:
            # Without this, an older fetch of the canonical URL would be dropped as if its page were
            # still stored.
            attempt = orjson.dumps(attempt_facts(facts, canonical))
            at_ms = row[nodes.FACTS].at_ms + 1
            self._properties.put(self._zen.node_id(canonical), {nodes.FACTS: attempt}, at_ms=at_ms)

    def release(self, canonical: str, now_ms: int, stays: Callable[[str], bool]) -> None:
        """
        Undo the aliases that matched the page of `canonical`, which is being deleted, and make them
        due.

        URLs that redirect to it or were merged by an application stay aliases, as do URLs for which
        `stays` returns True.
        """
        if nodes.ALIASED not in self._properties.get(self._zen.node_id(canonical), [nodes.ALIASED]):
            return
        for alias in list(self.unverified_aliases_of(canonical)):
            alias_row = self._properties.get(self._zen.node_id(alias), [*_ALIAS_COLUMNS, nodes.OWN])
            is_joined = alias_of(alias_row, alias) == canonical and nodes.was_fetched(alias_row)
            if is_joined and not nodes.is_taken_down(alias_row) and not stays(alias):
                self.undo(alias, now_ms, is_needed=True)

    def mark(self, urls: Sequence[str], column: bytes, now_ms: int) -> None:
        self._zen.mutate(
            [
                put_properties(
                    self._zen.node_id(url), {nodes.URL: url.encode(), column: b"1"}, now_ms
                )
                for url in urls
            ]
        )

    def aliases_of(self, canonical: str) -> Iterator[str]:
        """Yield the URLs that lead to `canonical`, directly or not. Takes constant memory."""
        yield from self._walk(canonical, _ALIAS_COLUMNS, {canonical}, nodes.MAX_HOPS)

    def with_taken_down(self, canonical: str) -> Iterator[str]:
        """Like `aliases_of`, but includes aliases that were taken down."""
        yield from self._walk(canonical, _POINTER_COLUMNS, {canonical}, nodes.MAX_HOPS)

    def _walk(
        self, canonical: str, columns: Sequence[bytes], visited: set[str], hops: int
    ) -> Iterator[str]:
        for alias in self.unverified_aliases_of(canonical):
            alias_row = self._properties.get(self._zen.node_id(alias), columns)
            if alias in visited or leads_to(alias_row, alias) != canonical:
                continue
            yield alias
            if hops > 1 and nodes.ALIASED in alias_row:
                visited.add(alias)
                yield from self._walk(alias, columns, visited, hops - 1)

    def unverified_aliases_of(self, canonical: str) -> Iterator[str]:
        """Yield the aliases that the edges list."""
        with closing(self._zen.walk_edges(self._zen.node_id(canonical), IN, ALIAS)) as edges:
            for edge in edges:
                yield edge.properties[_URL].decode()


def _has_another_page(canonical: str, row: Row, alias: str, alias_row: Row) -> bool:
    """Return True if the page in `row` was not fetched from `alias`."""
    redirects = facts_of(alias_row, nodes.OWN).get("redirects_to")
    if nodes.was_fetched(row):
        return not redirects or not nodes.have_same_host(alias, canonical)
    senders = nodes.page_senders(row)
    return bool(senders) and alias not in senders and not redirects


def _known_facts(alias: str, row: Row) -> dict[str, Fact]:
    status = facts_of(row, nodes.OWN).get("status")
    return {"url": alias} if status is None else {"url": alias, "status": status}


def _first_facts(facts: Mapping[str, Fact], alias_row: Row, brought_ms: int) -> Cell:
    """Return the facts of the fetch that returned the page, not of a later failed one."""
    values = {name: facts[name] for name in ("url", "final_url", "fetched_at_ms")}
    values["status"] = facts_of(alias_row, nodes.OWN).get("status")
    return Cell(orjson.dumps(values), brought_ms)
