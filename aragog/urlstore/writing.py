"""
The store stage: a bundle of pages in a few batches.

Order: content, then outlinks (journal first), then index rows, then nodes, then what is no longer
true is removed. Killed between any two, the bundle is written again as a whole: all of it are puts
of the same values at the same timestamps, or checks that find their work done.

Pages of a bundle that have a URL in common are written one after the other, so a bundle leaves
what its pages would leave if each came alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from aragog.clock import Clock, SystemClock
from aragog.settings import RefreshSettings, StoreSettings
from aragog.urlstore import history, nodes
from aragog.urlstore.aliases import Aliases, alias_puts
from aragog.urlstore.changes import Change, publish, shown
from aragog.urlstore.compression import content_hash
from aragog.urlstore.due import due_cell, due_put
from aragog.urlstore.fields import FieldRules
from aragog.urlstore.holds import Holds
from aragog.urlstore.hosts import host_put
from aragog.urlstore.keys import content_key
from aragog.urlstore.linking import Linking, LinksWrite
from aragog.urlstore.nodes import Nodes, alias_of, end_of, facts_of, node_id
from aragog.urlstore.outlinks import to_lines
from aragog.urlstore.planning import HELD, Next, gone, planned
from aragog.urlstore.ports import ContentPut, ContentStore
from aragog.urlstore.records import ContentWrite, PageWrite, Written
from aragog.urlstore.refresh import IGNORED_FIELDS
from aragog.zen.codec import due_key
from aragog.zen.tables import Cell, Put, Row, Tables

_COLUMNS = (
    nodes.SENTINEL,
    nodes.URL,
    nodes.CANONICAL,
    nodes.OWN,
    nodes.FACTS,
    nodes.PROVENANCE,
    nodes.CONTENT_HASH,
    nodes.DUE,
    nodes.REMOVED,
    nodes.REFRESH,
    nodes.HELD,
    nodes.LEAVING,
)


@dataclass(slots=True)
class _Plan:
    """One page on its way: where it goes, and what is there already."""

    page: PageWrite
    home: str
    """The URL whose node gets it."""
    row: Row
    """That node."""
    stale: bool
    """Something newer is there."""
    refused: bool
    """The node was removed after this fetch, or taken down."""
    cells: dict[bytes, bytes] = field(default_factory=dict)
    """For the home's node, at the time of the fetch."""
    aliases: list[str] = field(default_factory=list)
    """URLs that shall point at the home."""
    changed: list[str] = field(default_factory=list)
    """Fields whose values are other than the stored ones."""
    missing: frozenset[str] = frozenset()
    """Names of fields that the pipeline had found before this fetch and that it did not bring."""
    gone: frozenset[str] = frozenset()
    """Those of them that are stored, as the pipeline's: they go."""
    body: ContentPut | None = None
    """To be put before anything points to it."""
    due_at_ms: int | None = None
    told: Change | None = None
    """For the change feed."""

    @property
    def whole(self) -> bool:
        """True when the fetch tells all fields of the home; through an alias it may not."""
        return self.page.whole and self.home in (self.page.url, self.page.final_url)


