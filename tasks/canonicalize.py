"""Analyze fetched pages. Safe to run twice: see aragog.pipeline.stages.canonicalize."""

from __future__ import annotations

from typing import Any

from aragog.pipeline.messages import ResultBatch
from aragog.pipeline.stages.canonicalize import canonicalize_batch
from tasks.policy import stage
from tasks.routes import CANONICALIZE
from workers.services import send_all, services


@stage(CANONICALIZE)
def canonicalize(message: dict[str, Any]) -> None:
    """Canonical URL, links and Rich Pin of every page of the batch."""
    send_all(canonicalize_batch(ResultBatch.read(message), services()))
