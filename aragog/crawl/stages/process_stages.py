"""The stages of one process. Built by `aragog.bootstrap`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aragog.crawl.pipeline.finished_urls import FinishedUrls
from aragog.crawl.pipeline.routing import Sender
from aragog.crawl.stages.canonicalize import CanonicalizeStage
from aragog.crawl.stages.enqueue import Enqueuer
from aragog.crawl.stages.fetch import FetchStage
from aragog.crawl.stages.maintenance import MaintenanceStage
from aragog.crawl.stages.reextract import ReextractStage
from aragog.crawl.stages.refresh import RefreshStage
from aragog.crawl.stages.release import ReleaseStage
from aragog.crawl.stages.render import RenderStage
from aragog.crawl.stages.robots import RobotsStage
from aragog.crawl.stages.store import StoreStage
from aragog.crawl.stages.stored_page_rewriter import StoredPageRewriter
from aragog.crawl.stages.webhooks import WebhookStage


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessStages:
    """All stages. Each can be used from many threads, and none depends on this class."""

    sender: Sender
    enqueuer: Enqueuer
    fetch: FetchStage
    release: ReleaseStage
    robots: RobotsStage
    render: RenderStage
    canonicalize: CanonicalizeStage
    store: StoreStage
    refresh: RefreshStage
    webhooks: WebhookStage
    reextract: ReextractStage
    maintenance: MaintenanceStage
    finished_urls: FinishedUrls
    on_close: tuple[Callable[[], None], ...] = ()

    @property
    def stored_page_rewriter(self) -> StoredPageRewriter:
        """Rewrites stored pages."""
        return StoredPageRewriter(self.canonicalize, self.store)

    def close(self) -> None:
        """Release threads, connections and files."""
        for close in self.on_close:
            close()
