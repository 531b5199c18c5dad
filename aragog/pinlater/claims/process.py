"""The claim registries of this process, one for each cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from aragog.pinlater.claims.registry import ClaimRegistry
from aragog.pinlater.cluster import Cluster, connect_shards

_registries: dict[tuple[object, ...], ClaimRegistry] = {}


def claims_for(
    urls: Sequence[str], *, prefix: str, claim_timeout_s: float, max_claim_s: float
) -> ClaimRegistry:
    """Return this process's registry for these shards; a forked child gets a separate one."""
    key = (os.getpid(), tuple(urls), prefix)
    if key not in _registries:
        _registries[key] = ClaimRegistry(
            Cluster(connect_shards(urls, prefix=prefix)),
            claim_timeout_ms=round(claim_timeout_s * 1000),
            max_claim_ms=round(max_claim_s * 1000),
            still_running=celery_runs,
        )
    return _registries[key]


def stop_claims() -> None:
    """Stop the registries of this process; a connection that is used later gets a new one."""
    while _registries:
        _registries.popitem()[1].stop()


def celery_runs(tag: str) -> bool:
    """Return whether a Celery worker in this process is running this delivery."""
    state = sys.modules.get("celery.worker.state")
    while state is not None:
        # Compare delivery tags, because several deliveries may share a task id.
        with suppress(RuntimeError):  # a thread began or ended a task meanwhile: look again
            return any(r.message.delivery_tag == tag for r in state.active_requests)
    return False
