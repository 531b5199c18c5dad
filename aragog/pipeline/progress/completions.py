"""
Wait until URLs are done: stored, or given up.

`InFlightSet.clear` publishes the keys of URLs that are done on one Redis channel. A process that
has callers waiting listens to it in one thread, and wakes those who wait for one of the keys. A
message is lost when the connection breaks, so all waiting callers are woken after each new
connection, to look again.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress

import redis
from redis.client import PubSub

from aragog.errors import BrokerUnavailable
from aragog.pipeline.in_flight import done_channel
from aragog.redis_kit.errors import redis_errors
from aragog.urls import url_key

WHERE = "redis, URLs that are done"
CONNECT_S = 5.0
LOOK_S = 0.2
"""How often the thread looks whether it was closed; messages are delivered at once."""
PAUSE_S = 0.2
KEY_BYTES = 16


class Waiter:
    """One caller that waits for one URL."""

    def __init__(self) -> None:
        self.woken: Future[bool] = Future()
        """True: the URL is done. False: it may be, because a message may have been lost."""

    def again(self) -> None:
        """Wait for the next time."""
        self.woken = Future()

    def wake(self, *, done: bool) -> None:
        """Complete `woken`; harmless if it is complete or cancelled."""
        with suppress(InvalidStateError):
            self.woken.set_result(done)


class Completions:
    """
    Callers that wait, and the thread that listens for them; it starts with the first caller.

    Args:
        client: the shared Redis. The thread keeps one of its connections.
        prefix: of the keys of this system.
    """

    def __init__(self, client: redis.Redis, *, prefix: str) -> None:
        self._redis = client
        self._channel = done_channel(prefix)
        self._lock = threading.Lock()
        self._waiters: dict[bytes, set[Waiter]] = defaultdict(set)
        self._listening = threading.Event()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def waiting(self, url: str) -> Iterator[Waiter]:
        """
        A waiter for a normalized URL, which hears of everything from now on.

        Raises:
            BrokerUnavailable: Redis does not answer.
        """
        self._listen()
        key, waiter = url_key(url), Waiter()
        with self._lock:
            self._waiters[key].add(waiter)
        try:
            yield waiter
        finally:
            with self._lock:
                self._waiters[key].discard(waiter)
                if not self._waiters[key]:
                    del self._waiters[key]

    @property
    def count(self) -> int:
        """How many callers wait."""
        with self._lock:
            return sum(map(len, self._waiters.values()))

    def close(self) -> None:
        """End the thread, and wake everybody who waits."""
        self._closed.set()
        self.wake_all()
        if self._thread is not None:
            self._thread.join(CONNECT_S)

    def _listen(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="completions", daemon=True)
                self._thread.start()
        if not self._listening.wait(CONNECT_S):
            raise BrokerUnavailable(WHERE, "cannot subscribe")

    def _run(self) -> None:
        while not self._closed.is_set():
            pubsub = self._redis.pubsub()  # type: ignore[no-untyped-call]
            with suppress(BrokerUnavailable), redis_errors(WHERE), pubsub:
                pubsub.subscribe(self._channel)
                self._hear(pubsub)
            self._listening.clear()
            self._closed.wait(PAUSE_S)

    def _hear(self, pubsub: PubSub) -> None:
        while not self._closed.is_set():
            message = pubsub.get_message(timeout=LOOK_S)
            if message is None:
                continue
            if message["type"] == "subscribe":  # redis-py subscribes again after a lost connection
                self.wake_all()
                self._listening.set()
            elif message["type"] == "message":
                self._wake(message["data"])

    def _wake(self, keys: bytes) -> None:
        with self._lock:
            woken = [
                waiter
                for at in range(0, len(keys), KEY_BYTES)
                for waiter in self._waiters.get(keys[at : at + KEY_BYTES], ())
            ]
        for waiter in woken:
            waiter.wake(done=True)

    def wake_all(self) -> None:
        """Wake everybody who waits, to look again."""
        with self._lock:
            result = [waiter for waiters in self._waiters.values() for waiter in waiters]
        for waiter in result:
            waiter.wake(done=False)
