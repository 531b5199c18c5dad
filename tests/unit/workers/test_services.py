"""`run_in_store_thread`: batches waiting for packs hold no threads that have connections."""

import contextvars
import threading

import pytest

from aragog.workers import services
from tests.support.waiting import wait_until

WRITING = 2
BATCHES = 12


@pytest.fixture(autouse=True)
def _settings(monkeypatch, tmp_path):
    monkeypatch.setenv("ARAGOG_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("ARAGOG_SETTINGS", "")
    monkeypatch.setenv("ARAGOG_WORKERS__STORE", str(WRITING))
    services._store_threads.cache_clear()
    yield
    services._store_threads.cache_clear()


def test_results_and_errors_are_passed_on():
    def fails():
        raise ValueError("it went wrong")

    assert services.run_in_store_thread(lambda: 7) == 7
    with pytest.raises(ValueError, match="it went wrong"):
        services.run_in_store_thread(fails)


def test_work_has_the_context_of_its_task():
    name = contextvars.ContextVar("name", default="none")
    name.set("a trace")

    assert services.run_in_store_thread(name.get) == "a trace"


def test_number_of_writing_threads_follows_the_settings():
    inside, most, done = set(), 0, []
    lock, go_on = threading.Lock(), threading.Event()
    packed = threading.Event()

    def write():
        nonlocal most
        with lock:
            inside.add(threading.get_ident())
            most = max(most, len(inside))
        go_on.wait(60)
        with lock:
            inside.discard(threading.get_ident())

    def batch():
        services.run_in_store_thread(lambda: None)
        packed.wait(60)  # for its pack
        services.run_in_store_thread(write)
        done.append(1)

    waiting = [threading.Thread(target=batch) for _ in range(BATCHES)]
    for thread in waiting:
        thread.start()
    assert services.run_in_store_thread(lambda: "free") == "free"  # although all batches wait
    packed.set()
    wait_until(lambda: len(inside) == WRITING)
    go_on.set()
    for thread in waiting:
        thread.join(60)

    assert len(done) == BATCHES
    assert most == WRITING


def test_urgent_work_does_not_wait_for_other_work():
    """Regression: it waited behind the thousand pages of a pack just written."""
    go_on = threading.Event()
    others = [
        threading.Thread(target=services.run_in_store_thread, args=(lambda: go_on.wait(60),))
        for _ in range(BATCHES)
    ]
    for thread in others:
        thread.start()

    assert services.run_in_store_thread(lambda: "done", urgent=True) == "done"
    go_on.set()
    for thread in others:
        thread.join(60)
