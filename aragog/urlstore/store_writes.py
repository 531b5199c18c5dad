"""Writing: fields, content, whole pages, links, aliases, takedown."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

import orjson

from aragog.errors import BadInput, TakenDown
from aragog.urls.normalize import normalize
from aragog.urlstore.content.compression import compress, content_hash
from aragog.urlstore.content.keys import content_key
from aragog.urlstore.links.outlink_writer import LinksWrite, with_links, without
from aragog.urlstore.links.outlinks import to_lines
from aragog.urlstore.pages import history, nodes, page_updates
from aragog.urlstore.pages.hosts import host_put
from aragog.urlstore.pages.nodes import from_column, node_id
from aragog.urlstore.pages.record_reader import BASE
from aragog.urlstore.pages.tombstones import DOMAIN, HOST, site_name
from aragog.urlstore.records import OutLink, PageWrite, Written
from aragog.urlstore.schedule.next_fetch import renewed
from aragog.urlstore.store_base import StoreBase
from aragog.zen.tables import Put, Row


class StoreWrites(StoreBase):
    """What a UrlStore is written by."""

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
        canonical, row = self._canonical(asked, columns)
        self._check_not_taken_down(canonical, row)
        at_ms = now_ms if at_ms is None else at_ms
        version = os.urandom(8).hex()
        puts = self._field_puts(canonical, row, fields, provenance or {}, at_ms)
        puts.append(("n", node_id(canonical), {nodes.VERSION: version.encode()}, now_ms))
        with self._writing(asked, canonical):
            if nodes.SENTINEL not in row:
                self._tables.write([host_put(canonical, now_ms)])
            if if_version is None:
                self._tables.write(puts)
            else:
                self._conditional.write(canonical, if_version, puts)
        return version

    def _field_puts(
        self,
        canonical: str,
        row: Row,
        fields: Mapping[str, bytes],
        provenance: Mapping[str, str],
        at_ms: int,
    ) -> list[Put]:
        cells = {nodes.URL: canonical.encode(), nodes.SENTINEL: b"1"}
        for name, value in fields.items():
            cells[nodes.field_column(name)] = value
            cells[from_column(name)] = provenance.get(name, "").encode()
            if name in self._settings.history:
                column, length = nodes.history_column(name), self._settings.history_length
                new = history.extended(history.begun(row, name), value, at_ms, length)
                if new is not None:
                    cells[column] = new
        return [("n", node_id(canonical), cells, at_ms)]

    def delete_fields(self, url: str, names: Iterable[str], *, at_ms: int | None = None) -> str:
        """
        Delete fields; names that the record does not have are ignored. Returns the new version.

        A value of a time after `at_ms` (None: now) stays. Safe to repeat.
        """
        asked, now_ms = normalize(url), self._now_ms()
        canonical, row = self._canonical(asked, BASE)
        self._check_not_taken_down(canonical, row)
        columns = [of(name) for name in names for of in (nodes.field_column, from_column)]
        if columns:
            at_ms = now_ms if at_ms is None else at_ms
            self._table.delete(node_id(canonical), columns, at_ms=at_ms)
        version = os.urandom(8).hex()
        if nodes.SENTINEL in row:
            self._tables.write(
                [("n", node_id(canonical), {nodes.VERSION: version.encode()}, now_ms)]
            )
        return version

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
        canonical, row = self._nodes.follow([asked := normalize(url)], None)[asked]
        self._check_not_taken_down(canonical, row)
        before = nodes.facts_of(row, nodes.PROVENANCE)
        now_ms = self._now_ms()
        cells, gone, changed = renewed(row, fields, before, at_ms)
        told = {**{n: v for n, v in before.items() if n not in gone}, **provenance}
        cells[nodes.PROVENANCE] = orjson.dumps(told)
        if gone:
            # First: once the new version's mark is written nobody comes here again.
            columns = [nodes.field_column(name) for name in gone]
            self._table.delete(node_id(canonical), columns, at_ms=at_ms)
        at = max(at_ms, row[nodes.PROVENANCE].at_ms if nodes.PROVENANCE in row else 0)
        version = {nodes.VERSION: os.urandom(8).hex().encode()}
        with self._writing(asked, canonical):
            self._tables.write(
                [("n", node_id(canonical), cells, at), ("n", node_id(canonical), version, now_ms)]
            )
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
        canonical, row = self._canonical(normalize(url), BASE)
        self._check_not_taken_down(canonical, row)
        packed, key = compress(body), content_key(canonical)
        cells = {
            nodes.URL: canonical.encode(),
            nodes.SENTINEL: b"1",
            nodes.CONTENT_KEY: key.encode(),
            nodes.CONTENT_HASH: content_hash(packed).encode(),
            nodes.CONTENT_LENGTH: b"%d" % len(body),
            nodes.CONTENT_ENCODING: b"zstd",
        }
        at_ms = now_ms if at_ms is None else at_ms
        version = {nodes.VERSION: os.urandom(8).hex().encode()}
        with self._writing(canonical):
            self._content.put(key, packed, {**(meta or {}), "url": canonical, "encoding": "zstd"})
            self._tables.write([host_put(canonical, now_ms)])
            self._tables.write(
                [
                    ("n", node_id(canonical), cells, at_ms),
                    ("n", node_id(canonical), version, now_ms),
                ]
            )

    def write_pages(self, pages: Sequence[PageWrite]) -> list[Written]:
        """
        Store what a batch of fetches brought; the answers are in the order of `pages`.

        A page is not stored, and its answer says `stale`, when one of its URLs was taken down; nor
        are links to taken down hosts. Their URLs are normalized already. Safe to run twice, late,
        and in several processes at once: what is older never replaces what is newer. Killed in the
        middle: write it again.

        Raises:
            InvalidField: a field of some page is not taken; nothing was written.
            StoreUnavailable, ContentUnavailable: part of it may be written; write it again.
        """
        done: dict[int, Written] = {}
        left = list(pages)
        before = self._tombstones.current()
        while left:
            written, left = self._writer.write(left, now_ms := self._now_ms())
            self._floor_ms = max(self._floor_ms, now_ms + 1)
            done |= written
        self.look_again((url for page in pages for url in page_updates.urls_of(page)), before)
        return [done[id(page)] for page in pages]

    def add_links(self, url: str, links: Sequence[OutLink]) -> None:
        """
        Add outlinks; those to the same targets are replaced. Targets are normalized here.

        Links to taken down hosts are left out.

        Raises:
            TakenDown: the page was taken down.
        """
        canonical, row = self._canonical(normalize(url), [nodes.REMOVED])
        self._check_not_taken_down(canonical, row)
        with self._writing(canonical):
            targets = [(normalize(link.url), link.text, link.rel) for link in links]
            kept = [link for link in targets if not self._tombstones.refuses(link[0])]
            now_ms = self._now_ms()
            self._outlinks.write(
                [LinksWrite(canonical, now_ms, with_links(to_lines(kept)))], now_ms
            )

    def remove_links(self, url: str, targets: Sequence[str]) -> None:
        """Remove the outlinks to `targets`."""
        canonical, now_ms = self.resolve(url), self._now_ms()
        gone = {normalize(target) for target in targets}
        self._outlinks.write([LinksWrite(canonical, now_ms, without(gone))], now_ms)

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

        Raises:
            TakenDown: one of the two was taken down; nothing was changed.
        """
        now_ms = self._now_ms()
        alias, canonical = normalize(alias_url), normalize(canonical_url)
        for refused in self.refused([alias, canonical]):
            raise TakenDown(refused)
        with self._writing(alias, canonical):
            self._aliases.merge(
                alias,
                canonical,
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

        What is left is a stub a URL that refuses every later write, until `lift_takedown`, and for
        a host or domain a tombstone that refuses every URL of it. A host is of all its ports; a
        domain is of all hosts below it. Exactly one argument is given. Safe to repeat, and beside
        writers: what they were about to write goes too.

        Raises:
            BadInput: not exactly one argument, or a host or domain that is none.
        """
        now_ms = self._now_ms()
        if (url is None) + (host is None) + (domain is None) != 2:
            raise BadInput("take_down: give one of url, host and domain")
        if url is not None:
            count = self._takedown.of_urls({self.resolve(url), normalize(url)}, now_ms)
        elif host is not None:
            count = self._takedown.of_site(HOST, site_name(host), now_ms)
        else:
            count = self._takedown.of_site(DOMAIN, site_name(str(domain)), now_ms)
        self._floor_ms = now_ms + 1
        return count

    def takedowns(self) -> list[tuple[str, str]]:
        """The hosts and domains that were taken down: ("host" or "domain", name) each."""
        return sorted(self._tombstones.all())

    def lift_takedown(
        self, url: str | None = None, *, host: str | None = None, domain: str | None = None
    ) -> bool:
        """
        Let a URL, or those of a host or domain, be stored again; what was there does not come back.

        URLs of a site that were stored when it was taken down stay refused one by one. False when
        the site was not refused.
        """
        now_ms = self._now_ms()
        if (url is None) + (host is None) + (domain is None) != 2:
            raise BadInput("lift_takedown: give one of url, host and domain")
        if url is None:
            kind, name = (HOST, host) if host is not None else (DOMAIN, str(domain))
            return self._takedown.lift_site(kind, site_name(str(name)), now_ms)
        asked = normalize(url)
        for one in dict.fromkeys([asked, self.resolve(url)]):
            self._takedown.lift(one, now_ms)
        self._floor_ms = now_ms + 1
        return True
