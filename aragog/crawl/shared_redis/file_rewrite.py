"""A Redis server's append-only file, written anew without what was deleted."""

from __future__ import annotations

import os

import redis
from redis.exceptions import ResponseError, WatchError

from pinlater.redis.errors import redis_errors

_RUNS = "already in progress"
"""In the server's error: one rewrite runs, which began before what was deleted last."""


class FileRewrite:
    """
    Rewrites of the append-only file, each begun after it was requested.

    A rewrite that runs began with what has been deleted since, and the server refuses a second one
    in the meantime. So a request is kept in Redis until a rewrite has begun after it.

    Every call raises `BrokerUnavailable` when Redis does not answer.
    """

    def __init__(self, client: redis.Redis, *, prefix: str) -> None:
        self._redis = client
        self._key = f"{prefix}file_rewrite"

    def request(self) -> None:
        """Begin a rewrite, or leave it to a later `begin_requested`."""
        with redis_errors("the private Redis"):
            self._redis.set(self._key, os.urandom(8))
        self.begin_requested()

    def begin_requested(self) -> None:
        """Begin the rewrite that was requested, unless one runs; without a request do nothing."""
        with redis_errors("the private Redis"), self._redis.pipeline() as pipe:
            pipe.watch(self._key)  # type: ignore[no-untyped-call]
            if pipe.get(self._key) is None:
                return
            try:
                self._redis.bgrewriteaof()
            except ResponseError as error:
                if _RUNS not in str(error):
                    raise
                return
            try:
                pipe.multi()
                pipe.delete(self._key)
                pipe.execute()
            except WatchError:
                return  # requested again in the meantime, after the rewrite began