class PageWriter:
    """Writes pages; safe to run twice, late, and by several processes at once."""

    def __init__(
        self,
        tables: Tables,
        content: ContentStore,
        settings: StoreSettings,
        linking: Linking,
        aliases: Aliases,
        refresh: RefreshSettings | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._tables = tables
        self._clock = clock or SystemClock()
        self._refresh = refresh or RefreshSettings()
        self._nodes = Nodes(tables)
        self._holds = Holds(tables)
        self._content = content
        self._linking = linking
        self._aliases = aliases
        self._rules = FieldRules(settings)
        self._history = settings.history
        self._history_length = settings.history_length
        past = [(nodes.field_column(f), nodes.history_column(f)) for f in settings.history]
        self._columns = (*_COLUMNS, *(column for pair in past for column in pair))
        self._fields = frozenset(settings.history)

    def write(
        self, pages: Sequence[PageWrite], now_ms: int
    ) -> tuple[dict[int, Written], list[PageWrite]]:
        """
        Write the pages that have no URL in common with an older one among them.

        Answers by the `id` of each page, and the pages that are left: write them next, at a later
        `now_ms`, for what was deleted now hides what is put at the same instant.

        Raises:
            InvalidField: a field of some page cannot be stored; nothing was written.
            StoreUnavailable, ContentUnavailable: write the bundle again.
        """
        for page in pages:
            self._rules.check(page.fields)
            if not self._fields.issuperset(page.fields):
                self._know(page.fields)
        plans, known, left = self._plan(sorted(pages, key=lambda page: page.fetched_at_ms), now_ms)
        current = {p.home: p for p in plans if not p.stale and not p.refused}
        for plan in plans:
            if not plan.refused:
                self._fill(plan, newest=not plan.stale)
        self._content.put_many([plan.body for plan in plans if plan.body])
        links = self._write_links(current, now_ms)
        self._write_rows(plans, current, now_ms)
        self._afterwards(plans, current, known, now_ms)
        return {id(plan.page): _written(plan, links) for plan in plans}, left

    def _know(self, fields: Iterable[str]) -> None:
        """
        Read these fields too, from now on: what is there already is not written again.

        A process soon knows all that pages bring, so the columns to read are nearly always the
        same, and what the application put beside them is never read.
        """
        self._columns = (*self._columns, *map(nodes.field_column, set(fields) - self._fields))
        self._fields = self._fields.union(fields)

    def _plan(
        self, pages: Sequence[PageWrite], now_ms: int
    ) -> tuple[list[_Plan], dict[str, Row], list[PageWrite]]:
        """Plans, the nodes they were made from, and the pages that must wait until these are."""
        urls = {url for page in pages for url in _urls(page)}
        known = self._nodes.read(urls, self._columns)
        while missing := _targets(known):
            known |= self._nodes.read(missing, self._columns)
        plans = []
        later = []
        touched: set[str] = set()
        for page in pages:
            home = _home(page, known)
            its = {home, *_urls(page), *_homes(page, known)}
            waits = not touched.isdisjoint(its)
            touched |= its  # of one that waits, too: what has to do with it comes after it
            if waits or self._leave(page, home, known, now_ms):
                later.append(page)
                continue
            row = known.get(home, {})
            nodes.check_url(row, home)
            before = _seen_at_ms(row, brief=is_brief(page))
            refused = any(_refuses(known[url], page) for url in {page.url, home} if url in known)
            plans.append(_Plan(page, home, row, page.fetched_at_ms < before, refused))
        for plan in plans:
            self._point(plan, known)
        self._look_for_gone(plans)
        return plans, known, later

    def _leave(self, page: PageWrite, home: str, known: dict[str, Row], now_ms: int) -> bool:
        """
        Take the fetched URLs from homes that this fetch does not name any more; True if any were.

        Only from a home that was never fetched itself: all it shows is what they brought there. A
        home of its own keeps what it has until it is fetched again.
        """
        leaving = [] if is_brief(page) else _leaving(page, home, known)
        for url in leaving:
            self._aliases.undo(url, now_ms, at_ms=known[url][nodes.CANONICAL].at_ms + 1)
        return bool(leaving)

    def _look_for_gone(self, plans: Sequence[_Plan]) -> None:
        """
        Read what pages had and have no more, one multi-get; most pages have what they had.

        Names stay among the pipeline's until their cells are seen to be gone, so that a bundle
        which was killed before it removed them does so the next time.
        """
        for plan in plans:
            if plan.whole and not plan.stale:
                told = facts_of(plan.row, nodes.PROVENANCE)
                plan.missing = frozenset(told.keys() - plan.page.fields.keys())
        names = sorted(frozenset[str]().union(*(plan.missing for plan in plans)))
        if not names:
            return
        columns = [of(name) for name in names for of in (nodes.field_column, nodes.from_column)]
        found = self._nodes.read({plan.home for plan in plans if plan.missing}, columns)
        for plan in plans:
            if plan.missing:
                plan.row = {**plan.row, **found[plan.home]}
                plan.gone = gone(plan.row, (), plan.missing, plan.page.fetched_at_ms)

    def _point(self, plan: _Plan, known: Mapping[str, Row]) -> None:
        """Which URLs become aliases of the home; known is of before this write."""
        page = plan.page
        if not is_brief(page) and not plan.refused:
            members = dict.fromkeys(_urls(page))
            members.pop(plan.home, None)
            if page.canonical_url == page.url:
                # A temporary redirect: where it leads stands for itself.
                members.pop(page.final_url, None)
            plan.aliases = [url for url in members if not _newer_pointer(known[url], page)]

    def _fill(self, plan: _Plan, *, newest: bool) -> None:
        page, cells = plan.page, plan.cells
        brief = is_brief(page)
        if brief and plan.home != page.url:
            return
        cells[nodes.URL] = plan.home.encode()
        cells[nodes.SENTINEL] = b"1"
        told: dict[str, object] = {"url": page.url, "final_url": page.final_url}
        if brief:
            told = {**told, **facts_of(plan.row), **page.facts}
            told["attempted_at_ms"] = page.fetched_at_ms
        else:
            told = {**told, **page.facts, "fetched_at_ms": page.fetched_at_ms}
            told["whole"] = int(plan.whole)
        cells[nodes.FACTS] = orjson.dumps(told)
        if plan.home in (page.url, page.final_url) and not brief:
            # It was asked itself, so it stands for itself, whatever it was taken for before.
            cells[nodes.CANONICAL] = plan.home.encode()
        if plan.home in (page.url, page.final_url) and (page.gone or not brief):
            cells[nodes.OWN] = _own(page, plan.home, plan.home)
        self._fill_fields(plan, newest=newest)
        if newest:
            self._plan_next(plan)
        self._remember(plan)
        if page.content is not None and newest:
            cells |= _content_cells(plan, page.content)

    def _fill_fields(self, plan: _Plan, *, newest: bool) -> None:
        """
        The fields that are other than the stored ones; of an older fetch, those that are missing,
        unless the newer one told all there are.

        Where a page was fetched through another URL all are written: should that turn out to be
        no alias, what its fetch had brought is known by its timestamp.
        """
        page, row = plan.page, plan.row
        alone = plan.home == page.url == page.final_url
        # An older fetch has nothing to add to one that told all there was.
        fills = not (plan.stale and facts_of(row).get("whole"))
        for name, value in page.fields.items():
            there = row.get(column := nodes.field_column(name))
            same = there is not None and there.value == value
            if newest and not same:
                plan.changed.append(name)
            if (there is None and fills) or (newest and not (same and alone)):
                plan.cells[column] = value
        if newest:
            plan.changed += sorted(plan.gone)
        if page.provenance:
            told = _provenance(plan)
            if told != (row[nodes.PROVENANCE].value if nodes.PROVENANCE in row else None):
                plan.cells[nodes.PROVENANCE] = told

    def _plan_next(self, plan: _Plan) -> None:
        seen = plan.page.seen
        if seen is None:
            plan.due_at_ms = plan.page.due_at_ms
        else:
            following = planned(
                plan.row, plan.page, seen, plan.changed, self._refresh, home=plan.home
            )
            plan.cells[nodes.REFRESH] = following.cell
            plan.due_at_ms = following.due_at_ms
            self._tell(plan, following)

    def _tell(self, plan: _Plan, following: Next) -> None:
        """What the change feed says of the page; only holders are told of pages that are new."""
        changed = [name for name in plan.changed if name not in IGNORED_FIELDS]
        held = nodes.text(plan.row, nodes.HELD) == HELD.decode()
        if following.given_up:
            kind = "gone"
        elif changed and (held or not following.first):
            kind = "new" if following.first else "changed"
        else:
            return
        both = {}
        for name in changed:
            there = plan.row.get(nodes.field_column(name))
            both[name] = (shown(there and there.value), shown(plan.page.fields.get(name)))
        owners = tuple(self._holds.owners(plan.home)) if held else ()
        plan.told = Change(plan.home, plan.page.fetched_at_ms, kind, both, owners)

    def _remember(self, plan: _Plan) -> None:
        for name in self._history:
            value = plan.page.fields.get(name)
            if name in plan.gone:
                past = history.begun(plan.row, name)
                plan.cells |= {nodes.history_column(name): past.value} if past else {}
            if value is not None:
                column = nodes.history_column(name)
                past = history.begun(plan.row, name)
                at_ms = plan.page.fetched_at_ms
                new = history.extended(past, value, at_ms, self._history_length)
                if new is not None:
                    plan.cells[column] = new
                    plan.row = {**plan.row, column: Cell(new, at_ms)}

    def _write_links(self, current: Mapping[str, _Plan], now_ms: int) -> dict[str, tuple[int, int]]:
        writes = [
            LinksWrite(plan.home, plan.page.fetched_at_ms, to_lines(plan.page.links))
            for plan in current.values()
            if plan.page.links is not None
        ]
        done = self._linking.write(writes, now_ms) if writes else {}
        return {source: (links.added, links.removed) for source, links in done.items()}

    def _write_rows(
        self, plans: Sequence[_Plan], current: Mapping[str, _Plan], now_ms: int
    ) -> None:
        indexes: list[Put] = []
        edges: list[Put] = []
        rows: list[Put] = []
        for plan in plans:
            at_ms = plan.page.fetched_at_ms
            if plan.cells:
                if nodes.SENTINEL not in plan.row:
                    indexes.append(host_put(plan.home, now_ms))
                rows.append(("n", node_id(plan.home), plan.cells, at_ms))
            for alias in plan.aliases:
                edges += alias_puts(alias, plan.home, now_ms)
                indexes.append(host_put(alias, now_ms))
                rows.append(("n", node_id(alias), _pointer(plan, alias), at_ms))
        for plan in current.values():
            if plan.cells:
                due_at_ms = plan.due_at_ms
                if due_at_ms is not None:
                    indexes.append(due_put(plan.home, due_at_ms, now_ms))
                stamped = {nodes.VERSION: os.urandom(8).hex().encode()}
                stamped[nodes.DUE] = due_cell(due_at_ms)
                rows.append(("n", node_id(plan.home), stamped, now_ms))
        told = [plan.told for plan in current.values() if plan.told]
        if told:
            # Before the nodes: told twice, if need be, but never not told.
            publish(self._tables, told, self._clock)
        if edges:
            # An alias's edge lies with its home, so it must be there before its pointer is.
            self._tables.write(edges)
        self._tables.write([*indexes, *rows])

    def _afterwards(
        self,
        plans: Sequence[_Plan],
        current: Mapping[str, _Plan],
        known: Mapping[str, Row],
        now_ms: int,
    ) -> None:
        """What the new state has made untrue."""
        outdated = []
        for home, plan in current.items():
            old = nodes.text(known.get(home, {}), nodes.DUE)
            if plan.cells and old and old != str(plan.due_at_ms):
                outdated.append((due_key(node_id(home), int(old)), None, now_ms))
        if outdated:
            self._tables["d"].delete_many(outdated)
        vanished = [
            (node_id(home), list(map(nodes.field_column, sorted(plan.gone))), at_ms)
            for home, plan in current.items()
            if plan.gone
            for at_ms in [plan.page.fetched_at_ms]
        ]
        if vanished:
            self._tables["n"].delete_many(vanished)
        trusted = [url for plan in current.values() for url in _refuted(plan)]
        if trusted:
            self._aliases.disappoint(trusted, now_ms)
        for plan in plans:
            for alias in plan.aliases:
                if _has_own(known.get(alias, {})):
                    self._aliases.settle(alias, now_ms)


def is_brief(page: PageWrite) -> bool:
    """True for a fetch that brought no page: it says nothing of identity, fields and links."""
    return not page.fields and page.links is None and page.content is None


def _refuted(plan: _Plan) -> list[str]:
    """URLs of the fetch that turned out to stand for no page; aliases may have trusted them."""
    page = plan.page
    if is_brief(page) and not page.gone:
        return []
    asked = dict.fromkeys((page.url, page.final_url))
    # A page that stands for itself behind a temporary redirect says nothing about the URL it was
    # redirected to.
    return [url for url in asked if page.gone or plan.home not in (url, page.url)]


def _content_cells(plan: _Plan, content: ContentWrite) -> dict[bytes, bytes]:
    """The cells that point to the body, which is to be put unless these very bytes are there."""
    key, digest = content_key(plan.home), content_hash(content.body)
    there = plan.row.get(nodes.CONTENT_HASH)
    if there is None or there.value != digest.encode():
        meta = {**content.meta, "url": plan.home, "encoding": content.encoding}
        plan.body = ContentPut(key, content.body, meta)
    return {
        nodes.CONTENT_KEY: key.encode(),
        nodes.CONTENT_HASH: digest.encode(),
        nodes.CONTENT_LENGTH: b"%d" % content.length_bytes,
        nodes.CONTENT_ENCODING: content.encoding.encode(),
    }


def _urls(page: PageWrite) -> tuple[str, ...]:
    """Every URL that the fetch says something of."""
    return (page.url, page.final_url, page.canonical_url, *page.also)


def _homes(page: PageWrite, known: dict[str, Row]) -> list[str]:
    """Where the URLs of a fetch lead by what is stored."""
    return [end_of(url, known) for url in _urls(page)]


def _leaving(page: PageWrite, home: str, known: dict[str, Row]) -> list[str]:
    leaving = []
    for url in dict.fromkeys((page.url, page.final_url)):
        row = known.get(url, {})
        before = alias_of(row, url)
        if nodes.text(row, nodes.LEAVING):
            leaving.append(url)
        elif before not in (None, home) and row[nodes.CANONICAL].at_ms < page.fetched_at_ms:
            there = known.get(before, {})
            if nodes.OWN not in there and nodes.CANONICAL not in there:
                leaving.append(url)
    return leaving


def _has_own(row: Row) -> bool:
    held = nodes.text(row, nodes.HELD) == HELD.decode()
    return nodes.SENTINEL in row or held or bool(nodes.text(row, nodes.DUE))


def _targets(known: Mapping[str, Row]) -> list[str]:
    targets = {alias_of(row, url) for url, row in known.items()}
    return [target for target in targets if target is not None and target not in known]


def _home(page: PageWrite, known: dict[str, Row]) -> str:
    """The URL that gets the page."""
    if is_brief(page):
        return end_of(page.url, known)
    canonical = page.canonical_url
    row = known.get(canonical, {})
    pointer = row.get(nodes.CANONICAL)
    itself = canonical in (page.url, page.final_url)
    if itself and (pointer is None or pointer.at_ms <= page.fetched_at_ms):
        return canonical
    return end_of(canonical, known)


def _newer_pointer(row: Row, page: PageWrite) -> bool:
    cell = row.get(nodes.CANONICAL)
    return cell is not None and cell.at_ms > page.fetched_at_ms


def _refuses(row: Row, page: PageWrite) -> bool:
    cell = row.get(nodes.REMOVED)
    if cell is None:
        return False
    return cell.value == nodes.TAKEN_DOWN or cell.at_ms >= page.fetched_at_ms


def _seen_at_ms(row: Row, *, brief: bool) -> int:
    """When what the node holds was fetched; for a failure attempts count too."""
    facts = facts_of(row)
    fetched = facts.get("fetched_at_ms") or 0
    tried = facts.get("attempted_at_ms") or 0 if brief else 0
    return max(int(fetched), int(tried))


def _own(page: PageWrite, url: str, home: str) -> bytes:
    """What this fetch told of `url` itself."""
    moved = url != page.final_url
    return orjson.dumps(
        {
            "status": None if moved else page.facts.get("status"),
            "canonical_url": None if moved else home,
            "redirects_to": page.final_url if moved else None,
            "gone": page.gone,
        }
    )


def _pointer(plan: _Plan, alias: str) -> dict[bytes, bytes]:
    page = plan.page
    cells = {
        nodes.URL: alias.encode(),
        nodes.CANONICAL: plan.home.encode(),
        nodes.PROVISIONAL: b"1" if page.provisional else b"",
        nodes.REASONS: orjson.dumps(page.canonical_reasons),
    }
    if alias in (page.url, page.final_url, *page.also):
        cells[nodes.OWN] = _own(page, alias, plan.home)
    return cells


def _provenance(plan: _Plan) -> bytes:
    old = facts_of(plan.row, nodes.PROVENANCE)
    kept = {name: at for name, at in old.items() if name not in plan.missing or name in plan.gone}
    return orjson.dumps({**kept, **plan.page.provenance})


def _written(plan: _Plan, links: Mapping[str, tuple[int, int]]) -> Written:
    added, removed = links.get(plan.home, (0, 0))
    stale = plan.stale or plan.refused
    return Written(plan.page.url, plan.home, stale, *((0, 0) if stale else (added, removed)))
