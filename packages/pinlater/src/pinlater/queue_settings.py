"""
A queue's settings: rate, pause, retry policy, and how long ended jobs are kept.

The server applies them when it delivers jobs: `lua/claim.lua` on Redis, `postgres/functions.sql` on
PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields

from pinlater.errors import InvalidArgument
from pinlater.retry_policy import TYPE_SEPARATOR, RetryPolicy

SETTINGS: Mapping[str, str] = {
    "paused": "1: no jobs are delivered",
    "rate": "jobs delivered per second, over all workers and shards",
    "burst": "jobs delivered at once after an idle time; default a quarter of the rate per second",
    "keep_succeeded_ms": "how long a finished job is kept; default a day",
    "keep_succeeded_max": "how many finished jobs a shard keeps; default 100,000",
    "keep_failed_ms": "how long a failed job is kept; default 7 days",
    "keep_failed_max": "how many failed jobs a shard keeps; default 1,000,000",
    "doors": "which other programs may use the queue: 1 over HTTP, 2 over Thrift, 3 over both",
    **{field.name: f"retry policy; default {field.default:.12g}" for field in fields(RetryPolicy)},
}
"""
The settings that `configure` accepts, with descriptions. Retry settings may also be for a job type:
`max_attempts@thumbnail`.
"""


def rate_settings(rate_per_s: float | None, burst: float | None) -> dict[str, float | None]:
    """
    Return the settings for a rate; None removes the limit.

    Raises:
        InvalidArgument: the rate is 0 or less.
    """
    if rate_per_s is not None and rate_per_s <= 0:
        raise InvalidArgument("rate: must be above 0; pause the queue to stop it")
    return {"rate": rate_per_s, "burst": burst}


def check_settings(names: Iterable[str]) -> None:
    """Raise InvalidArgument if any of the names is not a setting."""
    if unknown := sorted(name for name in names if not _is_setting(name)):
        raise InvalidArgument(
            f"{', '.join(unknown)}: not a setting of a queue; use {', '.join(SETTINGS)}"
        )


def _is_setting(name: str) -> bool:
    setting, separator, job_type = name.partition(TYPE_SEPARATOR)
    if separator:
        return setting in RetryPolicy.fields() and bool(job_type) and not set(job_type) & set("|%")
    return setting in SETTINGS
