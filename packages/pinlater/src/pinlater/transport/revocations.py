"""
Revoked tasks, stored on the server, where their jobs may wait longer than a worker lives.

Celery broadcasts revocations to running workers, which keep the ids in memory. Without stored ids,
a waiting task would still run if its worker restarted, or if no worker was running when the task
was revoked.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import redis

from pinlater.clock import SystemClock
from pinlater.redis.errors import redis_errors
from pinlater.redis.scripts import load_script

ID_TTL_MS = 90 * 86_400_000
"""How long an id is kept. A revoked task that is due later runs anyway."""
MAX_IDS = 100_000
"""This many of the newest ids are kept; each takes about 100 bytes on the server."""
READ_EVERY_S = 5.0
"""Seconds between a worker's reads of stored ids, in case it missed a broadcast."""
BROADCAST_SUFFIX = ".pidbox"
"""Suffix of remote control's exchange."""

_clock = SystemClock()


def get_revoked_ids(exchange: str, message: Mapping[str, Any]) -> list[str]:
    """
    Return the task ids that a broadcast revokes; empty for other messages.

    A revocation only for some workers (`destination`) is not stored, because others may run the
    task.
    """
    if not exchange.endswith(BROADCAST_SUFFIX) or message.get("content-type") != "application/json":
        return []
    body = message["body"]
    if message.get("properties", {}).get("body_encoding") == "base64":
        body = base64.b64decode(body)
    command = json.loads(body)
    if command.get("method") != "revoke" or command.get("destination"):
        return []
    ids = command.get("arguments", {}).get("task_id") or []
    return [ids] if isinstance(ids, str) else [str(task_id) for task_id in ids]


class Revocations:
    """
    A worker's copy of the revoked tasks' ids. Not thread-safe.

    Args:
        prefix: prepended to the key.
    """

    def __init__(self, prefix: str) -> None:
        self._key = f"{prefix}pl1:revoked"
        self._ids: set[str] = set()
        self._newest_ms = 0.0
        self._read_at_s = float("-inf")

    def add(self, client: redis.Redis, ids: list[str]) -> None:
        """Store the ids on the server; safe to repeat."""
        with redis_errors("broker, revocation of tasks"):
            script = load_script("pinlater", "revoke")
            script.call(client, [self._key], [ID_TTL_MS, MAX_IDS, *ids])

    @property
    def must_read(self) -> bool:
        return _clock.monotonic_s() - self._read_at_s >= READ_EVERY_S

    def read(self, client: redis.Redis) -> None:
        """Read new ids from the server. The first call reads all ids."""
        if len(self._ids) > 2 * MAX_IDS:  # the server has dropped half of them
            self._ids.clear()
            self._newest_ms = 0.0
        with redis_errors("broker, revoked tasks"):
            new_ids: Any = client.zrangebyscore(self._key, self._newest_ms, "+inf", withscores=True)
        self._read_at_s = _clock.monotonic_s()
        for task_id, at_ms in new_ids:
            self._ids.add(task_id.decode())
            self._newest_ms = max(self._newest_ms, at_ms)

    def __contains__(self, task_id: object) -> bool:
        return task_id in self._ids
