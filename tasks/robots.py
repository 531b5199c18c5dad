"""
The tasks that fetch robots.txt files.

They are safe to run twice; see aragog.crawl.stages.robots.
"""

from __future__ import annotations

from typing import Any

from aragog.crawl.pipeline.producer_messages import read_robots
from aragog.crawl.pipeline.routing import Queue
from aragog.tasks.policy import limited, periodic
from aragog.tasks.routes import ROBOTS, ROBOTS_EXPIRING
from aragog.workers.services import pipeline, send_all


@limited(ROBOTS, Queue.ROBOTS)
def robots(message: dict[str, Any] | list[str] | str) -> None:
    """
    Fetch each origin's robots.txt, then pass on the URLs that waited for it.

    `robots.delay("https://host/")`, with a URL or a list of URLs, fetches robots.txt even if the
    cached copy is fresh.
    """
    send_all(pipeline().robots.run(read_robots(message)))


@periodic(ROBOTS_EXPIRING)
def robots_expiring() -> None:
    """Refresh robots.txt rules that are in use and almost a day old."""
    for messages in pipeline().robots.refresh_expiring():
        send_all(messages)
