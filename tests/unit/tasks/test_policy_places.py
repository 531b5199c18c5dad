"""Kinds of upkeep: a server that hangs holds the thread of one kind of work, and no others."""

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from aragog.settings import WorkerSettings
from aragog.tasks import maintenance, refresh
from aragog.tasks.policy import Places

THREADS = 4


class Hung:
    """What a task calls: it waits until the test ends."""

    def __init__(self):
        self.calls, self.goes_on = 0, threading.Event()
        self.called = threading.Event()

    def __call__(self):
        self.calls += 1
        self.called.set()
        assert self.goes_on.wait(60)


@pytest.fixture
def hung():
    hung = Hung()
    yield hung
    hung.goes_on.set()


def test_tasks_of_a_crawl_log_that_hangs_leave_the_threads_to_other_work(monkeypatch, hung):
    """What was seen: after two minutes refresh, webhooks and compaction waited, 49 s long."""
    refreshed = threading.Event()
    stages = SimpleNamespace(
        maintenance=SimpleNamespace(write_crawl_log=hung),
        refresh=SimpleNamespace(run=refreshed.set),
    )
    monkeypatch.setattr(maintenance, "pipeline", lambda: stages)
    monkeypatch.setattr(refresh, "pipeline", lambda: stages)

    with ThreadPoolExecutor(THREADS) as pool:
        for _ in range(THREADS):
            pool.submit(maintenance.write_crawl_log)
        pool.submit(refresh.refresh_due)

        assert refreshed.wait(10)
        assert hung.calls == 1
        hung.goes_on.set()


def test_a_task_after_one_that_hung_does_its_work(monkeypatch, hung):
    stages = SimpleNamespace(maintenance=SimpleNamespace(write_crawl_log=hung))
    monkeypatch.setattr(maintenance, "pipeline", lambda: stages)
    first = threading.Thread(target=maintenance.write_crawl_log)
    first.start()
    assert hung.called.wait(10)
    maintenance.write_crawl_log()
    hung.goes_on.set()
    first.join(10)

    maintenance.write_crawl_log()

    assert hung.calls == 2


@pytest.mark.parametrize(("threads", "expected"), [(8, 3), (12, 7), (4, 1), (1, 1)])
def test_compactions_leave_a_thread_for_each_other_kind(monkeypatch, threads, expected):
    settings = SimpleNamespace(workers=WorkerSettings(upkeep=threads))
    monkeypatch.setattr(maintenance, "process_settings", lambda: settings)

    assert maintenance.compactions() == expected


def test_places_are_given_back_after_an_error():
    places = Places(lambda: 1)
    assert places.take()
    assert not places.take()
    places.give_back()
    assert places.take()
