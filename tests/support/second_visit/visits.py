"""Make both visits of all cells, with one store."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from aragog.crawl.pipeline.messages import FetchBatch, FetchResult, ResultBatch, UrlJob
from aragog.crawl.pipeline.routing import Destination, OutgoingMessage
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.crawl.stages.reextract import ReextractBatch
from aragog.settings import StoreSettings
from aragog.transfer.bulk_writer import BulkWriter
from aragog.transfer.import_export import import_urls
from aragog.transfer.json_lines import read_json_lines
from aragog.urlstore.feed import SETTLE_MS
from tests.support.crawl_harness import CrawlHarness
from tests.support.second_visit.hooks import Receiver
from tests.support.second_visit.site import ALIAS, OTHER, PAGE, TRAIN, Sites, host_of, title
from tests.support.second_visit.table import COLUMNS, ROWS

Cell = tuple[str, str]
ALL: tuple[Cell, ...] = tuple((row, column) for row in ROWS for column in COLUMNS)
CLOSED, LIMITED = "Disallow: /page", "Content-Usage: train-ai=n"


_LIMIT_S = 300


def in_one(messages: Sequence[OutgoingMessage]) -> list[OutgoingMessage]:
    """Return the messages, with all fetch URLs merged into one."""
    fetches = [m for m in messages if isinstance(m.message, FetchBatch)]
    others = [m for m in messages if m not in fetches]
    jobs = tuple(job for m in fetches for job in m.message.jobs)
    delay_ms = max((m.delay_ms or 0 for m in fetches), default=0)
    one = OutgoingMessage(Destination.FETCH, FetchBatch(jobs), delay_ms)
    return [*others, one] if jobs else others


def page_of(cell: Cell, path: str = PAGE) -> str:
    """Return a URL of a cell's host."""
    return f"http://{host_of(*cell)}{path}"


def is_train(cell: Cell) -> bool:
    """Return True if the cell's pages are fetched for the crawl `ai-train`."""
    return cell[0] == "reserved"


def has_other(cell: Cell) -> bool:
    """Return True if the page `/other` of the cell's host is stored first."""
    return cell[0] in ("alias", "redirected") or cell[1] in ("canonical", "known")


