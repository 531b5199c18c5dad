"""Fetch a bundle of URLs politely. Safe to run twice: see aragog.pipeline.fetch."""

from __future__ import annotations

from typing import Any

from aragog.pipeline.bundles import FetchBundle
from aragog.pipeline.fetch import fetch_bundle
from aragog.pipeline.sending import FETCH
from tasks.policy import stage
from workers.services import send_all, services


@stage(FETCH)
def fetch(message: dict[str, Any]) -> None:
    """Fetch what may be fetched now; the rest comes back at its slot."""
    send_all(fetch_bundle(FetchBundle.read(message), services()))
