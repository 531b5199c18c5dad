"""
Convert task messages to jobs and back.

A message with the headers `task` and `id` is a job. Its `eta` becomes the job's due time and moves
to the header `x_eta`, so an unmodified worker never delays the task itself.

A message with the header `plain_body` becomes a job with a plain body (job_body.py), which programs
in other languages can read, too. Such a job becomes a message for the task that runs it.

A message with the header `collect`, a `Collection` as JSON, contains a list. Each element becomes
an item with its own delay. Items due in the same span of time, even from different messages, share
a job of up to `most` items. This takes a fraction of the memory and messages of one job per item.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import orjson
from kombu.utils import json

from pinlater import job_body
from pinlater.errors import InvalidArgument, InvalidMessage
from pinlater.job_body import JobBody
from pinlater.models import JobFrame, JobItem, NewJob

_json: Any = json
ATTEMPT_PROPERTY = "pinlater"
"""Property that marks a delivered message as a job. Its value is the attempt number."""
COLLECT_HEADER = "collect"
PLAIN_HEADER = "plain_body"
"""Header of a message whose arguments become a plain body."""
MAX_REPR_CHARACTERS = 1024
"""Maximum characters of arguments in events, as in Celery."""
_CANVAS_OPTIONS = ("callbacks", "errbacks", "chain", "chord")
_CELERY_ONLY_HEADERS = ("expires", "group", "retries", "stamped_headers")
# JSON escapes control characters, and no URL or name contains one.
_PLACEHOLDER = "\x1e"
_ESCAPED_PLACEHOLDER = orjson.dumps(orjson.dumps(_PLACEHOLDER).decode())[1:-1]


def is_job(message: Mapping[str, Any]) -> bool:
    """Return whether this is a task message of Celery's protocol 2."""
    headers = message.get("headers") or {}
    return bool(headers.get("task") and headers.get("id"))


def to_job(message: dict[str, Any], *, priority: int, now: datetime) -> NewJob:
    """
    Convert a task message to a job.

    Args:
        message: as kombu passes it to a transport. It is not modified, because kombu retries with
            it when publishing fails.
        priority: 0 to 9.
        now: the publisher's time, timezone-aware. The eta comes from the same clock, so clock skew
            cancels out.

    Raises:
        InvalidMessage: the eta is not an ISO 8601 time.
        InvalidArgument: a plain body cannot contain the message.
    """
    headers, properties = dict(message["headers"]), dict(message["properties"])
    delay_ms = _delay_ms(headers, now)
    # Remove the key, because `self.retry()` resends the headers while this job still has the key.
    header_key = headers.pop("unique_key", None)
    unique_key = properties.pop("unique_key", None) or header_key or ""
    attempts = properties.pop("max_attempts", None) or headers.get("max_attempts") or 0
    even_when_full = bool(headers.pop("even_when_full", False))
    if headers.pop(PLAIN_HEADER, False):
        body = job_body.encode(to_plain(message))
    else:
        body = _json.dumps(message | {"headers": headers, "properties": properties}).encode()
    return NewJob(
        body=body,
        priority=priority,
        delay_ms=delay_ms,
        max_attempts=int(attempts),
        unique_key=str(unique_key),
        name=str(headers["task"]),
        key=str(headers["id"]),
        even_when_full=even_when_full,
    )


def _delay_ms(headers: dict[str, Any], now: datetime) -> int:
    eta = headers.get("eta")
    if not eta:
        return 0
    try:
        due = eta if isinstance(eta, datetime) else datetime.fromisoformat(str(eta))
    except ValueError as error:
        raise InvalidMessage("eta", str(error)) from error
    headers["eta"], headers["x_eta"] = None, str(eta)
    if due.tzinfo is None:
        due = due.replace(tzinfo=UTC)
    return max(0, round((due - now).total_seconds() * 1000))


def arguments(body: bytes) -> list[Any]:
    """
    Return the task's positional arguments from a job's body.

    Raises:
        InvalidMessage: the body is not a task message in plain JSON.
    """
    try:
        return list(payload(_json.loads(body))[0])
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise InvalidMessage("job body", f"{type(error).__name__}: {error}") from error


def payload(message: Mapping[str, Any]) -> list[Any]:
    """Return a message's positional arguments, keyword arguments and canvas options."""
    text: Any = message["body"]
    if message["properties"].get("body_encoding") == "base64":
        text = base64.b64decode(text)
    return list(_json.loads(text))


def to_plain(message: Mapping[str, Any]) -> JobBody:
    """
    Return a task message's arguments as a plain body.

    Raises:
        InvalidArgument: the message has a link, a chain or an expiry, or an argument is not JSON.
        InvalidMessage: it is not a task message in JSON.
    """
    headers = message["headers"]
    try:
        args, kwargs, embedded = payload(message)
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidMessage("job body", f"{type(error).__name__}: {error}") from error
    unsupported = [name for name in _CELERY_ONLY_HEADERS if headers.get(name)]
    unsupported += [name for name in _CANVAS_OPTIONS if embedded.get(name)]
    if unsupported:
        raise InvalidArgument(
            f"job: {', '.join(unsupported)} needs Celery and cannot be used in a queue with doors"
        )
    return job_body.of_arguments(args, kwargs)


