"""
Wait until a queue may have a due job, for the long poll in `dequeue`.

One thread waits for jobs on behalf of all callers, with one poller per shard. Each new job sends a
wake token, for which the thread wakes one caller. It also wakes one caller per queue when a job
becomes due, and once per second in case a token was lost.
"""

from __future__ import annotations

import logging
import select
import socket
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress

from aragog.errors import BrokerUnavailable
from pinlater.cluster import Cluster
from pinlater.shard import ServerShard, ShardPoller

log = logging.getLogger(__name__)

IDLE_TIMEOUT_S = 60.0
"""After this time without callers, the thread ends."""
CHECK_INTERVAL_S = 1.0
"""How often queues are checked without a token, unless a poller needs more frequent checks."""


class Waiter:
    """A caller that is waiting for a queue's jobs."""

    def __init__(self) -> None:
        self.woken: Future[bool] = Future()
        """Completed when the caller should look for jobs."""
        self.has_finished = False
        """True once the caller has noticed that it was woken, or has stopped waiting."""


class JobWaits:
    """
    The waiting callers. Thread-safe.

    Args:
        cluster: the shards.
        max_callers: how many callers may wait at the same time.
    """

    def __init__(self, cluster: Cluster, max_callers: int) -> None:
        self._cluster = cluster
        self._max_callers = max_callers
        self._check_interval_s = CHECK_INTERVAL_S
        self._lock = threading.Lock()
        self._waiters: dict[str, deque[Waiter]] = defaultdict(deque)
        """The callers that are waiting for each queue, by time of arrival."""
        self._next_check_s: dict[str, float] = {}
        self._count = 0
        self.is_closed = False
        self._thread: threading.Thread | None = None
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._wake_reader.setblocking(False)
        self._wake_writer.setblocking(False)

    @contextmanager
    def place(self) -> Iterator[bool]:
        """
        Take a place among the callers that may wait. Yields False if there are too many already.

        A caller keeps its place when it finds no jobs and waits again. Otherwise, a later caller
        could take the place.
        """
        with self._lock:
            is_free = self._count < self._max_callers
            if is_free:
                self._count += 1
        try:
            yield is_free
        finally:
            if is_free:
                with self._lock:
                    self._count -= 1

    @contextmanager
    def waiting(self, queue: str, due_in_s: float | None) -> Iterator[Waiter]:
        """
        Register a caller that waits for a queue's jobs, until the block ends. It needs a `place`.

        Args:
            queue: the queue's name in pinlater.
            due_in_s: seconds until the next known job is due, or None if no job is known.
        """
        waiter = self._add_waiter(queue, due_in_s)
        try:
            yield waiter
        finally:
            self._remove_waiter(queue, waiter)

    def finish_wait(self, queue: str, waiter: Waiter) -> bool:
        """
        End a caller's wait. Returns True if the caller was woken and should look for jobs, or False
        if it was not.
        """
        with self._lock:
            if waiter.woken.done():
                waiter.has_finished = True
                return True
            self._waiters[queue].remove(waiter)
            waiter.has_finished = True
            return False

    def close(self) -> None:
        self.is_closed = True
        self._check_now()

    def _add_waiter(self, queue: str, due_in_s: float | None) -> Waiter:
        now_s = time.monotonic()
        next_check_s = now_s + min(
            CHECK_INTERVAL_S, CHECK_INTERVAL_S if due_in_s is None else due_in_s
        )
        with self._lock:
            waiter = Waiter()
            self._waiters[queue].append(waiter)
            if len(self._waiters[queue]) > 1 and self._next_check_s[queue] <= next_check_s:
                return waiter
            self._next_check_s[queue] = next_check_s
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="job-waits", daemon=True)
                self._thread.start()
        self._check_now()
        return waiter

    def _remove_waiter(self, queue: str, waiter: Waiter) -> None:
        with self._lock:
            if waiter.has_finished:
                return
            if not waiter.woken.done():
                self._waiters[queue].remove(waiter)
                return
        self._wake(queue)  # the caller left before it looked for jobs

    def _wake(self, queue: str) -> bool:
        """Wake the caller that has waited longest. Returns False if nobody is waiting."""
        with self._lock:
            waiting = self._waiters.get(queue)
            if not waiting:
                return False
            woken = waiting.popleft().woken
        woken.set_result(True)
        return True

    def _check_now(self) -> None:
        with suppress(BlockingIOError):  # the thread has unread bytes, so it will wake
            self._wake_writer.send(b"!")

    # The methods below run in the thread.

    def _run(self) -> None:
        pollers = [s.poller() for s in self._cluster.shards if isinstance(s, ServerShard)]
        listeners = [_Listener(poller) for poller in pollers]
        last_used_s = time.monotonic()
        try:
            while not self.is_closed:
                queues, next_check_s = self._wake_due()
                now_s = time.monotonic()
                if queues:
                    last_used_s = now_s
                elif self._is_idle(last_used_s + IDLE_TIMEOUT_S - now_s):
                    return
                for listener in listeners:
                    listener.listen(queues, now_s, self._cluster)
                self._check_interval_s = min(
                    (p.check_every_s for p in pollers), default=CHECK_INTERVAL_S
                )
                self._wait_for_tokens(listeners, max(0.0, next_check_s - now_s))
        finally:
            with self._lock:
                if self._thread is threading.current_thread():
                    self._thread = None  # after an error, the next caller starts a new thread
            for listener in listeners:
                listener.poller.drop()

    def _wake_due(self) -> tuple[frozenset[str], float]:
        """
        Wake one caller for each queue whose check is due. Returns the queues with waiting callers,
        and the time of the next check.
        """
        now_s = time.monotonic()
        with self._lock:
            due = [q for q, at_s in self._next_check_s.items() if at_s <= now_s]
            for queue in due:
                self._next_check_s[queue] = now_s + self._check_interval_s
        for queue in due:
            self._wake(queue)
        with self._lock:
            for queue in [q for q, waiters in self._waiters.items() if not waiters]:
                del self._waiters[queue], self._next_check_s[queue]
            next_check_s = min(self._next_check_s.values(), default=now_s + self._check_interval_s)
            return frozenset(self._waiters), next_check_s

    def _is_idle(self, remaining_s: float) -> bool:
        with self._lock:
            if remaining_s > 0 or self._waiters:
                return False
            self._thread = None
            return True

    def _wait_for_tokens(self, listeners: list[_Listener], max_s: float) -> None:
        poll = select.poll()
        poll.register(self._wake_reader, select.POLLIN)
        listeners_by_fd = {
            fd: listener for listener in listeners if (fd := listener.fileno) is not None
        }
        for fd in listeners_by_fd:
            poll.register(fd, select.POLLIN)
        for fd, _ in poll.poll(max_s * 1000 + 1):
            if fd == self._wake_reader.fileno():
                self._wake_reader.recv(4096)
                continue
            listener = listeners_by_fd[fd]
            for queue in listener.read_woken_queues():
                if not self._wake(queue):
                    _return_token(listener.poller.shard, queue)


