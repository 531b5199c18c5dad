"""The access log: a sample of all requests and calls, and all server failures."""

from __future__ import annotations

import logging
import random
import time

import orjson

access_log = logging.getLogger("aragog.access")
"""Logs one JSON object per line, at level INFO."""
MAX_TARGET_BYTES = 500


class AccessLog:
    """
    Writes a sample of the requests to the log.

    Args:
        share: fraction of successful requests to log, 0 to 1 (`serving.access_log_share`).
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self._random = random.Random()
        """A separate generator, because programs may seed Python's global one."""

    def should_log(self, *, failed: bool) -> bool:
        """Return True to log a request. `failed` means that the server failed to respond."""
        return failed or (self._share > 0 and self._random.random() < self._share)

    def write(
        self, call: dict[str, str], target: bytes, result: str | int, ms: float, token: str | None
    ) -> None:
        """
        Write one line.

        Args:
            call: the route or method that was called.
            target: the requested path or arguments, as the caller sent them.
            result: the response's status, or the outcome of the call.
            ms: time from the request's arrival to its response.
            token: the name of the bearer token.
        """
        line = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            **call,
            "target": target[:MAX_TARGET_BYTES].decode("utf-8", "replace"),
            "status": result,
            "ms": round(ms, 2),
            "token": token,
        }
        access_log.info("%s", orjson.dumps(line).decode())
