"""Jobs on Redis, played by `_jobs`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.reports.doors import _jobs, _servers


def answer(given: Mapping[str, Any]) -> dict[str, Any]:
    """The visible results of the steps, and the remaining jobs."""
    return _jobs.play(given, _servers.redis_shard())
