"""
The tasks that deliver changes to webhooks.

They are safe to run twice; see aragog.crawl.stages.webhooks.
"""

from __future__ import annotations

from typing import Any

from aragog.crawl.stages.webhooks import Delivery
from aragog.tasks.policy import periodic, stage
from aragog.tasks.routes import WEBHOOK, WEBHOOKS_DUE
from aragog.workers.services import pipeline, send_all


@periodic(WEBHOOKS_DUE)
def webhooks_due() -> None:
    """Create deliveries for the changes after each webhook's cursor."""
    pipeline().webhooks.send_changes()


@stage(WEBHOOK)
def webhook(message: dict[str, Any]) -> None:
    """Post one delivery. If the receiver does not accept it, the delivery is retried later."""
    send_all(pipeline().webhooks.deliver(Delivery.read(message)))
