"""What all parts of the UrlStore share: the tables, the way through aliases, the clock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from aragog.clock import Clock, SystemClock
from aragog.errors import TakenDown
from aragog.settings import RefreshSettings, StoreSettings
from aragog.urls.normalize import normalize
from aragog.urlstore.aliases.aliases import Aliases
from aragog.urlstore.aliases.conditional import Conditional
from aragog.urlstore.content.ports import ContentStore
from aragog.urlstore.feed.changes import Changes
from aragog.urlstore.feed.webhooks import WebhookRegistry
from aragog.urlstore.links.compaction import Compactor
from aragog.urlstore.links.link_reader import LinkReader
from aragog.urlstore.links.outlink_writer import OutlinkWriter
from aragog.urlstore.pages import nodes
from aragog.urlstore.pages.field_formats import FieldFormats
from aragog.urlstore.pages.field_rules import FieldRules
from aragog.urlstore.pages.hosts import Hosts
from aragog.urlstore.pages.nodes import Nodes, node_id
from aragog.urlstore.pages.takedown import Takedown
from aragog.urlstore.pages.tombstones import Tombstones
from aragog.urlstore.pages.writer import PageWriter
from aragog.urlstore.schedule.budget_state import BudgetState
from aragog.urlstore.schedule.due_index import DueIndex
from aragog.urlstore.schedule.freshness import Freshness
from aragog.urlstore.schedule.watches import Watches
from aragog.zen.tables import Row, Tables


class StoreBase:
    """The parts under a UrlStore, and finding the URL that stands for another."""

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
        self.formats = FieldFormats(settings.field_formats)
        self._outlinks = OutlinkWriter(tables, settings.inlinks, self._clock)
        self._aliases = Aliases(tables, content, self._outlinks, refresh)
        self._links = LinkReader(tables, self._outlinks, self._aliases)
        self._tombstones = Tombstones(tables)
        self._writer = PageWriter(
            tables, content, settings, self._outlinks, self._aliases, refresh, self._clock,
            refuses=self._tombstones.refuses,
        )  # fmt: skip
        self._compactor = Compactor(tables, self._clock)
        self._due = DueIndex(tables)
        self._hosts = Hosts(tables)
        self._watches = Watches(tables)
        self._pacing = BudgetState(tables)
        self._fresh: tuple[int, dict[str, Freshness]] = (0, {})
        self._changes = Changes(tables)
        self.webhooks = WebhookRegistry(tables)
        self._takedown = Takedown(
            tables, content, self._outlinks, self._aliases, self._hosts, self._compactor,
            self._tombstones,
        )  # fmt: skip
        self._conditional = Conditional(tables, self._clock)

    def resolve(self, url: str) -> str:
        """The URL that stands for this one; itself for one that is unknown."""
        return self._canonical(normalize(url))[0]

    def serves(self, url: str) -> bool:
        """
        Whether the page of a normalized URL can be written.

        False while it lies in a damaged file, which `repair` replaces.
        """
        return self._tables.serves(node_id(url)[0])

    def check(self) -> list[str]:
        """What is wrong with the tables, a line each with the remedy; empty: nothing is."""
        return self._tables.check()

    def close(self) -> None:
        """Let go of the tables' files and connections."""
        self._tables.close()

    def _canonical(self, asked: str, columns: Sequence[bytes] | None = None) -> tuple[str, Row]:
        wanted = [nodes.URL, nodes.CANONICAL, *(columns or ())]
        return self._nodes.follow([asked], wanted)[asked]

    def refused(self, urls: Iterable[str]) -> set[str]:
        """
        Those of the normalized URLs that were taken down, by themselves or with their site.

        One small read and one multi-get. Of a URL in a damaged file only its site is looked at.
        """
        asked = set(urls)
        self._tombstones.current()
        by_site = {url for url in asked if self._tombstones.refuses(url)}
        found = self._nodes.read(filter(self.serves, asked - by_site), [nodes.REMOVED])
        return by_site | {url for url, row in found.items() if nodes.is_taken_down(row)}

    @contextmanager
    def _writing(self, *urls: str) -> Iterator[None]:
        """
        Refuse to write of URLs whose site was taken down; look again after the write.

        Whichever of a takedown and a write comes first, nothing stays.

        Raises:
            TakenDown: one of them is refused; nothing was written.
        """
        before = self._tombstones.current()
        for url in urls:
            if self._tombstones.refuses(url):
                raise TakenDown(url)
        yield
        self.look_again(urls, before)

    def takedown_count(self) -> int:
        """For `look_again`: what the takedowns are now. Take it before a write."""
        return self._tombstones.current()

    def site_refused(self, *urls: str) -> bool:
        """Whether the site of one of the normalized URLs was taken down by `takedown_count`."""
        return any(map(self._tombstones.refuses, urls))

    def look_again(self, urls: Iterable[str], before: int) -> None:
        """Remove what was written of URLs that were taken down since `before`."""
        if self._tombstones.count() != before and (late := self.refused(urls)):
            now_ms = max(self._clock.now_ms(), self._floor_ms)
            self._takedown.of_urls(late, now_ms)
            self._floor_ms = now_ms + 1

    def _check_not_taken_down(self, canonical: str, row: Row) -> None:
        """By itself; `_writing` looks at its site."""
        if nodes.is_taken_down(row):
            raise TakenDown(canonical)

    def _now_ms(self) -> int:
        """Now, but later than the last delete here: a put of the same instant could be masked."""
        return max(self._clock.now_ms(), self._floor_ms)
