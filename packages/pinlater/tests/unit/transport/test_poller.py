"""Turns of the event loop, which the poller shares with other readers."""

from __future__ import annotations

import select
from dataclasses import dataclass

import pytest

from pinlater.transport.poller import Poller


@dataclass(eq=False)
class Channel:
    """A channel with some jobs to deliver, and no room after that."""

    due: int
    active_queues: tuple[str, ...] = ("q",)
    pollers: tuple[object, ...] = ()
    next_work_s: float = float("inf")

    def work(self, *, at_most: int) -> int:
        taken, self.due = min(self.due, at_most), 0
        return taken


class Hub:
    """The parts of kombu's event loop used by a poller."""

    def __init__(self) -> None:
        self.readers: dict[int, object] = {}

    def add_reader(self, fileno: int, *_: object) -> None:
        self.readers[fileno] = None

    def remove(self, fileno: int) -> None:
        del self.readers[fileno]

    @property
    def would_wait(self) -> bool:
        return not select.select(list(self.readers), [], [], 0)[0]


@pytest.fixture
def hub():
    return Hub()


@pytest.fixture
def poller(hub):
    a_poller = Poller()
    a_poller.attach(hub)
    yield a_poller
    a_poller.detach()


def test_turn_that_delivered_jobs_is_followed_by_another(poller, hub):
    poller._channels.add(Channel(due=1))

    poller.run_iteration()

    assert not hub.would_wait


def test_turn_that_delivered_nothing_is_not_followed_by_another(poller, hub):
    poller._channels.add(Channel(due=0))

    poller.run_iteration()

    assert hub.would_wait
