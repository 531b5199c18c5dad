"""Maintenance tasks that beat starts. Each step is safe to repeat and to run concurrently."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass

from aragog.crawl.pipeline import spool_reclaim
from aragog.crawl.pipeline.crawl_log_writer import CrawlLogWriter
from aragog.crawl.pipeline.in_flight import InFlightSet
from aragog.crawl.pipeline.spool import Spool
from aragog.crawl.pipeline.takedown import SiteBlocks
from aragog.crawl.shared_redis.file_rewrite import FileRewrite
from aragog.crawl.stages.crawl_notices import CrawlNotices
from aragog.crawl.stages.crawl_rounds import CrawlRounds
from aragog.crawl.stages.crawl_upkeep import CrawlUpkeep
from aragog.crawl.stages.discovery import Discovery
from aragog.crawl.stages.page_limits import RunMarks
from aragog.errors import StoreDamaged
from aragog.settings import Settings
from aragog.urlstore.store import UrlStore

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MaintenanceStage:
    """Periodic maintenance of Redis, the broker and the store."""

    store: UrlStore
    in_flight: InFlightSet
    blocks: SiteBlocks
    rewrite: FileRewrite
    spool: Spool
    waiting: spool_reclaim.TokenSource | None
    """The broker's waiting jobs, if the broker can list them (`pinlater://`)."""
    settings: Settings
    compacted_pages: int = 1000
    """How many pages one compaction merges, to limit its memory to about 30 MB."""
    max_compactions: int = 100
    """How many compactions one run performs at most. The next run continues."""
    crawl_log: CrawlLogWriter | None = None
    marks: RunMarks | None = None
    crawls: CrawlUpkeep | None = None
    rounds: CrawlRounds | None = None
    notices: CrawlNotices | None = None
    discovery: Discovery | None = None

    def write_crawl_log(self) -> None:
        if self.crawl_log:
            self.crawl_log.write_due()

    def compact_links(self) -> None:
        """
        Compact the link journal into the posting lists of inlinks.

        Stops after `max_compactions`, or when other processes are compacting the rest. Returns
        immediately if `store.compactions` compactions are running.
        """
        # A damaged file was logged when it was set aside, and no journal is lost.
        with suppress(StoreDamaged):
            for _ in range(self.max_compactions):
                report = self.store.maintenance.compact_links(self.compacted_pages)
                if not (report.left and report.journal_rows):
                    break

    def upkeep_packs(self) -> None:
        """
        Rewrite packs (files of many bodies) if over half of their bytes are unused or some must be
        deleted.
        """
        report = self.store.maintenance.upkeep_packs()
        for problem in report.problems:
            log.error("%s; `aragog store repair` reports what it has lost", problem)
        if report.rewritten or report.deleted:
            log.info("%d packs rewritten, %d deleted", report.rewritten, report.deleted)

    def sweep_in_flight(self) -> None:
        """
        Remove in-flight entries if their messages were lost with a server or their crawls ended.

        Also removes the records of runs whose process died.
        """
        ended = self.crawls.registry.read().ended if self.crawls else ()
        swept = self.in_flight.sweep(ended)
        if self.marks is not None:
            self.marks.sweep()
        if swept.expired:
            log.warning("%d URLs were in flight too long and were dropped", swept.expired)
        if swept.cancelled:
            log.info("%d entries of ended crawls were removed", swept.cancelled)

    def sweep_crawls(self) -> None:
        """End crawls past their deadline, and delete records that no URL needs anymore."""
        if self.crawls:
            self.crawls.run()

    def start_crawls(self) -> None:
        """Send notices about ended or failing crawls, and start due rounds."""
        if self.notices and self.rounds:
            self.notices.run()  # first, because a crawl that starts a round is not done
            self.rounds.run()

    def sweep_held_links(self) -> None:
        if self.discovery:
            self.discovery.sweep_held()

    def share_takedowns(self) -> None:
        """
        Copy the hosts, domains and URLs that were taken down to where producers can
        read them.
        """
        self.blocks.replace(self.store.takedowns.listed())

    def rewrite_file(self) -> None:
        """Rewrite Redis' append-only file if a takedown requested it during another rewrite."""
        self.rewrite.start_requested()

    def sweep_spool(self) -> None:
        """Delete spooled bodies that no message refers to."""
        idle_s = self.settings.pipeline.spool_ttl_s
        freed = spool_reclaim.sweep(self.spool, self.waiting, idle_s=idle_s)
        if freed:
            log.warning("%d bodies in the spool belonged to no message and were freed", freed)

    def sweep_changes(self) -> None:
        """Delete changes that have been in the feed for longer than `refresh.changes_kept_s`."""
        self.store.feed.sweep(self.settings.refresh.changes_kept_s)
