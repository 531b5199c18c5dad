"""
The stored format of a job: `version|priority|attempts allowed|created|due|unique|name|key|body`.

The body of a job that collects items (version 2) is split into parts; `decode` joins them. The
record of a finished job has `attempts|claimed at|ended at|worker|error` instead of the body. The
Lua scripts use the same format (lua/prelude.lua).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from pinlater.errors import InvalidMessage
from pinlater.models import JobFrame, JobInfo, JobState, NewJob

VERSION = 1
COLLECTED_VERSION = 2
"""The version of jobs that collect items."""
PART_SEPARATOR, DUE_TIME_END = b"\x1e", b"\x1f"
MAX_PROBLEM_CHARACTERS = 1000
"""Maximum number of characters in a stored error."""

HEADER = re.compile(rb"([12])\|(\d)\|(\d+)\|(\d+)\|(\d+)\|([^|]*)\|([^|]*)\|([^|]*)\|", re.DOTALL)
_ESCAPED = re.compile("%(25|7C)")


class JobRecord(NamedTuple):
    """The fields of a stored job."""

    priority: int
    max_attempts: int
    created_at_ms: int
    due_at_ms: int
    unique_key: str
    name: str
    key: str
    body: bytes


def escape(text: str) -> str:
    """Return `text` with `|` escaped."""
    return text.replace("%", "%25").replace("|", "%7C") if "%" in text or "|" in text else text


def unescape(text: bytes) -> str:
    """Reverse `escape`."""
    return _ESCAPED.sub(lambda m: "%" if m[1] == "25" else "|", text.decode("utf-8", "replace"))


def encode(job: NewJob, now_ms: int) -> bytes:
    """Return the record of a new job, as the enqueue script writes it."""
    due_at_ms = now_ms + job.delay_ms
    names = "|".join(map(escape, (job.unique_key, job.name, job.key)))
    header = f"{VERSION}|{job.priority}|{job.max_attempts}|{now_ms}|{due_at_ms}|{names}|"
    return header.encode() + job.body


def decode(record: bytes) -> JobRecord:
    """
    Decode a record.

    Raises:
        InvalidMessage: the record has another version or none.
    """
    match = HEADER.match(record)
    if not match:
        raise InvalidMessage("job record", f"cannot be read by version {VERSION}: {record[:40]!r}")
    version, priority, max_attempts, created_ms, due_ms, unique_key, name, key = match.groups()
    body = record[match.end() :]
    if int(version) == COLLECTED_VERSION:
        unique_key, body = b"", _join_body(body)
    return JobRecord(
        int(priority), int(max_attempts), int(created_ms), int(due_ms),
        unescape(unique_key), unescape(name), unescape(key), body,
    )  # fmt: skip


def _join_body(parts: bytes) -> bytes:
    if not parts:  # the body was deleted when the job ended
        return b""
    _count, _width_ms, _span_ms, _max_items, _group, prefix, suffix, *items = parts.split(
        PART_SEPARATOR
    )
    return prefix + b",".join(item.partition(DUE_TIME_END)[2] for item in items) + suffix


def shorten_problem(problem: str) -> str:
    """Return an error as one line of at most `MAX_PROBLEM_CHARACTERS` characters."""
    line = " ".join(problem.split())[:MAX_PROBLEM_CHARACTERS]
    # A lone surrogate would make all acks in the same call fail.
    return line.encode("utf-8", "backslashreplace").decode()[:MAX_PROBLEM_CHARACTERS]


def encode_collected(
    frame: JobFrame, items: Sequence[tuple[int, bytes]], now_ms: int, due_ms: int
) -> bytes:
    """
    Return the record of a job with these items, as the collect script writes it.

    Args:
        frame: what the items share.
        items: the due time (ms) and the data of each item.
        now_ms: the current time.
        due_ms: due time (ms) of the first item.
    """
    names = "|".join(map(escape, ("", frame.name, frame.key)))
    header = f"{COLLECTED_VERSION}|{frame.priority}|{frame.max_attempts}|{now_ms}|{due_ms}|{names}|"
    counts = (len(items), frame.span_ms, frame.span_ms, frame.max_items)
    parts = (*(b"%d" % n for n in counts), escape(frame.group).encode(), frame.prefix, frame.suffix)
    entries = (b"%d%b%b" % (at_ms, DUE_TIME_END, data) for at_ms, data in items)
    return header.encode() + PART_SEPARATOR.join((*parts, *entries))


class JobPosition(NamedTuple):
    """A job's queue and state, and the time by which jobs in this state are sorted."""

    queue: str
    job_id: str
    state: JobState
    at_ms: int


def unfinished_job(position: JobPosition, record: bytes, claim: bytes | None) -> JobInfo:
    """
    Return the details of a PENDING or RUNNING job.

    `claim` is `token|attempts|claimed at|worker|error`.
    """
    _, attempts, _, worker, problem = (claim or b"0|0|0||").split(b"|", 4)
    return _info(position, record, int(attempts), worker, problem)


def ended_job(position: JobPosition, entry: bytes, body: bytes | None) -> JobInfo:
    """
    Return the details of a SUCCEEDED or FAILED job.

    `entry` is its record in the `ended_job` hash.
    """
    match = HEADER.match(entry)
    header = entry[: match.end()] if match else b""
    attempts, _, _, worker, problem = entry[len(header) :].split(b"|", 4)
    return _info(position, header if body is None else body, int(attempts), worker, problem)


def _info(
    position: JobPosition, record: bytes, attempts: int, worker: bytes, problem: bytes
) -> JobInfo:
    try:
        fields = decode(record)
    except InvalidMessage:
        fields = JobRecord(9, 1, 0, 0, "", "", "", record)
    return JobInfo(
        *position, name=fields.name, key=fields.key, priority=fields.priority,
        created_at_ms=fields.created_at_ms, due_at_ms=fields.due_at_ms,
        attempts=attempts, max_attempts=fields.max_attempts,
        unique_key=fields.unique_key, worker=unescape(worker),
        problem=problem.decode("utf-8", "replace"), body=fields.body,
    )  # fmt: skip