class _Listener:
    def __init__(self, poller: ShardPoller) -> None:
        self.poller = poller
        self._queues: frozenset[str] = frozenset()
        self._retry_at_s = 0.0

    @property
    def fileno(self) -> int | None:
        """The file descriptor of the poller's socket, or None if it is not connected."""
        return None if self.poller.waiting_since_s is None else self.poller.fileno

    def listen(self, queues: frozenset[str], now_s: float, cluster: Cluster) -> None:
        """Make the poller wait for jobs of (at least) these queues."""
        poller, shard = self.poller, self.poller.shard
        has_new_queues = poller.waiting_since_s is not None and not queues <= self._queues
        if has_new_queues or poller.is_overdue(now_s):
            poller.drop()
        if not queues or not poller.must_send(now_s) or now_s < self._retry_at_s:
            return
        if shard is not cluster.first_shard and not cluster.is_usable(shard):
            return
        try:
            self.poller.send(sorted(queues), now_s)
            self._queues = queues
        except (BrokerUnavailable, OSError) as error:
            self._on_error(error)

    def read_woken_queues(self) -> tuple[str, ...]:
        """Read wake tokens. Returns their queues, or none after a timeout or an error."""
        try:
            return self.poller.read()
        except OSError as error:
            self._on_error(error)
            return ()

    def _on_error(self, error: Exception) -> None:
        log.warning("shard %s is unavailable: %s", self.poller.shard.name, error)
        self.poller.drop()
        self._retry_at_s = time.monotonic() + CHECK_INTERVAL_S


def _return_token(shard: ServerShard, queue: str) -> None:
    """Put back a token that no caller here needs, because another process may need it."""
    try:
        shard.wake(queue)
    except BrokerUnavailable:
        log.debug("a wake token for %s was lost; callers check the queue within a second", queue)
