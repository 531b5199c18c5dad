"""
Write a log line for each run of a job, as a JSON object, with the logger `pinlater.runs`.

    {"queue": "images", "job_type": "thumbnail", "job_id": "0-000000000000002a", "attempt": 1,
     "wait_ms": 12, "run_ms": 340, "outcome": "succeeded"}

`wait_ms` is the time from when the job was due until its claim, by its server's clock. `run_ms` is
how long the task ran, by the worker's clock. The line is written after the server has accepted the
outcome. Workers of job types write it unless the app's configuration has `pinlater_log_runs =
False`; other workers write it only with True.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import orjson

from pinlater import job_codec
from pinlater.errors import InvalidMessage
from pinlater.models import JobState

if TYPE_CHECKING:
    from pinlater.acks import Claim

SETTING = "pinlater_log_runs"
"""A key in the app's configuration."""
logger = logging.getLogger("pinlater.runs")

_OUTCOMES = {
    JobState.SUCCEEDED: "succeeded",
    JobState.PENDING: "again",
    JobState.FAILED: "failed",
    None: "lost",
}
"""
`lost` means that the claim had already ended; another worker is running the job or has run it.
"""


def write(claim: Claim, state: JobState | None) -> None:
    """Write a claim's log line, unless its job never started."""
    if claim.run_s is None or not logger.isEnabledFor(logging.INFO):
        return
    job = claim.job
    try:
        record = job_codec.decode(job.record)
    except InvalidMessage:  # the job never ran
        return
    line = {
        "queue": claim.queue,
        "job_type": claim.task,
        "job_id": f"{claim.shard.name}-{job.job_id}",
        "attempt": job.attempt,
        "wait_ms": max(0, job.claimed_at_ms - record.due_at_ms),
        "run_ms": round(claim.run_s * 1000),
        "outcome": _OUTCOMES[state],
    }
    logger.info("%s", orjson.dumps(line).decode())
