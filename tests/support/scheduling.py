"""
Schedule tests with pytest-xdist: file by file, from both ends, each server in one worker.

A worker has its own Redis and S3 server. HBase takes 1 GB and nine seconds to start, RabbitMQ eight,
Kafka four: all tests whose id names one of them run in the same worker. Other files are not divided,
so that a module's fixtures start once. Files are ordered by their duration (`pytest --durations=0`),
so that no worker has a minute of work left when the others have none.

Every second worker begins at the other end, with the unit tests. These compute, while the long
tests wait for servers most of the time: if all workers ran one kind and then the other, the cores
would first be idle and then be shared by too many.
"""

from __future__ import annotations

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


def scope_of(nodeid: str) -> str:
    """Return the unit of work of a test: a shared server's name, its file, or itself."""
    named = (server for server in ONE_WORKER if server in nodeid)
    file = nodeid.partition("::")[0]
    return next(named, nodeid if file.endswith(APART) else file)


def begins_with_the_last(worker: str) -> bool:
    """Return True for every second worker (`gw1`, `gw3`, ...)."""
    return int(worker.removeprefix("gw")) % 2 == 1


def rank(nodeid: str) -> int:
    """Return the position in the order of `LONGEST_FIRST`."""
    ranks = (n for n, part in enumerate(LONGEST_FIRST) if part in nodeid)
    return next(ranks, len(LONGEST_FIRST))


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
            if begins_with_the_last(node.gateway.id):
                self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
            super()._assign_work_unit(node)

    config.option.loadscopereorder = False
    return Scheduling(config, log)