def for_others(stored: bytes) -> JobBody:
    """
    Return a stored body for programs without Celery; for a task message, its arguments.

    Raises:
        InvalidMessage: only Celery can run it, or it is unreadable.
    """
    if job_body.is_plain(stored):
        return job_body.decode(stored)
    try:
        return to_plain(_json.loads(stored))
    except InvalidArgument as error:
        raise InvalidMessage("job body", f"can be run only by Celery: {error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidMessage("job body", f"{type(error).__name__}: {error}") from error


def from_plain(body: JobBody, job: PlainJob) -> dict[str, Any]:
    """
    Return the message for a claimed job with a plain body.

    Raises:
        InvalidMessage: the body does not match its content type.
    """
    args, kwargs = job_body.arguments(body)
    text = _json.dumps([args, kwargs, dict.fromkeys(_CANVAS_OPTIONS)])
    properties: dict[str, Any] = {
        "correlation_id": job.key,
        "reply_to": "",
        "delivery_mode": 2,
        "delivery_info": {"exchange": "", "routing_key": job.queue},
        "priority": job.priority,
        "body_encoding": "base64",
        "delivery_tag": job.tag,
        ATTEMPT_PROPERTY: job.attempt,
    }
    headers = {
        "lang": "py",
        "task": job.task,
        "id": job.key,
        "root_id": job.key,
        "parent_id": None,
        "argsrepr": _short_repr(args),
        "kwargsrepr": _short_repr(kwargs),
        "retries": 0,
        "timelimit": [None, None],
        "ignore_result": True,
    }
    message = {
        "body": base64.b64encode(text.encode()).decode(),
        "content-encoding": "utf-8",
        "content-type": job_body.JSON,
        "headers": headers,
        "properties": properties,
    }
    return _mark_redelivered(message, job.attempt)


class PlainJob(NamedTuple):
    """The message fields that a plain body does not contain."""

    task: str
    key: str
    """The task's id."""
    queue: str
    priority: int
    tag: str
    attempt: int


def _short_repr(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MAX_REPR_CHARACTERS else f"{text[: MAX_REPR_CHARACTERS - 1]}…"


def _mark_redelivered(message: dict[str, Any], attempt: int) -> dict[str, Any]:
    headers, properties = message["headers"], message["properties"]
    if attempt > 1:
        headers["redelivered"] = True
        properties.setdefault("delivery_info", {})["redelivered"] = True
    return message


def from_job(body: bytes, *, tag: str, attempt: int) -> dict[str, Any]:
    """
    Return the message for a claimed job.

    Raises:
        InvalidMessage: the body is not a message.
    """
    try:
        message: dict[str, Any] = _json.loads(body)
        properties = message["properties"]
        properties["delivery_tag"] = tag
        properties[ATTEMPT_PROPERTY] = attempt
        return _mark_redelivered(message, attempt)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidMessage("job body", f"{type(error).__name__}: {error}") from error


@dataclass(frozen=True, slots=True)
class Collection:
    """Options of a message whose list elements are collected into jobs."""

    elements: str
    """The list's key in the task's first argument."""
    delays_ms: tuple[int, ...]
    """Milliseconds of delay for each element."""
    span_ms: int
    """Elements due in the same span of this many ms share a job."""
    most: int
    """Maximum number of elements in one job."""
    group: str
    """Only elements of the same group share a job. Use a group for one task and version only."""

    def header(self) -> dict[str, Any]:
        return asdict(self)


def is_collected(message: Mapping[str, Any]) -> bool:
    """Return whether a task message has the header `collect`."""
    return COLLECT_HEADER in (message.get("headers") or {})


def to_items(
    message: dict[str, Any], *, priority: int, now: datetime
) -> tuple[JobFrame, list[JobItem]]:
    """
    Split a task message into its items and the frame that their jobs share.

    Args:
        message: as kombu passes it to a transport; it is not modified.
        priority: 0 to 9.
        now: see `to_job`.

    Raises:
        InvalidMessage: the header or the list is invalid, or the body is not JSON.
    """
    try:
        headers = dict(message["headers"])
        collection = Collection(**headers.pop(COLLECT_HEADER))
        job = to_job({**message, "headers": headers}, priority=priority, now=now)
        message_json = orjson.loads(job.body)
        args, *rest = payload(message_json)
        elements, args[0][collection.elements] = args[0][collection.elements], [_PLACEHOLDER]
        items = [
            JobItem(_encode_element(element), int(delay_ms))
            for element, delay_ms in zip(elements, collection.delays_ms, strict=True)
        ]
        # Plain text, because base64 cannot be extended with items.
        message_json["properties"]["body_encoding"] = None
        message_json["body"] = orjson.dumps([args, *rest]).decode()
        prefix, suffix = orjson.dumps(message_json).split(_ESCAPED_PLACEHOLDER)
    except (KeyError, LookupError, TypeError, ValueError) as error:
        raise InvalidMessage(COLLECT_HEADER, f"{type(error).__name__}: {error}") from error
    return _make_frame(job, collection, prefix, suffix), items


def _make_frame(job: NewJob, collection: Collection, prefix: bytes, suffix: bytes) -> JobFrame:
    return JobFrame(
        prefix,
        suffix,
        span_ms=collection.span_ms,
        max_items=collection.most,
        group=collection.group,
        priority=job.priority,
        max_attempts=job.max_attempts,
        name=job.name,
        key=job.key,
        even_when_full=job.even_when_full,
    )


def _encode_element(element: Any) -> bytes:
    """Return the element as JSON inside a JSON string, as in a message's body."""
    return orjson.dumps(orjson.dumps(element).decode())[1:-1]
