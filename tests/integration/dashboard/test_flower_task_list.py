"""Flower's task list: tasks of the crawl, and upkeep tasks only if they fail."""

import json
import urllib.request
from collections import Counter

import pytest
from celery import Celery

from aragog.tasks.routes import ROBOTS, SWEEP
from tests.support.flower_server import flower_system
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.slow]
INVALID = {"nobody": "takes this"}


def answer(system, path):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    return json.loads(opener.open(f"{system.url}{path}", timeout=60).read())


def listed(system):
    """The number of tasks by name and state."""
    tasks = answer(system, "/api/tasks").values()
    return Counter((task["name"], task["state"]) for task in tasks)


def succeeded(system):
    rows = {row["queue"]: row for row in answer(system, "/pinlater/queues.json")}
    return rows["upkeep"]["succeeded"] if "upkeep" in rows else 0


def test_upkeep_tasks_are_listed_only_if_they_fail():
    with flower_system(["upkeep"]) as system:
        app = Celery(broker=system.settings.broker.url, set_as_current=False)

        def announced():
            """The worker sends events after Flower has asked it to."""
            app.send_task(ROBOTS, queue="upkeep", kwargs=INVALID)
            return listed(system)[ROBOTS, "FAILURE"]

        wait_until(announced, every_s=0.5, otherwise=system.logs)
        before = succeeded(system)
        for _ in range(3):
            app.send_task(SWEEP, queue="upkeep")
        wait_until(lambda: succeeded(system) >= before + 3, every_s=0.3, otherwise=system.logs)
        app.send_task(SWEEP, queue="upkeep", kwargs=INVALID)
        wait_until(lambda: listed(system)[SWEEP, "FAILURE"], every_s=0.3, otherwise=system.logs)

        names = {(name, state) for name, state in listed(system) if name != ROBOTS}
        app.close()

    assert names == {(SWEEP, "FAILURE")}
