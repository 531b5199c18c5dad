"""Kinds of maintenance: a hanging server blocks the thread of only one kind."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from aragog.tasks import maintenance, refresh, robots, webhooks
from aragog.tasks.maintenance import max_compactions
from aragog.tasks.policy import TaskLimit, periodic
from pinlater import gates

THREADS = 4


class Hung:
    """The body of a task that waits for a server until the test ends."""

    def __init__(self):
        self.calls, self.was_called, self.released = 0, threading.Event(), threading.Event()

    def __call__(self):
        self.calls += 1
        self.was_called.set()
        assert self.released.wait(60)


@pytest.fixture
def hung():
    hung = Hung()
    yield hung
    hung.released.set()


def task_of(name, call):
    def body():
        call()

    return periodic(name)(body)


def test_hanging_crawl_log_leaves_threads_to_other_work(hung):
    """Regression: after two minutes, refresh, webhooks and compaction were delayed by 49 s."""
    refreshed = threading.Event()
    crawl_log, refresh_due = task_of("test.log", hung), task_of("test.refresh", refreshed.set)

    with ThreadPoolExecutor(THREADS) as pool:
        for _ in range(THREADS):
            pool.submit(crawl_log)
        pool.submit(refresh_due)

        assert refreshed.wait(10)
        assert hung.calls == 1
        hung.released.set()


def test_task_works_again_after_one_that_hung(hung):
    crawl_log = task_of("test.later", hung)
    first = threading.Thread(target=crawl_log)
    first.start()
    assert hung.was_called.wait(10)
    crawl_log()
    hung.released.set()
    first.join(10)

    crawl_log()

    assert hung.calls == 2


@pytest.mark.parametrize(
    "task",
    [
        maintenance.compact_links, maintenance.sweep, maintenance.write_crawl_log, maintenance.crawls_due,
        refresh.refresh_due, robots.robots_expiring, webhooks.webhooks_due,
    ],
    ids=lambda task: task.name,
)  # fmt: skip
def test_each_periodic_task_has_its_own_limit(task):
    assert isinstance(closure_of(task)["limit"].cell_contents, TaskLimit)


def closure_of(task):
    body = task.run.__func__
    return dict(zip(body.__code__.co_freevars, body.__closure__, strict=True))


@pytest.mark.parametrize(("threads", "expected"), [(8, 1), (13, 6), (4, 1), (1, 1)])
def test_compactions_leave_a_thread_for_every_other_kind(threads, expected):
    assert max_compactions(threads) == expected


def test_compactions_are_limited_by_the_threads_of_the_worker(monkeypatch):
    """Regression: with `--concurrency 4`, 3 compactions and 4 other tasks shared 4 threads."""
    closure = closure_of(maintenance.compact_links)
    monkeypatch.setitem(gates._limits, "upkeep", 3)

    limit = closure["limit"].cell_contents

    assert [limit.acquire(), limit.acquire()] == [True, False]
    limit.release()


def test_limit_counts_running_tasks():
    limit = TaskLimit(lambda: 1)
    assert limit.acquire()
    assert not limit.acquire()
    limit.release()
    assert limit.acquire()
