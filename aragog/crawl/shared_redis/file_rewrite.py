"""Rewrites a Redis server's append-only file, to remove deleted data from it."""

from __future__ import annotations

import os

import redis
from redis.exceptions import ResponseError, WatchError

from pinlater.redis.errors import redis_errors

_ALREADY_RUNNING = "already in progress"
"""Part of Redis' error message if a rewrite is already running."""


class FileRewrite:
    """
    Starts rewrites of the append-only file.

    Data deleted during a rewrite may still be in the new file, and only one rewrite can run at a
    time. So a request is kept in Redis until a rewrite has started after it.

    Every call raises `BrokerUnavailable` if Redis does not respond.
    """

    def __init__(self, client: redis.Redis, *, prefix: str) -> None:
        self._redis = client
        self._key = f"{prefix}file_rewrite"

    def request(self) -> None:
        """Start a rewrite. If one is running, `start_requested` starts the next one later."""
        with redis_errors("the private Redis"):
            self._redis.set(self._key, os.urandom(8))
        self.start_requested()

    def start_requested(self) -> None:
        """Start a rewrite if one was requested and none is running."""
        with redis_errors("the private Redis"), self._redis.pipeline() as pipe:
            pipe.watch(self._key)  # type: ignore[no-untyped-call]
            if pipe.get(self._key) is None:
                return
            try:
                self._redis.bgrewriteaof()
            except ResponseError as error:
                if _ALREADY_RUNNING not in str(error):
                    raise
                return
            try:
                pipe.multi()
                pipe.delete(self._key)
                pipe.execute()
            except WatchError:
                return  # requested again after the rewrite began, so keep the request
