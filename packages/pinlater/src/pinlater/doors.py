"""
Let other programs use queues and run job types.

A door is a protocol through which a server accepts jobs from other programs, such as HTTP or Thrift
in aragog. A queue's setting `doors` comes from the configuration of job types (`job_types.py`).
Without it, only the queue's Celery app can use the queue. A worker runs plain bodies
(`job_body.py`) only as job types that its app has opened, not as arbitrary tasks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from pinlater.errors import InvalidMessage

SETTING = "doors"
DOORS = {"http": 1, "thrift": 2}
"""Doors by name. The setting is the sum of their values."""
ALL = sum(DOORS.values())

_open_types: dict[str, set[str]] = defaultdict(set)
"""The job types of this process that accept plain bodies, keyed by queue."""


def encode_setting(names: Iterable[str]) -> int:
    """Return the setting for doors; raises KeyError for an unknown door."""
    return sum(DOORS[name] for name in set(names))


def is_open(setting: float | None, door: str) -> bool:
    """Return whether a queue with this setting may be used through a door."""
    return bool(int(setting or 0) & DOORS[door])


def open_type(queue: str, job_type: str) -> None:
    """Let this process run jobs of this type that other programs put into the queue."""
    _open_types[queue].add(job_type)


def get_task_name(queue: str, job_type: str) -> str:
    """
    Return the name of the task that runs a plain body.

    Args:
        queue: the job's queue.
        job_type: the producer's type; if empty, the queue's only type.

    Raises:
        InvalidMessage: no task of this process may run it.
    """
    types = _open_types.get(queue, set())
    if job_type in types:
        return job_type
    if not job_type and len(types) == 1:
        return next(iter(types))
    open_types = ", ".join(sorted(types)) or "none"
    raise InvalidMessage(
        "job type",
        f"{job_type!r} is not open to other programs in queue {queue}; open: {open_types}",
    )
