"""
Repairs a UrlStore after interrupted writes.

Repair first replaces damaged files of the embedded store with new files that have every readable
row. It then walks all tables once, and makes index, alias, content, count and due rows match the
nodes, and the graph's counts match its edges. Workers may run at the same time: rows younger than a
grace period are left to their writers.

If a run is killed, the next one completes its work: the list of replaced files is stored until a
walk has finished, and a URL is made due before the last row that contains it is deleted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import KW_ONLY, dataclass, field

from aragog.errors import CorruptContent
from aragog.runtime.clock import Clock
from aragog.urlstore import nodes
from aragog.urlstore.bodies import Bodies
from aragog.urlstore.due_index import DUE_URL, DueIndex, due_put
from aragog.urlstore.hosts import HOST_URL, host_order, host_put
from aragog.urlstore.items import ItemEntry, ItemIndex, fields_of, record_names, record_puts
from aragog.urlstore.nodes import alias_of, text
from aragog.urlstore.pack_upkeep import PackUpkeep
from aragog.urlstore.packs.catalog import OPEN
from aragog.urlstore.same_content import SameContent, entry_name, entry_put
from aragog.urlstore.tombstones import Tombstones
from aragog.urlstore.writing.alias_merger import ALIAS, AliasMerger, alias_puts
from zengraph import IN, Edge, MultiGraph
from zengraph.links import Compactor
from zengraph.records import (
    COUNTS,
    ID_BYTES,
    Mutation,
    NumberEntry,
    Row,
    Salvaged,
    count_column,
    newest_ms,
)

GRACE_S = 600.0
_PROGRESS_INTERVAL = 256

Progress = Callable[[str, int, float | None], None]
"""Called with the current table's name, the number of rows done, and the fraction done (0 to 1, or
None if unknown)."""


@dataclass(frozen=True, slots=True)
class RepairReport:
    """The result of a repair."""

    walked: dict[str, int] = field(default_factory=dict)
    repaired: dict[str, int] = field(default_factory=dict)
    salvaged: Sequence[Salvaged] = ()


@dataclass(slots=True, eq=False)
class Repair:
    """One walk over the whole store. Memory use grows only with the number of problems."""

    zen: MultiGraph
    bodies: Bodies
    aliases: AliasMerger
    compactor: Compactor
    clock: Clock
    _: KW_ONLY
    grace_s: float = GRACE_S
    wait: bool = True
    """If False, content that no node points to is left to a later repair."""
    _counted_edge_types: set[int] = field(init=False, default_factory=set)
    _last_edge_group: tuple[bytes, bytes, int] | None = field(init=False, default=None)
    _repair_counts: Counter[str] = field(init=False, default_factory=Counter)
    _row_counts: Counter[str] = field(init=False, default_factory=Counter)
    _replaced_first_bytes: frozenset[int] = field(init=False, default=frozenset())
    _report: Callable[[str], None] = field(init=False, default=lambda _: None)
    _due_index: DueIndex = field(init=False)
    _tombstones: Tombstones = field(init=False)
    _same_content: SameContent = field(init=False)
    _item_index: ItemIndex = field(init=False)

    def __post_init__(self) -> None:
        self._due_index, self._tombstones = DueIndex(self.zen), Tombstones(self.zen)
        self._same_content, self._item_index = SameContent(self.zen), ItemIndex(self.zen)

    def run(
        self, progress: Progress | None = None, report: Callable[[str], None] = lambda _: None
    ) -> RepairReport:
        """
        Replace damaged files, then walk nodes, each index, content, and posting lists.

        Calls `report` with a line of text before each step that does not count rows, and for each
        page that has another page's value in a unique field.
        """
        self._report = report
        salvaged = self.zen.salvage(report)
        if salvaged:
            self._tombstones.repair(self._now_ms())
            self._tombstones.current()
        self._replaced_first_bytes = frozenset[int]().union(
            *(file.first_bytes for file in salvaged)
        )
        for key, row in self.zen.nodes.walk():
            self._check_node(key, row)
            self._count_row("n", progress, int.from_bytes(key[:4]) / 2**32)
        for entry in self.zen.by_number.walk():
            self._check_due_row(entry)
            self._count_row("d", progress)
        for position, row in self.zen.by_order.walk():
            self._check_host_row(position, row)
            self._count_row("h", progress)
        for item, at_ms in self._item_index.walk():
            self._check_item_record(item, at_ms)
            self._count_row("u", progress)
        for row_of_edge in self.zen.walk_all_edges():
            self._check_edge(*row_of_edge)
            self._count_row("e", progress)
        is_complete = self._check_objects(progress, report)
        self._check_packs(progress, report)
        self._check_lists(progress)
        if is_complete:
            self.zen.salvage_finished(salvaged)
        return RepairReport(dict(self._row_counts), dict(self._repair_counts), salvaged)

    def _count_row(self, name: str, progress: Progress | None, share: float | None = None) -> None:
        """Count a row and report progress. `share` is the fraction of the table done, if known."""
        self._row_counts[name] += 1
        if progress and self._row_counts[name] % _PROGRESS_INTERVAL == 0:
            progress(name, self._row_counts[name], share)

    def _check_node(self, key: bytes, row: Row) -> None:
        url = text(row, nodes.URL)
        count_columns = [column for column in row if column.startswith(COUNTS)]
        for column in count_columns:
            edge_type = int(column[len(COUNTS) : -1])
            self._counted_edge_types.add(edge_type)
            self._recount(key, column[-1:], edge_type)
        if url is None or self.zen.node_id(url) != key:
            is_needed = nodes.SENTINEL in row or count_columns or self._is_due(key, row)
            if not is_needed and not self._has_recent_cell(row):
                self.zen.nodes.drop(key, at_ms=newest_ms(row))
                self._repair_counts["node without a URL"] += 1
            return
        removed = text(row, nodes.REMOVED)
        if removed and removed.encode() == nodes.TAKEN_DOWN:
            return
        if text(row, nodes.LEAVING) and not self._has_recent_cell(row):
            self.aliases.undo(url, self._now_ms())
            self._repair_counts["alias half undone"] += 1
            return
        canonical = alias_of(row, url)
        is_page = canonical is not None or nodes.SENTINEL in row
        if is_page and not self.zen.by_order.has(key, host_order(url)):
            self._put(host_put(self.zen, url, self._now_ms()), "host row missing")
        if canonical is not None:
            self._check_alias(url, canonical, row)
            return
        self._add_content_entry(url, row)
        self._add_item_entries(url, row)
        added, duplicates = self.zen.index(key, row)
        if added:
            self._repair_counts["value of an indexed field missing"] += added
        if duplicates:
            self._report(
                f"{url}: another page already has the values of {duplicates} of its unique fields "
                "(store.unique)"
            )
        due = text(row, nodes.DUE)
        if due and not self.zen.by_number.has(key, int(due)):
            self._put(due_put(self.zen, url, int(due), self._now_ms()), "due row missing")
        self._check_object(url, row)

    def _add_content_entry(self, url: str, row: Row) -> None:
        """Add a page to the index of bodies (`same_content`) if it is missing there."""
        likeness = nodes.stored_likeness(row)
        name = entry_name(url, likeness)
        if name is None or nodes.SENTINEL not in row or self._same_content.has(name):
            return
        for put in entry_put(url, likeness, row[nodes.LIKENESS].at_ms):
            self._put(put, "entry of a body missing")

    def _add_item_entries(self, url: str, row: Row) -> None:
        for name, value in fields_of(row).items():
            at_ms = row[nodes.field_column(name)].at_ms
            for put in record_puts(url, {name: value}, at_ms):
                if not self._item_index.has(put[1]):
                    self._put(put, "entry of an item missing")

    def _check_item_record(self, entry: ItemEntry, at_ms: int) -> None:
        """Delete a record that a killed write left for an item that the page does not have."""
        fields = fields_of(self.zen.nodes.get(self.zen.node_id(entry.url))).items()
        names = (record_names(entry.url, name, value) for name, value in fields)
        if not self._is_recent(at_ms) and not any(
            entry.name in page_records for page_records in names
        ):
            self._item_index.forget([(entry.name, at_ms)])
            self._repair_counts["entry of an item without it"] += 1

    def _is_due(self, key: bytes, row: Row) -> bool:
        """
        Return True if the URL is due but was never fetched.

        Then only its due row contains the URL.
        """
        due = text(row, nodes.DUE)
        return due is not None and self.zen.by_number.has(key, int(due))

    def _check_alias(self, url: str, canonical: str, row: Row) -> None:
        edge, mark = alias_puts(self.zen, url, canonical, self._now_ms())
        if self.zen.get_edge(self.zen.node_id(url), ALIAS, self.zen.node_id(canonical)) is None:
            self._put(edge, "alias edge missing")
        if not self.zen.nodes.get(self.zen.node_id(canonical), [nodes.ALIASED]):
            self._put(mark, "alias mark missing")
        if not self._has_recent_cell(row) and self.aliases.has_data(url, row):
            self.aliases.settle(url, self._now_ms())
            self._repair_counts["alias with data of its own"] += 1

    def _check_object(self, url: str, row: Row) -> None:
        location = nodes.content_cell(row)
        if location is None or self._is_readable(row):
            return
        fresh = self.zen.nodes.get(self.zen.node_id(url), nodes.CONTENT)
        if nodes.content_cell(fresh) != location and self._is_readable(fresh):
            return  # `pack_upkeep` has moved the content since the node was read
        if fresh.get(nodes.CONTENT_HASH) != row.get(nodes.CONTENT_HASH) or self._has_recent_cell(
            fresh
        ):
            return
        at_ms = location[1].at_ms
        self.zen.nodes.delete(self.zen.node_id(url), nodes.CONTENT, at_ms=at_ms)
        # Delete the pointer, so that no reader gets wrong content; the next fetch restores it.
        self._due_index.schedule(url, self._now_ms(), self._now_ms())
        self._repair_counts["content missing or damaged"] += 1

    def _is_readable(self, row: Row) -> bool:
        try:
            return self.bodies.get(row) is not None
        except CorruptContent:
            return False

    def _check_due_row(self, entry: NumberEntry) -> None:
        due_at_ms, page_id, row, _ = entry
        node = self.zen.nodes.get(page_id, [nodes.URL, nodes.DUE])
        if text(node, nodes.DUE) != str(due_at_ms) and not self._has_recent_cell(row):
            if nodes.URL not in node:
                self._fetch_again(page_id, text(row, DUE_URL))
            self.zen.by_number.delete_many([(page_id, due_at_ms, newest_ms(row))])
            self._repair_counts["due row without its node"] += 1

    def _check_host_row(self, key: bytes, row: Row) -> None:
        if not self.zen.nodes.get(key[-ID_BYTES:], [nodes.URL]) and not self._has_recent_cell(row):
            self._fetch_again(key[-ID_BYTES:], text(row, HOST_URL))
            self.zen.by_order.delete_at(key, at_ms=newest_ms(row))
            self._repair_counts["host row without its node"] += 1

    def _fetch_again(self, page_id: bytes, url: str | None) -> None:
        """Make a page due whose node was lost with a damaged file."""
        if (
            url is None
            or self._tombstones.refuses(url)
            or page_id[0] not in self._replaced_first_bytes
            or self.zen.node_id(url) != page_id
        ):
            return
        if not text(self.zen.nodes.get(page_id, [nodes.DUE]), nodes.DUE):
            self._due_index.schedule(url, self._now_ms(), self._now_ms())
            self._repair_counts["page lost with a damaged file, due again"] += 1

    def _check_edge(self, home_id: bytes, direction: bytes, edge_type: int, edge: Edge) -> None:
        # A type has stored counts only if some node has a count for it.
        group = home_id, direction, edge_type
        if edge_type in self._counted_edge_types and group != self._last_edge_group:
            self._last_edge_group = group
            if not self.zen.nodes.get(home_id, [count_column(direction, edge_type)]):
                self._recount(*group)
        if direction != IN or edge_type != ALIAS or self._is_recent(edge.at_ms):
            return
        node = self.zen.nodes.get(edge.other, [nodes.URL, nodes.CANONICAL])
        url = text(node, nodes.URL)
        canonical = alias_of(node, url) if url else None
        if canonical is None or self.zen.node_id(canonical) != home_id:
            self.zen.remove_edge(edge.other, ALIAS, home_id)
            self._repair_counts["alias edge without its pointer"] += 1

    def _recount(self, key: bytes, direction: bytes, edge_type: int) -> None:
        """Correct a node's edge count, unless the writer of a recent edge may still do so."""
        with closing(self.zen.walk_edges(key, direction, edge_type)) as edges:
            if any(self._is_recent(edge.at_ms) for edge in edges):
                return
        if self.zen.counting(edge_type).recount(key, direction, edge_type):
            self._repair_counts["edges counted wrongly"] += 1

    def _check_objects(self, progress: Progress | None, report: Callable[[str], None]) -> bool:
        """Delete content that no page uses. False if some is left to a later repair."""
        suspects = []
        for key in self.bodies.objects.keys(""):
            self._count_row("content", progress, int(key[:8], 16) / 2**32)
            if not self._is_used(key):
                suspects.append(key)
        if suspects and not self.wait:
            report(
                f"{len(suspects):,} stored bodies belong to no page: a repair without --no-wait "
                "deletes them"
            )
            return False
        if suspects:
            # Content is written before its pointer, so give its writer time.
            report(
                f"{len(suspects):,} stored bodies belong to no page: waiting "
                f"{self.grace_s:g} s, in which a writer may still set the pointer, before they "
                "are deleted"
            )
            self.clock.sleep_s(self.grace_s)
        for key in suspects:
            if not self._is_used(key):
                if self._replaced_first_bytes and (url := self._object_url(key)):
                    self._fetch_again(self.zen.node_id(url), url)
                self.bodies.objects.delete(key)
                self._repair_counts["content that nothing points to"] += 1
        return True

    def _check_packs(self, progress: Progress | None, report: Callable[[str], None]) -> None:
        """Mark the pack records that no page uses. `pack_upkeep` removes them later."""
        packs = self.bodies.packs
        if packs is None:
            return
        upkeep = PackUpkeep(self.zen, self.bodies, self.clock)
        for file in packs.files.packs():
            self._count_row("packs", progress)
            if packs.catalog.row(OPEN, file.name) or self._is_recent(file.modified_ms):
                continue  # its writer or `pack_upkeep` will inspect it
            try:
                lost = upkeep.inspect(file.name)
            except CorruptContent as error:
                report(f"pack {file.name}: {error.reason}")
                self._repair_counts["pack damaged"] += 1
                continue
            if lost:
                self._repair_counts["record of a pack that no page has"] += lost

    def _is_used(self, key: str) -> bool:
        """
        Return True if a page uses the content.

        In the newer id layout, this reads the object's URL.
        """
        if not self.zen.naming.together:
            # In this layout, a node's id is a prefix of its content key; both are hashes of the
            # URL.
            page_id = bytes.fromhex(key)[:ID_BYTES]
        elif (url := self._object_url(key)) is not None:
            page_id = self.zen.node_id(url)
        else:
            return False
        node = self.zen.nodes.get(page_id, [nodes.CONTENT_KEY])
        return text(node, nodes.CONTENT_KEY) == key

    def _object_url(self, key: str) -> str | None:
        """
        Return the URL in an object's metadata, or None if it has no URL or is damaged.

        `_check_object` deletes the pointer to a damaged object.
        """
        with suppress(CorruptContent):
            if stored := self.bodies.objects.get(key):
                return stored[1].get("url")
        return None

    def _check_lists(self, progress: Progress | None) -> None:
        for problem in self.compactor.repair_lists(lambda: self._count_row("l", progress)):
            self._repair_counts[problem] += 1

    def _has_recent_cell(self, row: Row) -> bool:
        return any(self._is_recent(cell.at_ms) for cell in row.values())

    def _is_recent(self, at_ms: int) -> bool:
        return at_ms > self._now_ms() - self.grace_s * 1000

    def _put(self, put: Mutation, problem: str) -> None:
        self.zen.mutate([put])
        self._repair_counts[problem] += 1

    def _now_ms(self) -> int:
        return self.clock.now_ms()
