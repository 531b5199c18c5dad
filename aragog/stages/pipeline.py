"""The stages of one process, each over its own ports. Built by `aragog.bootstrap`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aragog.pipeline.routing import Sender
from aragog.stages.canonicalize import CanonicalizeStage
from aragog.stages.enqueue import Enqueuer
from aragog.stages.fetch import FetchStage
from aragog.stages.maintenance import MaintenanceStage
from aragog.stages.reextract import ReextractStage
from aragog.stages.refresh import RefreshStage
from aragog.stages.release import ReleaseStage
from aragog.stages.render import RenderStage
from aragog.stages.robots import RobotsStage
from aragog.stages.store import StoreStage
from aragog.stages.webhooks import WebhookStage


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """The stages; each is safe to use from many threads. No stage knows this class."""

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
    on_close: tuple[Callable[[], None], ...] = ()

    def close(self) -> None:
        """Release threads, connections and files."""
        for close in self.on_close:
            close()
