"""
How a job is written down: `version|priority|attempts allowed|created|due|unique|name|key|body`.

A finished job is its header with `attempts|claimed at|ended at|worker|error` in place of the
body. Scripts read the same format (lua/prelude.lua). Pure.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from aragog.errors import InvalidMessage
from aragog.pinlater.models import JobInfo, JobState, NewJob

VERSION = 1
MAX_PROBLEM = 1000
"""Characters kept of an error."""

HEADER = re.compile(rb"1\|(\d)\|(\d+)\|(\d+)\|(\d+)\|([^|]*)\|([^|]*)\|([^|]*)\|", re.DOTALL)
_ESCAPED = re.compile("%(25|7C)")


class JobRecord(NamedTuple):
    """A record's parts."""

    priority: int
    max_attempts: int
    created_at_ms: int
    due_at_ms: int
    unique_key: str
    name: str
    key: str
    body: bytes


def escape(text: str) -> str:
    """`text` without a `|`."""
    return text.replace("%", "%25").replace("|", "%7C") if "%" in text or "|" in text else text


def unescape(text: bytes) -> str:
    """What `escape` was given."""
    return _ESCAPED.sub(lambda m: "%" if m[1] == "25" else "|", text.decode("utf-8", "replace"))


def encode(job: NewJob, now_ms: int) -> bytes:
    """The record of a new job, as the enqueue script writes it."""
    due_at_ms = now_ms + job.delay_ms
    texts = "|".join(map(escape, (job.unique_key, job.name, job.key)))
    head = f"{VERSION}|{job.priority}|{job.max_attempts}|{now_ms}|{due_at_ms}|{texts}|"
    return head.encode() + job.body


def decode(record: bytes) -> JobRecord:
    """
    A record's parts.

    Raises:
        InvalidMessage: another version, or none at all.
    """
    match = HEADER.match(record)
    if not match:
        raise InvalidMessage("job record", f"cannot be read by version {VERSION}: {record[:40]!r}")
    priority, allowed, created, due, unique, name, key = match.groups()
    return JobRecord(
        int(priority), int(allowed), int(created), int(due),
        unescape(unique), unescape(name), unescape(key), record[match.end() :],
    )  # fmt: skip


def cut(problem: str) -> str:
    """An error short enough to keep, on one line."""
    return " ".join(problem.split())[:MAX_PROBLEM]


class JobPosition(NamedTuple):
    """Where a job was found."""

    queue: str
    job_id: str
    state: JobState
    at_ms: int


def waiting(place: JobPosition, record: bytes, claim: bytes | None) -> JobInfo:
    """A PENDING or RUNNING job; `claim` is `token|attempts|claimed at|worker|error`."""
    _, attempts, _, worker, problem = (claim or b"0|0|0||").split(b"|", 4)
    return _info(place, record, int(attempts), worker, problem)


def ended(place: JobPosition, entry: bytes, body: bytes | None) -> JobInfo:
    """A SUCCEEDED or FAILED job; `entry` is its line among the ended ones."""
    match = HEADER.match(entry)
    head = entry[: match.end()] if match else b""
    attempts, _, _, worker, problem = entry[len(head) :].split(b"|", 4)
    return _info(place, head if body is None else body, int(attempts), worker, problem)


def _info(
    place: JobPosition, record: bytes, attempts: int, worker: bytes, problem: bytes
) -> JobInfo:
    try:
        r = decode(record)
    except InvalidMessage:
        r = JobRecord(9, 1, 0, 0, "", "", "", record)
    return JobInfo(
        *place, name=r.name, key=r.key, priority=r.priority, created_at_ms=r.created_at_ms,
        due_at_ms=r.due_at_ms, attempts=attempts, max_attempts=r.max_attempts,
        unique_key=r.unique_key, worker=unescape(worker),
        problem=problem.decode("utf-8", "replace"), body=r.body,
    )  # fmt: skip
