"""
The tasks that fetch robots.txt files.

Safe to run twice: see aragog.pipeline.stages.robots.
"""

from __future__ import annotations

from typing import Any

from aragog.pipeline.messages import RobotsBatch
from aragog.tasks.policy import stage
from aragog.tasks.routes import ROBOTS, ROBOTS_EXPIRING
from aragog.workers.services import pipeline, send_all


@stage(ROBOTS)
def robots(message: dict[str, Any]) -> None:
    """Fetch the robots.txt of each origin, then forward the URLs that waited for it."""
    send_all(pipeline().robots.run(RobotsBatch.read(message)))


@stage(ROBOTS_EXPIRING)
def robots_expiring() -> None:
    """Refresh robots.txt rules that are in use and almost a day old."""
    for messages in pipeline().robots.expiring():
        send_all(messages)
