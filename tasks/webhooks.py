"""Deliver changes to webhooks. Safe to run twice: see aragog.pipeline.stages.webhooks."""

from __future__ import annotations

from typing import Any

from aragog.pipeline.stages.webhooks import Delivery, deal, deliver
from tasks.policy import stage
from tasks.routes import WEBHOOK, WEBHOOKS_DUE
from workers.services import send_all, services


@stage(WEBHOOKS_DUE)
def webhooks_due() -> None:
    """Make deliveries of what hooks have not been told yet."""
    deal(services())


@stage(WEBHOOK)
def webhook(message: dict[str, Any]) -> None:
    """Post one delivery; where it is not taken, it comes back later."""
    send_all(deliver(Delivery.read(message), services()))
