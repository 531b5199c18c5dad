"""
Schedule tests with pytest-xdist: file by file, from both ends, each server in one worker.

A worker has its own Redis and S3 server. HBase takes 1 GB and nine seconds to start, RabbitMQ eight,
Kafka four: all tests whose id names one of them run in the same worker. Other files are not divided,
so that a module's fixtures start once. Files are ordered by their duration (`pytest --durations=0`),
so that no worker has a minute of work left when the others have none.

Every second worker begins at the other end, with the unit tests. These compute, while the long
tests wait for servers most of the time: if all workers ran one kind and then the other, the cores
would first be idle and then be shared by too many.

With `--last-waits`, the last worker runs only tests that use a third of a core (`MOSTLY_WAITING`),
so it may be one more than the cores can run otherwise. The others run these tests at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

ONE_WORKER = ("hbase", "rabbitmq", "kafka")

# Parts of ids of long tests, in scheduling order. All others come after them.
LONGEST_FIRST = (
    "hbase",
    "system/test_backpressure",
    "rabbitmq",
    "kafka",
    "tests/reports/",
    "test_pack_kills",
    "system/test_standalone_lifecycle",
    "pinlater/test_pinlater_faults",
    "serving/test_job_exchange",
    "pipeline/test_second_visit",
    "system/test_addons_deleted",
    "system/test_run_changes",
    "system/test_run_repeated",
    "system/test_traps",
    "pages/test_regex_growth",
    "pipeline/test_celery_chains",
    "pipeline/test_held_links",
    "serving/test_pages_in_a_browser",
    "serving/test_page_texts",
    "serving/test_record_limits",
    "rendering/",
    "politeness/test_interval_promise",
    "pinlater/test_pinlater_celery",
    "system/test_refresh",
    "system/test_postgres_crawl",
    "system/test_chaos",
    "system/test_bench_same_work",
    "tests/system/",
    "pinlater/",
    "tests/integration/",
    "tests/contract/",
    "pages/",
)


APART = ("test_reports_with_servers.py", "test_pack_kills.py")
"""Files whose tests take minutes and share nothing. Each test is scheduled separately."""


MOSTLY_WAITING = (
    "pinlater/test_pinlater_faults.py",
    "system/test_items.py",
    "system/test_item_files.py",
    "system/test_run_changes.py",
    "system/test_standalone_lifecycle.py",
    "reports/test_reports_with_servers.py",
)
"""
Files whose tests wait for servers and workers two thirds of the time or more, in scheduling order.

The last one is scheduled test by test, so other workers can take what is left of it at the end.
"""
MIN_WORKERS_WITH_WAITING = 3


def scope_of(nodeid: str) -> str:
    """Return the unit of work of a test: a shared server's name, its file, or itself."""
    named = (server for server in ONE_WORKER if server in nodeid)
    file = nodeid.partition("::")[0]
    return next(named, nodeid if file.endswith(APART) else file)


def begins_with_the_last(worker: str) -> bool:
    """Return True for every second worker (`gw1`, `gw3`, ...)."""
    return _number(worker) % 2 == 1


def is_the_last(worker: str, workers: int) -> bool:
    """Return True for the last of at least three workers."""
    return workers >= MIN_WORKERS_WITH_WAITING and _number(worker) == workers - 1


def _number(worker: str) -> int:
    return int(worker.removeprefix("gw"))


def waiting_rank(scope: str) -> int | None:
    """Return the position of a unit of work in `MOSTLY_WAITING`, or None."""
    file = scope.partition("::")[0]
    return next((n for n, name in enumerate(MOSTLY_WAITING) if file.endswith(name)), None)


def choose(scopes: Sequence[str], worker: str, workers: int, *, last_waits: bool) -> str | None:
    """
    Return the unit of work that a worker gets next, or None if it gets no more.

    Args:
        scopes: the remaining units in scheduling order; not empty.
        worker: its name, such as `gw0`.
        workers: the number of workers.
        last_waits: whether the last worker only runs tests that mostly wait.
    """
    ranks = {scope: waiting_rank(scope) if last_waits else None for scope in scopes}
    others = [scope for scope in scopes if ranks[scope] is None]
    if last_waits and is_the_last(worker, workers):
        waiting = [scope for scope in scopes if ranks[scope] is not None]
        return min(waiting, key=lambda scope: ranks[scope] or 0, default=None)
    remaining = others or scopes
    return remaining[-1] if begins_with_the_last(worker) else remaining[0]


def rank(nodeid: str) -> int:
    """Return the position in the order of `LONGEST_FIRST`."""
    ranks = (n for n, part in enumerate(LONGEST_FIRST) if part in nodeid)
    return next(ranks, len(LONGEST_FIRST))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--last-waits`."""
    parser.addoption(
        "--last-waits", action="store_true", help="the last worker only runs tests that wait"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the longest first in a worker. Without workers, keep the order of the files."""
    if hasattr(config, "workerinput"):
        # Workers collect in different orders, and must agree on one.
        items.sort(key=lambda item: (rank(item.nodeid), item.path))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Return the scheduler of `--dist loadfile`, with `scope_of` instead of the file."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return scope_of(nodeid)

        def _assign_work_unit(self, node: Any) -> None:
            last_waits = config.getoption("last_waits")
            scope = choose([*self.workqueue], node.gateway.id, self.numnodes, last_waits=last_waits)
            if scope is None:
                node.shutdown()
                return
            self.workqueue.move_to_end(scope, last=False)
            super()._assign_work_unit(node)

    config.option.loadscopereorder = False
    return Scheduling(config, log)