@dataclass
class Visits:
    """Visits the pages of all cells."""

    harness: CrawlHarness
    sites: Sites
    receiver: Receiver
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    """The pipeline's counts of each column's second visit."""
    due_before: dict[Cell, int | None] = field(default_factory=dict)
    cursor: str = ""
    """The end of the change feed before the second visit."""

    def run(self) -> None:
        """Make both visits."""
        late = self._fetched([cell for cell in ALL if cell[1] == "late"], "other")
        self._first_visit()
        self.due_before = {cell: self._due(cell) for cell in ALL}
        self.harness.clock.sleep_s(SETTLE_MS / 1000 + 0.1)
        store = self.harness.urls
        self.cursor = store.feed.end()
        self.receiver.register(store, self.cursor, self.harness.clock.now_ms())
        for column in COLUMNS:
            self._counted(column, lambda column=column: self._second_visit(column, late))
        self._settle()

    def _settle(self) -> None:
        """Compact the links, and deliver the feed's changes to webhooks."""
        while self.harness.urls.maintenance.compact_links(1000).left:
            pass
        self.harness.clock.sleep_s(SETTLE_MS / 1000 + 0.1)
        self.harness.pipeline.webhooks.send_changes()
        while self.harness.sent.messages:
            self.harness.pipeline.webhooks.deliver(self.harness.sent.messages.pop(0).message)

    def _due(self, cell: Cell) -> int | None:
        if cell[0] == "down":
            return None
        record = self.harness.urls.get(page_of(cell), ())
        return record.due_at_ms if record else None

    # The first visit

    def _first_visit(self) -> None:
        self._import([cell for cell in ALL if cell[0] == "imported"])
        self._visit_urls(filter(has_other, ALL), OTHER)
        self._visit([cell for cell in ALL if cell[0] not in ("imported", "redirected")], "same")
        self._visit([cell for cell in ALL if cell[0] == "redirected"], "known")
        self._again("kept", "304")
        self._again("gone", "404")
        self._again("withheld", "403")
        self._again("reserved", "usage")
        self._rule([cell for cell in ALL if cell[0] == "refused"], CLOSED)
        self._again("refused", "same")
        self._rule([cell for cell in ALL if cell[0] == "refused"], "Disallow:")
        self._visit_urls([cell for cell in ALL if cell[0] == "target"], ALIAS)
        self._take_down([cell for cell in ALL if cell[0] == "down"])
        urls = [page_of(cell) for cell in ALL if cell[0] == "reread"]
        self.harness.pipeline.reextract.run(ReextractBatch(tuple(urls)))

    def _again(self, row: str, answer: str) -> None:
        self._visit([cell for cell in ALL if cell[0] == row], answer)

    def _import(self, cells: Iterable[Cell]) -> None:
        lines = [
            b'{"url": "%b", "fields": {"page.title": "\\"%b\\""}}'
            % (page_of(cell).encode(), title("imported", host_of(*cell)).encode())
            for cell in cells
        ]
        store, problems = self.harness.urls, []
        import_urls(
            read_json_lines(io.BytesIO(b"\n".join(lines))),
            BulkWriter(
                store, store.zen, StoreSettings(indexed=("page.title",)), self.harness.clock
            ),
            on_problem=lambda *each: problems.append(each),
        )
        assert problems == []

    # The second visit

    def _second_visit(self, column: str, late: list[FetchResult]) -> None:
        cells = [cell for cell in ALL if cell[1] == column]
        match column:
            case "late":
                self._deliver(late)
            case "down":
                results = self._fetched([cell for cell in cells if cell[0] != "down"], "other")
                self._deliver(results, lambda: self._take_down(cells))
            case "closed" | "withdrawn":
                self._rule(cells, CLOSED if column == "closed" else LIMITED)
                self._visit(cells, "same")
            case _:
                self._visit(cells, column)

    def _counted(self, column: str, visit: Callable[[], None]) -> None:
        counters = self.harness.pipeline.store.counters
        before = Counter(counters.read())
        visit()
        self.counts[column] = Counter(counters.read())
        self.counts[column].subtract(before)

    # Steps

    def _visit(self, cells: Iterable[Cell], answer: str) -> None:
        """Fetch the pages of these cells, with this answer of their sites."""
        cells = list(cells)
        self.sites.answers |= dict.fromkeys((host_of(*cell) for cell in cells), answer)
        self._visit_urls(cells, PAGE)

    def _visit_urls(self, cells: Iterable[Cell], path: str) -> None:
        cells = list(cells)
        for train in (False, True):
            urls = [page_of(cell, path) for cell in cells if is_train(cell) is train]
            options = EnqueueOptions(refresh=True, purposes=TRAIN if train else None)
            list(self.harness.pipeline.enqueuer.enqueue(urls, options))
        self._crawl()

    def _crawl(self) -> None:
        """Crawl like `CrawlHarness.crawl`, with waiting URLs in one message, so that their waits overlap."""
        harness, clock = self.harness, self.harness.clock
        until_s = clock.monotonic_s() + _LIMIT_S
        while harness.sent.messages or harness.limiter_lines.total():
            assert clock.monotonic_s() < until_s, f"{len(harness.sent.messages)} messages are left"
            harness.pipeline.release.run()
            messages, harness.sent.messages[:] = in_one(harness.sent.messages), []
            clock.sleep_s(max([20, *(message.delay_ms or 0 for message in messages)]) / 1000)
            for message in messages:
                harness.sent.messages += harness.step(message)

    def _rule(self, cells: Iterable[Cell], rule: str) -> None:
        """Change a rule in these sites' robots.txt, and have it read again."""
        hosts = {host_of(*cell) for cell in cells}
        self.sites.robots |= dict.fromkeys(hosts, rule)
        origins = {f"http://{host}/" for host in hosts}
        self.harness.robots.forget(lambda urls: origins & set(urls))

    def _take_down(self, cells: Iterable[Cell]) -> None:
        takedowns = self.harness.urls.takedowns
        urls = [url for cell in cells for url in takedowns.pages_of(page_of(cell))]
        # All at once: each takedown walks the change feed and the link journal.
        takedowns.takedown.of_urls(urls, takedowns.clock.now_ms())
        self.harness.pipeline.maintenance.share_takedowns()

    def _fetched(self, cells: Iterable[Cell], answer: str) -> list[FetchResult]:
        """Return results of fetches that no later stage has processed."""
        cells = list(cells)
        hosts = [host_of(*cell) for cell in cells]
        self.sites.answers |= dict.fromkeys(hosts, answer)
        jobs = tuple(
            UrlJob(url=page_of(cell), refresh=True, purposes=TRAIN if is_train(cell) else None)
            for cell in cells
        )
        message = OutgoingMessage(Destination.FETCH, FetchBatch(jobs))
        return self.harness.run([message], limit_s=_LIMIT_S)

    def _deliver(
        self, results: Iterable[FetchResult], meanwhile: Callable[[], None] = lambda: None
    ) -> None:
        """Pass results to the stages after fetching. Calls `meanwhile` before they are stored."""
        batch = ResultBatch(tuple(results))
        found = self.harness.step(OutgoingMessage(Destination.CANONICALIZE, batch))
        meanwhile()
        for message in found:
            self.harness.step(message)
