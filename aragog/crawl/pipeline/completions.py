"""
Notifies waiting callers when their URLs are done (stored or given up).

`InFlightSet` publishes the keys of finished URLs on one Redis channel. If callers are waiting, one
thread of their process listens to the channel. A broken connection loses messages, so after each
reconnection the thread notifies all waiting callers, and they read the store again.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress

import redis
from redis.client import PubSub

from aragog.crawl.pipeline.in_flight import done_channel
from aragog.errors import BrokerUnavailable
from pinlater.redis.errors import redis_errors
from urlspelling import KEY_BYTES, url_key

ERROR_SOURCE = "redis, URLs that are done"
CONNECT_TIMEOUT_S = 5.0
POLL_INTERVAL_S = 0.2
"""How often the thread checks whether it was closed. Messages are delivered immediately."""
RECONNECT_DELAY_S = 0.2


class Subscription:
    """One caller's subscription to one URL."""

    def __init__(self) -> None:
        self.completion: Future[bool] = Future()
        """Results in True if the URL is done, or in False if a message may have been lost."""

    def renew(self) -> None:
        self.completion = Future()

    def notify(self, *, done: bool) -> None:
        """Complete `completion`. Does nothing if it is already complete or cancelled."""
        with suppress(InvalidStateError):
            self.completion.set_result(done)


class Completions:
    """
    The callers' subscriptions and the listening thread, which starts with the first subscription.

    Args:
        client: the shared Redis; the thread uses one connection.
        prefix: the start of every key.
    """

    def __init__(self, client: redis.Redis, *, prefix: str) -> None:
        self._redis = client
        self._channel = done_channel(prefix)
        self._lock = threading.Lock()
        self._subscriptions: dict[bytes, set[Subscription]] = defaultdict(set)
        self._is_listening = threading.Event()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def subscribe(self, url: str) -> Iterator[Subscription]:
        """
        Subscribe to a normalized URL. Does not miss any later completion.

        Raises:
            BrokerUnavailable: Redis did not respond.
        """
        self._listen()
        key, subscription = url_key(url), Subscription()
        with self._lock:
            self._subscriptions[key].add(subscription)
        try:
            yield subscription
        finally:
            with self._lock:
                self._subscriptions[key].discard(subscription)
                if not self._subscriptions[key]:
                    del self._subscriptions[key]

    @property
    def count(self) -> int:
        with self._lock:
            return sum(map(len, self._subscriptions.values()))

    def close(self) -> None:
        self._closed.set()
        self.notify_all()
        if self._thread is not None:
            self._thread.join(CONNECT_TIMEOUT_S)

    def _listen(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="completions", daemon=True)
                self._thread.start()
        if not self._is_listening.wait(CONNECT_TIMEOUT_S):
            raise BrokerUnavailable(ERROR_SOURCE, "cannot subscribe")

    def _run(self) -> None:
        while not self._closed.is_set():
            pubsub = self._redis.pubsub()  # type: ignore[no-untyped-call]
            with suppress(BrokerUnavailable), redis_errors(ERROR_SOURCE), pubsub:
                pubsub.subscribe(self._channel)
                self._receive(pubsub)
            self._is_listening.clear()
            self._closed.wait(RECONNECT_DELAY_S)

    def _receive(self, pubsub: PubSub) -> None:
        while not self._closed.is_set():
            message = pubsub.get_message(timeout=POLL_INTERVAL_S)
            if message is None:
                continue
            if message["type"] == "subscribe":  # redis-py subscribes again after a lost connection
                self.notify_all()
                self._is_listening.set()
            elif message["type"] == "message":
                self._notify(message["data"])

    def _notify(self, keys: bytes) -> None:
        with self._lock:
            subscriptions = [
                subscription
                for start in range(0, len(keys), KEY_BYTES)
                for subscription in self._subscriptions.get(keys[start : start + KEY_BYTES], ())
            ]
        for subscription in subscriptions:
            subscription.notify(done=True)

    def notify_all(self) -> None:
        with self._lock:
            subscriptions = [
                s for url_subscriptions in self._subscriptions.values() for s in url_subscriptions
            ]
        for subscription in subscriptions:
            subscription.notify(done=False)
