"""
The UrlStore: metadata, content and links of URLs, by any spelling and through any alias.

Reads and writes go to the URL that stands for the one asked for: it is normalized, its node is
read together with what was asked, and only where that node points at another is there a second
round trip. Nothing here is a transaction: every step may be repeated, and is written so that what
a reader sees in between is old or new, never wrong.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing

import orjson

from aragog.clock import Clock, SystemClock
from aragog.errors import BadInput, CorruptContent, TakenDown
from aragog.settings import RefreshSettings, StoreSettings
from aragog.urls.canonical import KnownPage
from aragog.urls.normalize import normalize
from aragog.urlstore import history, nodes
from aragog.urlstore.aliases import Aliases
from aragog.urlstore.changes import Change, Changes
from aragog.urlstore.compression import compress, content_hash, decompress
from aragog.urlstore.conditional import Conditional
from aragog.urlstore.due import DueIndex
from aragog.urlstore.fields import FieldRules
from aragog.urlstore.fold import Folder
from aragog.urlstore.freshness import SAMPLE, Freshness, freshness, page_seen_at_ms
from aragog.urlstore.holds import MAX_OWNER_BYTES, Hold, Holds
from aragog.urlstore.hooks import Hooks
from aragog.urlstore.hosts import Hosts, host_put
from aragog.urlstore.inlinks import LinkReader
from aragog.urlstore.keys import content_key
from aragog.urlstore.linking import Linking, LinksWrite, with_links, without
from aragog.urlstore.nodes import Nodes, facts_of, from_column, node_id, text
from aragog.urlstore.outlinks import to_lines
from aragog.urlstore.pacing import Pacing
from aragog.urlstore.planning import renewed, state_of
from aragog.urlstore.ports import ContentStore
from aragog.urlstore.reading import BASE, columns_of, record_of
from aragog.urlstore.records import (
    Content,
    Due,
    FoldReport,
    LinkRecord,
    OutLink,
    Page,
    PageWrite,
    Record,
    Written,
)
from aragog.urlstore.refresh import State
from aragog.urlstore.repair import GRACE_S, Progress, Repair, RepairReport
from aragog.urlstore.scarcity import Budget
from aragog.urlstore.takedown import Takedown
from aragog.urlstore.writing import PageWriter
from aragog.zen.tables import Put, Row, Tables

_KNOWN = (nodes.URL, nodes.CANONICAL, nodes.OWN)
_SEEN = (nodes.URL, nodes.CANONICAL, nodes.CONTENT_KEY, nodes.FACTS, nodes.REFRESH)


class UrlStore:
    """
    Any number of processes may hold one over the same tables; threads may share it.

    Every method that takes a URL raises `InvalidUrl` for one that cannot be normalized, and
    `StoreUnavailable` when the tables do not answer.
    """

    def __init__(
        self,
        tables: Tables,
        content: ContentStore,
        settings: StoreSettings,
        clock: Clock | None = None,
        refresh: RefreshSettings | None = None,
    ) -> None:
        self._tables = tables
        self._table = tables["n"]
        self._content = content
        self._settings = settings
        self._clock = clock or SystemClock()
        self._floor_ms = 0
        self._nodes = Nodes(tables)
        self._rules = FieldRules(settings)
        self._linking = Linking(tables, settings.inlinks, self._clock)
        self._aliases = Aliases(tables, content, self._linking, refresh)
        self._links = LinkReader(tables, self._linking, self._aliases)
        self._writer = PageWriter(
            tables, content, settings, self._linking, self._aliases, refresh, self._clock
        )
        self._folder = Folder(tables, self._clock)
        self._due = DueIndex(tables)
        self._hosts = Hosts(tables)
        self._holds = Holds(tables)
        self._pacing = Pacing(tables)
        self._fresh: tuple[int, dict[str, Freshness]] = (0, {})
        self._changes = Changes(tables)
        self.hooks = Hooks(tables)
        self._takedown = Takedown(tables, content, self._linking, self._aliases, self._hosts)
        self._conditional = Conditional(tables, self._clock)

    # Reading

    def get(
        self, url: str, fields: Sequence[str] | None = None, *, info: bool = False
    ) -> Record | None:
        """
        What is known of a URL; None when nothing is.

        One round trip for a URL that is no alias, two for one that is.

        Args:
            url: in any spelling.
            fields: which to read; None means all, () none, facts alone.
            info: with the time and the provenance of each field.
        """
        asked = normalize(url)
        columns = columns_of(fields, info=info)
        row = self._table.get(node_id(asked), columns)
        pointer = row.get(nodes.CANONICAL)
        if pointer is None or pointer.value == asked.encode():
            return record_of(asked, asked, row, fields, info=info)
        home, its = self._nodes.follow([asked], columns, {asked: row})[asked]
        return record_of(asked, home, its, fields, info=info, alias=row)

    def get_many(
        self, urls: Sequence[str], fields: Sequence[str] | None = None, *, info: bool = False
    ) -> list[Record | None]:
        """`get` of each, in order; one multi-get, and one more where there are aliases."""
        asked = [normalize(url) for url in urls]
        columns = columns_of(fields, info=info)
        found = self._nodes.follow(asked, columns)
        return [
            record_of(url, home, row, fields, info=info)
            for url in asked
            for home, row in [found[url]]
        ]

    def resolve(self, url: str) -> str:
        """The URL that stands for this one; itself for one that is unknown."""
        return self._home(normalize(url))[0]

    def content(self, url: str) -> Content | None:
        """
        The page's body and what is beside it; None when there is none.

        Raises:
            CorruptContent: what is stored is not what the node says, on second reading too.
            ContentUnavailable: the content store does not answer.
        """
        asked, failure = normalize(url), ""
        for _ in range(2):
            # Twice: between the node and the object another writer may have replaced both.
            home, row = self._nodes.follow([asked], BASE)[asked]
            key = text(row, nodes.CONTENT_KEY)
            if key is None or nodes.SENTINEL not in row:
                return None
            stored = self._content.get(key)
            if stored is None:
                failure = "is missing"
            elif content_hash(stored[0]) != text(row, nodes.CONTENT_HASH):
                failure = "is not what its pointer says"
            else:
                body, meta = stored
                return Content(home, decompress(body), dict(meta), facts_of(row))
        raise CorruptContent(content_key(home), failure)

    def outlinks(self, url: str, limit: int = 1000, cursor: str | None = None) -> Page[LinkRecord]:
        """Links of the page, in its order; 6,000 a call at most."""
        return self._links.outlinks(self.resolve(url), limit, cursor)

    def inlinks(self, url: str, limit: int = 100, cursor: str | None = None) -> Page[LinkRecord]:
        """
        Links to the page and to its aliases, by source; 6,000 a call at most.

        They lag behind by the time until the next fold. Constant memory, whatever their number.
        """
        home, row = self._home(normalize(url), [nodes.ALIASED])
        return self._links.inlinks(home, limit, cursor, aliased=nodes.ALIASED in row)

    def count_inlinks(self, url: str) -> int:
        """How many `inlinks` would give; read from counts, not from the list."""
        home, row = self._home(normalize(url), [nodes.ALIASED])
        return self._links.count_inlinks(home, aliased=nodes.ALIASED in row)

    def aliases(self, url: str) -> list[str]:
        """URLs that stand for the same page."""
        return list(self._aliases.of(self.resolve(url)))

    def canonical_reasons(self, url: str) -> list[str]:
        """Why the last fetch of `url` itself took its canonical URL; empty: nothing is known."""
        cell = self._table.get(node_id(normalize(url)), [nodes.REASONS]).get(nodes.REASONS)
        return [str(reason) for reason in orjson.loads(cell.value)] if cell else []

    def history(self, url: str, field: str) -> list[tuple[bytes, int]]:
        """(value, at_ms) of the last changes of a field in `store.history`, newest first."""
        _, row = self._home(
            normalize(url), [nodes.history_column(field), nodes.field_column(field)]
        )
        past = history.entries(row.get(nodes.history_column(field)))
        now = row.get(nodes.field_column(field))
        return past or ([(now.value, now.at_ms)] if now else [])

    def known_pages(self, urls: Sequence[str]) -> dict[str, KnownPage]:
        """What fetches of these very URLs (normalized) told; unknown ones are left out."""
        known = {}
        for url, row in self._nodes.read(dict.fromkeys(urls), _KNOWN).items():
            own = facts_of(row, nodes.OWN)
            if own:
                known[url] = KnownPage(
                    status=own["status"],  # type: ignore[arg-type]
                    canonical_url=text(row, nodes.CANONICAL) or own["canonical_url"],  # type: ignore[arg-type]
                    redirects_to=own["redirects_to"],  # type: ignore[arg-type]
                    gone=bool(own["gone"]),
                )
        return known

    def seen_at_ms(self, urls: Sequence[str]) -> list[int | None]:
        """
        When each URL's page was last seen to be as it is stored, by a fetch or a 304.

        None for a page without content. One multi-get, and one more where there are aliases.
        """
        asked = [normalize(url) for url in urls]
        found = self._nodes.follow(asked, _SEEN)
        return [
            page_seen_at_ms(row) if text(row, nodes.CONTENT_KEY) else None
            for url in asked
            for _, row in [found[url]]
        ]

    def list_pages(self, cursor: str | None = None, limit: int = 1000) -> Page[str]:
        """URLs of pages, without aliases, in the order of their keys, which is that of hashes."""
        start = bytes.fromhex(cursor or "")
        found: list[str] = []
        columns = [nodes.URL, nodes.CANONICAL, nodes.SENTINEL]
        last, looked = b"", 0
        with closing(self._table.scan(start, None, columns=columns, limit=limit)) as rows:
            for key, row in rows:
                last, looked = key, looked + 1
                url = text(row, nodes.URL)
                if url and nodes.SENTINEL in row and not nodes.alias_of(row, url):
                    found.append(url)
        return Page(found, (last + b"\0").hex() if looked == limit else None)

    def list_host(self, host: str, cursor: str | None = None, limit: int = 1000) -> Page[str]:
        """URLs of a host, aliases too, in no order that means anything."""
        return self._hosts.page(host, cursor, limit)

    # Writing

    def put(
        self,
        url: str,
        fields: Mapping[str, bytes],
        *,
        at_ms: int | None = None,
        provenance: Mapping[str, str] | None = None,
        if_version: str | None = None,
    ) -> str:
        """
        Set fields; others stay. Returns the new version.

        Args:
            url: in any spelling.
            fields: name to value; limits are in the settings.
            at_ms: when the values were true; a value never replaces one of a later time. None: now.
            provenance: field to where it was found, given back by `get(info=True)`.
            if_version: write only if the record still has this version; "" for one that is not
                there yet.

        Raises:
            InvalidField: a name or a value that is not taken; nothing was written.
            VersionConflict: the version is another; nothing was written.
            TakenDown: the URL was taken down.
        """
        self._rules.check(fields)
        asked, now_ms = normalize(url), self._now_ms()
        past = [nodes.history_column(f) for f in fields if f in self._settings.history]
        columns = [*BASE, *past, *map(nodes.field_column, fields)]
        home, row = self._home(asked, columns)
        self._check_not_taken_down(home, row)
        at_ms = now_ms if at_ms is None else at_ms
        version = os.urandom(8).hex()
        puts = self._field_puts(home, row, fields, provenance or {}, at_ms)
        puts.append(("n", node_id(home), {nodes.VERSION: version.encode()}, now_ms))
        if nodes.SENTINEL not in row:
            self._tables.write([host_put(home, now_ms)])
        if if_version is None:
            self._tables.write(puts)
        else:
            self._conditional.write(home, if_version, puts)
        return version

    def _field_puts(
        self,
        home: str,
        row: Row,
        fields: Mapping[str, bytes],
        provenance: Mapping[str, str],
        at_ms: int,
    ) -> list[Put]:
        cells = {nodes.URL: home.encode(), nodes.SENTINEL: b"1"}
        for name, value in fields.items():
            cells[nodes.field_column(name)] = value
            cells[from_column(name)] = provenance.get(name, "").encode()
            if name in self._settings.history:
                column, length = nodes.history_column(name), self._settings.history_length
                new = history.extended(history.begun(row, name), value, at_ms, length)
                if new is not None:
                    cells[column] = new
        return [("n", node_id(home), cells, at_ms)]

    def replace_fields(
        self,
        url: str,
        fields: Mapping[str, bytes],
        provenance: Mapping[str, str],
        *,
        at_ms: int,
    ) -> set[str]:
        """
        The pipeline's fields of a page as of `at_ms`, read anew; the names of those that changed.

        What it had found before and finds no more goes; what is newer, or was put by others,
        stays. Safe to repeat.
        """
        self._rules.check(fields)
        home, row = self._nodes.follow([asked := normalize(url)], None)[asked]
        self._check_not_taken_down(home, row)
        before = nodes.facts_of(row, nodes.PROVENANCE)
        now_ms = self._now_ms()
        cells, gone, changed = renewed(row, fields, before, at_ms)
        told = {**{n: v for n, v in before.items() if n not in gone}, **provenance}
        cells[nodes.PROVENANCE] = orjson.dumps(told)
        if gone:
            # First: once the new version's mark is written nobody comes here again.
            columns = [nodes.field_column(name) for name in gone]
            self._table.delete(node_id(home), columns, at_ms=at_ms)
        at = max(at_ms, row[nodes.PROVENANCE].at_ms if nodes.PROVENANCE in row else 0)
        version = {nodes.VERSION: os.urandom(8).hex().encode()}
        self._tables.write([("n", node_id(home), cells, at), ("n", node_id(home), version, now_ms)])
        return changed | gone

    def put_content(
        self,
        url: str,
        body: bytes,
        meta: Mapping[str, str] | None = None,
        *,
        at_ms: int | None = None,
    ) -> None:
        """Replace the page's content; compressed here with zstd. Data first, then the pointer."""
        now_ms = self._now_ms()
        home, row = self._home(normalize(url), BASE)
        self._check_not_taken_down(home, row)
        packed, key = compress(body), content_key(home)
        self._content.put(key, packed, {**(meta or {}), "url": home, "encoding": "zstd"})
        cells = {
            nodes.URL: home.encode(),
            nodes.SENTINEL: b"1",
            nodes.CONTENT_KEY: key.encode(),
            nodes.CONTENT_HASH: content_hash(packed).encode(),
            nodes.CONTENT_LENGTH: b"%d" % len(body),
            nodes.CONTENT_ENCODING: b"zstd",
        }
        at_ms = now_ms if at_ms is None else at_ms
        version = {nodes.VERSION: os.urandom(8).hex().encode()}
        self._tables.write([host_put(home, now_ms)])
        self._tables.write(
            [("n", node_id(home), cells, at_ms), ("n", node_id(home), version, now_ms)]
        )

    def write_pages(self, pages: Sequence[PageWrite]) -> list[Written]:
        """
        Store what a bundle of fetches brought; the answers are in the order of `pages`.

        Their URLs are normalized already. Safe to run twice, late, and in several processes at
        once: what is older never replaces what is newer. Killed in the middle: write it again.

        Raises:
            InvalidField: a field of some page is not taken; nothing was written.
            StoreUnavailable, ContentUnavailable: part of it may be written; write it again.
        """
        done: dict[int, Written] = {}
        left = list(pages)
        while left:
            written, left = self._writer.write(left, now_ms := self._now_ms())
            self._floor_ms = max(self._floor_ms, now_ms + 1)
            done |= written
        return [done[id(page)] for page in pages]

    def add_links(self, url: str, links: Sequence[OutLink]) -> None:
        """Add outlinks; those to the same targets are replaced. Targets are normalized here."""
        fresh = to_lines([(normalize(link.url), link.text, link.rel) for link in links])
        home, now_ms = self.resolve(url), self._now_ms()
        self._linking.write([LinksWrite(home, now_ms, with_links(fresh))], now_ms)

    def remove_links(self, url: str, targets: Sequence[str]) -> None:
        """Remove the outlinks to `targets`."""
        home, now_ms = self.resolve(url), self._now_ms()
        gone = {normalize(target) for target in targets}
        self._linking.write([LinksWrite(home, now_ms, without(gone))], now_ms)

    def merge_alias(
        self,
        alias_url: str,
        canonical_url: str,
        *,
        at_ms: int | None = None,
        provisional: bool = False,
        reasons: Sequence[str] = (),
    ) -> None:
        """
        Let one URL stand for another, by evidence of `at_ms` (None: now).

        What was stored under it moves, with its timestamps. Safe to run twice and in any order:
        of contradicting evidence the latest counts.
        """
        now_ms = self._now_ms()
        self._aliases.merge(
            normalize(alias_url),
            normalize(canonical_url),
            at_ms=now_ms if at_ms is None else at_ms,
            now_ms=now_ms,
            provisional=provisional,
            reasons=tuple(reasons),
        )
        self._floor_ms = now_ms + 1

    def undo_alias(self, alias_url: str) -> None:
        """Let a URL stand for itself again; what its own fetch had brought comes back to it."""
        now_ms = self._now_ms()
        self._aliases.undo(normalize(alias_url), now_ms)
        self._floor_ms = now_ms + 1

    # Upkeep

    def fold_links(self, limit: int = 1000) -> FoldReport:
        """
        Fold the journal rows of about `limit` pages into the inlinks; about 30 KB of memory a page.

        Killed at any point and run again, here or elsewhere, it gives the same lists and counts.
        """
        return self._folder.fold(limit)

    def remove(self, url: str) -> None:
        """
        Forget a page: fields, facts, content, outlinks, due row. A later fetch brings it back.

        Links to it stay, they are other pages'; so do its aliases.
        """
        now_ms = self._now_ms()
        self._takedown.remove(self.resolve(url), now_ms)
        self._floor_ms = now_ms + 1

    def take_down(
        self, *, url: str | None = None, host: str | None = None, domain: str | None = None
    ) -> int:
        """
        Forget a page with its aliases, or all URLs of a host or domain, for good; how many.

        What is left is a stub a URL that refuses every later write, until `lift_takedown`. Exactly
        one argument is given. Safe to repeat; a URL that is stored meanwhile may be missed.
        """
        now_ms = self._now_ms()
        if (url is None) + (host is None) + (domain is None) != 2:
            raise BadInput("take_down: give one of url, host and domain")
        if url is not None:
            count = self._takedown.take_down(self.resolve(url), now_ms)
        elif host is not None:
            count = self._takedown.of_host(host, now_ms)
        else:
            count = self._takedown.of_domain(str(domain), now_ms)
        self._floor_ms = now_ms + 1
        return count

    def lift_takedown(self, url: str) -> None:
        """Let a URL be stored again; what was there does not come back."""
        now_ms = self._now_ms()
        asked = normalize(url)
        for one in dict.fromkeys([asked, self.resolve(url)]):
            self._takedown.lift(one, now_ms)
        self._floor_ms = now_ms + 1

    def repair(self, progress: Progress | None = None, *, grace_s: float = GRACE_S) -> RepairReport:
        """
        Walk all and make indexes, aliases, content, counts and due rows agree with the nodes.

        May run beside the workers: what is younger than `grace_s` is left to its writer. Where
        content is found that nothing points to, it waits `grace_s` before that is removed.
        """
        repair = Repair(
            self._tables, self._content, self._aliases, self._folder, self._clock, grace_s=grace_s
        )
        report = repair.run(progress)
        self._floor_ms = self._now_ms() + 1
        return report

    def fold_lag_ms(self) -> int:
        """How long the oldest change has waited to be folded; 0: nothing waits."""
        return self._folder.lag_ms()

    def freshness(self, sample: int = SAMPLE, *, cached_s: float = 0.0) -> dict[str, Freshness]:
        """
        How old what is served is and how much is refreshed in time, by type, from a sample.

        With `cached_s` the last answer is given again while it is no older.
        """
        now_ms = self._clock.now_ms()
        at_ms, found = self._fresh
        if not 0 <= now_ms - at_ms < cached_s * 1000:
            found = freshness(self._tables, now_ms, sample)
            self._fresh = (now_ms, found)
        return found

    def claim_due(
        self, now_ms: int, limit: int, lease_s: float, *, upto_ms: int | None = None
    ) -> list[Due]:
        """
        Up to `limit` URLs whose time has come, soonest first; nobody else gets them for `lease_s`.

        With `upto_ms` only those whose time had come by then.

        A claimed URL is due again when the lease is over, unless it was written or rescheduled.
        """
        return self._due.claim(now_ms, limit, lease_s, upto_ms)

    def oldest_due_ms(self, now_ms: int) -> int | None:
        """When the oldest URL that is due and not claimed was due; None: nothing is."""
        return self._due.oldest_ms(now_ms)

    def put_off(self, later: Sequence[tuple[Due, int]]) -> None:
        """Give URLs that were claimed another instant, unless they were planned anew meanwhile."""
        now_ms = self._now_ms()
        self._due.put_off(later, now_ms)
        self._floor_ms = now_ms + 1

    def take_tick(self, name: str, now_ms: int, least_s: float) -> float | None:
        """Seconds since the last tick of that name, for one caller; None: it is too soon."""
        return self._pacing.take_tick(name, now_ms, least_s)

    def bookmark(self, name: str) -> str | None:
        """Where a long walk of that name was; None: at its beginning."""
        return self._pacing.bookmark(name)

    def set_bookmark(self, name: str, cursor: str) -> None:
        """Where it is now; an empty cursor: it is done, the next one begins anew."""
        self._pacing.set_bookmark(name, cursor, self._now_ms())

    def refresh_state(self, url: str) -> State | None:
        """What the refresh schedule remembers of the URL's page; None: nothing."""
        return state_of(self._home(normalize(url), [nodes.REFRESH])[1])

    def budgets(self, domains: Sequence[str]) -> dict[str, Budget]:
        """What is remembered of the refreshes of each domain."""
        return self._pacing.budgets(domains)

    def keep_budgets(self, budgets: Mapping[str, Budget]) -> None:
        """Remember it for the next tick."""
        if budgets:
            self._pacing.keep_budgets(budgets, self._now_ms())

    def hold(self, url: str, owner: str, *, at_ms: int | None = None) -> None:
        """
        Keep a URL's page fresh for `owner`, as of `at_ms` (None: now). It fetches nothing itself.

        Holding twice is holding once, by whatever spelling or alias; of a hold and a release by
        the same owner the later one counts, whatever order they come in.

        Raises:
            BadInput: the owner's name is empty or too long.
            TakenDown: the URL was taken down.
        """
        home, row = self._set_hold(url, owner, at_ms, active=True)
        state = state_of(row)
        if state and state.due_at_ms is not None and not text(row, nodes.DUE):
            now_ms = self._now_ms()
            self._due.schedule(home, max(state.due_at_ms, now_ms), now_ms)

    def release(self, url: str, owner: str, *, at_ms: int | None = None) -> None:
        """
        Let go of a URL. The last one to do so ends its refreshing; what is stored stays.

        A URL that nobody ever held goes on as before.
        """
        self._set_hold(url, owner, at_ms, active=False)

    def _set_hold(
        self, url: str, owner: str, at_ms: int | None, *, active: bool
    ) -> tuple[str, Row]:
        if not 0 < len(owner.encode("utf-8", "replace")) <= MAX_OWNER_BYTES:
            raise BadInput(f"owner: must have 1 to {MAX_OWNER_BYTES} bytes")
        asked, now_ms = normalize(url), self._now_ms()
        home, row = self._home(asked, [nodes.REFRESH, nodes.DUE, nodes.REMOVED])
        if active:
            self._check_not_taken_down(home, row)
        at_ms = now_ms if at_ms is None else at_ms
        held = self._holds.write(home, Hold(owner, asked, active, at_ms), now_ms)
        if held is False and text(row, nodes.DUE):
            self._due.schedule(home, None, now_ms)
            self._floor_ms = now_ms + 1
        return home, row

    def holders(self, url: str) -> list[str]:
        """Who holds the URL's page."""
        return self._holds.owners(self.resolve(url))

    def changes(
        self,
        cursor: str | None = None,
        limit: int = 100,
        *,
        owner: str | None = None,
        host: str | None = None,
    ) -> Page[Change]:
        """
        What became other behind the cursor (None: since the oldest kept), and the next cursor.

        Of all pages, of those that `owner` held then, or of one host. Each change comes once at
        least; a page may be empty though there is more behind its cursor.
        """
        return self._changes.page(cursor, self._now_ms(), limit, owner=owner, host=host)

    def changes_end(self) -> str:
        """The cursor behind all changes that can be read now."""
        return self._changes.end(self._now_ms())

    def sweep_changes(self, kept_s: float) -> int:
        """Let go of changes older than that; how many rows."""
        return self._changes.sweep(self._now_ms() - int(kept_s * 1000))

    def schedule(self, url: str, due_at_ms: int | None) -> None:
        """Fetch a URL again at an instant; None: never. Replaces what was planned before."""
        now_ms = self._now_ms()
        home, row = self._home(normalize(url), BASE)
        self._check_not_taken_down(home, row)
        self._due.schedule(home, due_at_ms, now_ms)
        self._floor_ms = now_ms + 1

    def close(self) -> None:
        """Let go of the tables' files and connections."""
        self._tables.close()

    def _home(self, asked: str, columns: Sequence[bytes] | None = None) -> tuple[str, Row]:
        wanted = [nodes.URL, nodes.CANONICAL, *(columns or ())]
        return self._nodes.follow([asked], wanted)[asked]

    def _check_not_taken_down(self, home: str, row: Row) -> None:
        cell = row.get(nodes.REMOVED)
        if cell and cell.value == nodes.TAKEN_DOWN:
            raise TakenDown(home)

    def _now_ms(self) -> int:
        """Now, but later than the last delete here: a put of the same instant could be masked."""
        return max(self._clock.now_ms(), self._floor_ms)
