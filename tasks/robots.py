"""Learn the rules of origins. Safe to run twice: see aragog.pipeline.stages.robots."""

from __future__ import annotations

from typing import Any

from aragog.pipeline.messages import RobotsBatch
from aragog.pipeline.stages.robots import expiring, robots_batch
from tasks.policy import stage
from tasks.routes import ROBOTS, ROBOTS_EXPIRING
from workers.services import send_all, services


@stage(ROBOTS)
def robots(message: dict[str, Any]) -> None:
    """Fetch robots.txt of the origins, then send on the URLs that waited for it."""
    send_all(robots_batch(RobotsBatch.read(message), services()))


@stage(ROBOTS_EXPIRING)
def robots_expiring() -> None:
    """Refresh rules that are in use and about to be a day old."""
    for messages in expiring(services()):
        send_all(messages)
