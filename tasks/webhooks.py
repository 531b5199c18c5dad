"""Tell webhooks of changes. Safe to run twice and side by side: see aragog.pipeline.webhooks."""

from __future__ import annotations

from typing import Any

from aragog.pipeline.sending import WEBHOOK, WEBHOOKS_DUE
from aragog.pipeline.webhooks import Delivery, deal, deliver
from tasks.policy import stage
from workers.services import send_all, services


@stage(WEBHOOKS_DUE)
def webhooks_due() -> None:
    """Make deliveries of what hooks have not been told yet."""
    deal(services())


@stage(WEBHOOK)
def webhook(message: dict[str, Any]) -> None:
    """Post one delivery; where it is not taken, it comes back later."""
    send_all(deliver(Delivery.read(message), services()))
