"""
Control which queues other programs may use, and under which names.

A door is an interface to queues: HTTP, Thrift, or Python without a server. A queue that was created
through one door is open to all doors. A Celery app's queue is open to the doors that its job types
list (`pinlater.job_types`). The crawler's queues are open to no door. Queues have the same names as
in pinlater.

Up to version 0.1, queue NAME was called `jobs.NAME` in pinlater, and bodies had no content type.
Jobs that are still in `jobs.NAME` are claimed together with those in NAME.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

from aragog.errors import AccessDenied, BrokerUnavailable
from pinlater import doors
from pinlater.cluster import Cluster
from pinlater.shard import Shard

LEGACY = "jobs."
"""The prefix of other programs' queues up to version 0.1."""
CACHE_S = 2.0
LEGACY_CACHE_S = 10.0
T = TypeVar("T")


class DoorQueue(NamedTuple):
    """A pinlater queue that a door reads."""

    broker_name: str
    is_legacy: bool
    """True if its bodies are bytes without a content type."""


class QueueDoors:
    """
    Checks access to queues. Thread-safe.

    Args:
        cluster: the shards of the broker.
        reserved: queues that no door may use.
    """

    def __init__(self, cluster: Cluster, reserved: Iterable[str] = ()) -> None:
        self._cluster = cluster
        self._reserved = frozenset(reserved)
        self._settings: dict[str, tuple[float, float | None]] = {}
        self._legacy: tuple[float, frozenset[str]] = (float("-inf"), frozenset())

    def may_use(self, queue: str, door: str) -> bool:
        """Return True if a queue exists and the door may use it."""
        return not self._is_reserved(queue) and self._is_open(self._setting(queue), door)

    def queue_to_write(self, queue: str, door: str) -> str:
        """
        Return the pinlater name of a queue to add jobs to. A new queue is opened to all doors.

        Raises:
            AccessDenied: the queue belongs to the crawler, or its app has not opened it to this
                door.
            BrokerUnavailable: no shard responds.
        """
        if self._is_reserved(queue):
            raise AccessDenied(f"queue {queue} belongs to the crawler; choose another name")
        setting = self._setting(queue)
        if setting is None and queue not in self._names():
            # Configure only the reachable shards. An unreachable one is no reason to reject jobs.
            self._call_shards(lambda shard: shard.configure(queue, {doors.SETTING: doors.ALL}))
            self._settings[queue] = (time.monotonic(), setting := float(doors.ALL))
        if not self._is_open(setting, door):
            raise AccessDenied(
                f"queue {queue} belongs to a Celery app; add the door to `doors` of its job types"
            )
        return queue

    def queues_to_read(self, queue: str, door: str) -> list[DoorQueue]:
        """
        Return the pinlater queues to claim jobs from, with an old version's queue first.

        Raises:
            AccessDenied, BrokerUnavailable: see `queue_to_write`.
        """
        legacy_name = f"{LEGACY}{queue}"
        queues = (
            [DoorQueue(legacy_name, is_legacy=True)] if legacy_name in self._legacy_names() else []
        )
        if not queues or not self._is_reserved(queue):
            queues.append(DoorQueue(self.queue_to_write(queue, door), is_legacy=False))
        return queues

    def open_queues(self, door: str) -> list[str]:
        names = self._names()
        legacy = {name.removeprefix(LEGACY) for name in names if name.startswith(LEGACY)}
        return sorted(legacy | {name for name in names if self.may_use(name, door)})

    def _is_reserved(self, queue: str) -> bool:
        return queue in self._reserved or queue.startswith(LEGACY)

    @staticmethod
    def _is_open(setting: float | None, door: str) -> bool:
        return doors.is_open(setting, door) if door else bool(setting)

    def _setting(self, queue: str) -> float | None:
        """
        Return a queue's setting `doors`, up to two seconds old, or None if it is not set. Calls all
        shards, because a shard that was unreachable when the queue was opened lacks the setting.
        """
        at_s, setting = self._settings.get(queue, (float("-inf"), None))
        if time.monotonic() - at_s < CACHE_S:
            return setting
        settings = self._call_shards(lambda shard: shard.settings(queue).get(doors.SETTING))
        setting = next((value for value in settings if value is not None), None)
        if setting is not None:
            self._settings[queue] = (time.monotonic(), setting)
        return setting

    def _names(self) -> frozenset[str]:
        return frozenset().union(*self._call_shards(lambda shard: shard.queues()))

    def _legacy_names(self) -> frozenset[str]:
        at_s, names = self._legacy
        if time.monotonic() - at_s >= LEGACY_CACHE_S:
            names = frozenset(name for name in self._names() if name.startswith(LEGACY))
            self._legacy = (time.monotonic(), names)
        return names

    def _call_shards(self, call: Callable[[Shard], T]) -> list[T]:
        """Return reachable shards' responses. Raises BrokerUnavailable if no shard responds."""
        replies, last_error = [], None
        for shard in self._cluster.healthy_shards():
            try:
                with self._cluster.track(shard):
                    replies.append(call(shard))
            except BrokerUnavailable as error:
                last_error = error
        if last_error and not replies:
            raise last_error
        return replies
