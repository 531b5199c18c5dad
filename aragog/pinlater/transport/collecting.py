"""
Conversion of one task message with a list to items that share jobs with those of other messages.

A message opts in with the header `collect`, a `Collection` as JSON. Each element of a list in the
task's first argument becomes an item with its own delay. Jobs with fewer than `most` elements that
wait for the same span of time are thus one job, which costs a fraction of the memory and messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import orjson

from aragog.errors import InvalidMessage
from aragog.pinlater.models import JobFrame, JobItem, NewJob
from aragog.pinlater.transport import envelope

HEADER = "collect"
# Control characters are escaped in JSON, and no URL or name contains one.
_PLACE = "\x1e"
_SPLIT_AT = orjson.dumps(orjson.dumps(_PLACE).decode())[1:-1]


@dataclass(frozen=True, slots=True)
class Collection:
    """The list in a message whose elements are collected into jobs."""

    elements: str
    """The name of the list in the task's first argument."""
    delays_ms: tuple[int, ...]
    """The delay of each element."""
    span_ms: int
    """Elements due in the same span share a job."""
    most: int
    """Elements of one job."""
    group: str
    """Only elements of the same group share a job: the task and the version of its messages."""

    def header(self) -> dict[str, Any]:
        """Return the value of the header `collect`."""
        return asdict(self)


def is_collected(message: Mapping[str, Any]) -> bool:
    """Return whether a task message opts in."""
    return HEADER in (message.get("headers") or {})


def to_items(
    message: dict[str, Any], *, priority: int, now: datetime
) -> tuple[JobFrame, list[JobItem]]:
    """
    Split a task message into the frame of its jobs and its items. Pure.

    Args:
        message: as kombu passes it to a transport; it is not modified.
        priority: 0 to 9.
        now: see `envelope.to_job`.

    Raises:
        InvalidMessage: the header or the list does not fit, or the body is not JSON.
    """
    try:
        headers = dict(message["headers"])
        collection = Collection(**headers.pop(HEADER))
        job = envelope.to_job({**message, "headers": headers}, priority=priority, now=now)
        plain = orjson.loads(job.body)
        args, *others = envelope.payload(plain)
        elements, args[0][collection.elements] = args[0][collection.elements], [_PLACE]
        items = [
            JobItem(_escaped(element), int(delay_ms))
            for element, delay_ms in zip(elements, collection.delays_ms, strict=True)
        ]
        # Plain text, because items cannot be inserted in base64.
        plain["properties"]["body_encoding"] = None
        plain["body"] = orjson.dumps([args, *others]).decode()
        prefix, suffix = orjson.dumps(plain).split(_SPLIT_AT)
    except (KeyError, LookupError, TypeError, ValueError) as error:
        raise InvalidMessage(HEADER, f"{type(error).__name__}: {error}") from error
    return _frame(job, collection, prefix, suffix), items


def _frame(job: NewJob, collection: Collection, prefix: bytes, suffix: bytes) -> JobFrame:
    return JobFrame(
        prefix,
        suffix,
        span_ms=collection.span_ms,
        most=collection.most,
        group=collection.group,
        priority=job.priority,
        max_attempts=job.max_attempts,
        name=job.name,
        key=job.key,
        even_when_full=job.even_when_full,
    )


def _escaped(element: Any) -> bytes:
    """The element as it stands in the body of a message, which is a JSON string with JSON in it."""
    return orjson.dumps(orjson.dumps(element).decode())[1:-1]
