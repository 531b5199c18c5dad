"""
The measurements of all processes, summed in one Redis hash.

Every few seconds, each process adds its new measurements (`aragog.observability.instruments`). So a
worker needs no metrics port, and its values remain when it exits. A killed process loses the last
few seconds.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from typing import Self, cast

import orjson
import redis

from aragog.observability.instruments import Measurement, read_measurements

SHIP_INTERVAL_S = 5.0


class MetricTotals:
    """The sums in Redis. Thread-safe."""

    def __init__(self, client: redis.Redis, *, prefix: str) -> None:
        self._redis = client
        self._key = f"{prefix}metrics"

    def add(self, amounts: Mapping[Measurement, float]) -> None:
        """
        Add amounts to the sums. Takes one round trip.

        Raises:
            redis.RedisError: the server did not respond. Some values may have been added.
        """
        with self._redis.pipeline(transaction=False) as pipe:
            for measurement, amount in amounts.items():
                pipe.hincrbyfloat(self._key, orjson.dumps(list(measurement)).decode(), amount)
            pipe.execute()

    def read(self) -> dict[Measurement, float]:
        """
        Return all sums.

        Raises:
            redis.RedisError: the server does not respond.
        """
        cells = cast("dict[bytes, bytes]", self._redis.hgetall(self._key))
        amounts = ((orjson.loads(name), float(amount)) for name, amount in cells.items())
        length = len(Measurement._fields)  # a newer version may have more fields
        return {Measurement(*name): amount for name, amount in amounts if len(name) == length}


class MetricShipper:
    """
    Adds this process's measurements to the totals, in a thread. Create it after forking.

    Args:
        add: `MetricTotals.add`. If it fails, the measurements are added the next time.
        interval_s: how often to add, in seconds.
    """

    def __init__(
        self,
        add: Callable[[Mapping[Measurement, float]], None],
        *,
        interval_s: float = SHIP_INTERVAL_S,
    ) -> None:
        self._add = add
        self._every_s = interval_s
        self._shipped_measurements = read_measurements()
        self._lock = threading.Lock()
        self._stop = threading.Event()

    def start(self) -> Self:
        """Start the thread, which ends with the process."""
        threading.Thread(target=self._run, name="metrics", daemon=True).start()
        return self

    def _run(self) -> None:
        while not self._stop.wait(self._every_s):
            self.ship()

    def ship(self) -> None:
        """Add the measurements made since the previous call. Ignores Redis errors."""
        with self._lock, contextlib.suppress(redis.RedisError):
            measurements = read_measurements()
            increments = {
                c: n - self._shipped_measurements.get(c, 0) for c, n in measurements.items()
            }
            if changed := {
                measurement: amount for measurement, amount in increments.items() if amount
            }:
                self._add(changed)
                self._shipped_measurements = measurements

    def close(self) -> None:
        self._stop.set()
        self.ship()
