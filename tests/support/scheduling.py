"""
How pytest-xdist hands out the tests: file by file, the longest first, each server to one worker.

A worker has its own Redis and S3 server. HBase takes 1 GB and nine seconds to start, RabbitMQ eight,
Kafka four: all tests whose id names one of them run in the same worker. The other files stay whole, so that a
module's fixture starts once. Files are ordered by the time they took (`pytest --durations=0`), so
that no worker is left with a minute of work when the others have none.
"""

from __future__ import annotations

import pytest

ONE_WORKER = ("hbase", "rabbitmq", "kafka")

# What takes long, in the order in which it is handed out; whatever matches none comes after them.
LONGEST_FIRST = (
    "hbase",
    "system/test_backpressure",
    "rabbitmq",
    "kafka",
    "tests/reports/",
    "test_pack_kills",
    "system/test_standalone_lifecycle",
    "pinlater/test_pinlater_faults",
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
"""Files whose tests take minutes together and share nothing: each is handed out by itself."""


def scope_of(nodeid: str) -> str:
    """The unit of work that a test belongs to: a shared server's name, its file, or itself."""
    named = (server for server in ONE_WORKER if server in nodeid)
    file = nodeid.partition("::")[0]
    return next(named, nodeid if file.endswith(APART) else file)


def rank(nodeid: str) -> int:
    """Place in the order of `LONGEST_FIRST`."""
    ranks = (n for n, part in enumerate(LONGEST_FIRST) if part in nodeid)
    return next(ranks, len(LONGEST_FIRST))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a worker: the longest first. Without workers the order stays that of the files."""
    if hasattr(config, "workerinput"):
        # Workers collect in different orders, and must agree on one.
        items.sort(key=lambda item: (rank(item.nodeid), item.path))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """The scheduler of `--dist loadfile`, with `scope_of` in place of the file."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return scope_of(nodeid)

    config.option.loadscopereorder = False
    return Scheduling(config, log)
