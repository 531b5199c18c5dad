"""Write pages and outcomes. Safe to run twice: see aragog.pipeline.store."""

from __future__ import annotations

from typing import Any

from aragog.pipeline.bundles import PageBundle
from aragog.pipeline.sending import STORE
from aragog.pipeline.store import store_bundle
from tasks.policy import stage
from workers.services import send_all, services


@stage(STORE)
def store(message: dict[str, Any]) -> None:
    """Content, then nodes, links and due rows of the bundle."""
    send_all(store_bundle(PageBundle.read(message), services()))
