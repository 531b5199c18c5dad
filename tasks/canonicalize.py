"""Read pages and decide what they are. Safe to run twice: see aragog.pipeline.canonicalize."""

from __future__ import annotations

from typing import Any

from aragog.pipeline.bundles import AnswerBundle
from aragog.pipeline.canonicalize import canonicalize_bundle
from aragog.pipeline.sending import CANONICALIZE
from tasks.policy import stage
from workers.services import send_all, services


@stage(CANONICALIZE)
def canonicalize(message: dict[str, Any]) -> None:
    """Canonical URL, links and Rich Pin of every page of the bundle."""
    send_all(canonicalize_bundle(AnswerBundle.read(message), services()))
