"""Jobs on Redis, as `_jobs` plays them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.reports.doors import _jobs, _servers


def answer(given: Mapping[str, Any]) -> dict[str, Any]:
    """What is seen of the steps, and what is left."""
    return _jobs.play(given, _servers.redis_shard())
