"""Which deliveries the Celery worker of this process is running."""

import sys
import threading
from types import SimpleNamespace

import pytest
from celery.worker import state

from pinlater.claims import is_running_in_celery


class Request(SimpleNamespace):
    """The part of a Celery request that is used."""

    __hash__ = object.__hash__


def request(tag):
    return Request(message=SimpleNamespace(delivery_tag=tag))


@pytest.fixture
def switching():
    """Makes threads switch constantly."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_running_tasks_can_be_checked_while_threads_start_and_end_tasks(switching):
    # Regression: the connection was lost while threads were starting tasks, and the worker ended
    # with "Set changed size during iteration".
    running, over = request("running"), threading.Event()
    others = [request(str(number)) for number in range(50)]

    def work():
        while not over.is_set():
            for one in others:
                state.active_requests.add(one)
            for one in others:
                state.active_requests.discard(one)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        state.active_requests.add(running)
        results = {is_running_in_celery("running") for _ in range(40_000)}
    finally:
        over.set()
        thread.join()
        state.active_requests.clear()

    assert results == {True}
    assert not is_running_in_celery("running")
