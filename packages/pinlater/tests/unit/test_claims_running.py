"""Which deliveries a Celery worker of this process is running."""

import sys
import threading
from types import SimpleNamespace

import pytest
from celery.worker import state

from pinlater.claims import is_running_in_celery


class Request(SimpleNamespace):
    """The part of a Celery request that is looked at."""

    __hash__ = object.__hash__


def request(tag):
    return Request(message=SimpleNamespace(delivery_tag=tag))


@pytest.fixture
def switching():
    """Threads give way to each other all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_tasks_that_begin_and_end_in_threads_do_not_disturb_the_look(switching):
    # What was seen: the connection was lost while threads began tasks, and the worker ended with
    # "Set changed size during iteration".
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
        looks = {is_running_in_celery("running") for _ in range(40_000)}
    finally:
        over.set()
        thread.join()
        state.active_requests.clear()

    assert looks == {True}
    assert not is_running_in_celery("running")
