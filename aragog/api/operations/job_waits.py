"""
Wait until a queue may have a due job: the long poll behind `dequeue`.

A single thread listens for all waiting callers, with one poller per shard. It wakes one caller for
each wake token. It also wakes one caller of each queue when a job becomes due, and every second,
because a token may be lost.
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

IDLE_S = 60.0
"""The thread ends after this time without a caller."""
LOOK_EVERY_S = 1.0
"""How often queues are checked without a token, unless a poller requires a shorter interval."""


class Turn:
    """
    One caller that waits for one queue.

    Attributes:
        woken: complete when the caller should look for jobs.
    """

    def __init__(self) -> None:
        self.woken: Future[bool] = Future()
        self.used = False
        """True once the caller has noticed that it was woken."""


class JobWaits:
    """
    The waiting callers; any number of threads may share it.

    Args:
        cluster: the shards.
        most: how many callers may wait at once.
    """

    def __init__(self, cluster: Cluster, most: int) -> None:
        self._cluster = cluster
        self._most = most
        self._look_every_s = LOOK_EVERY_S
        self._lock = threading.Lock()
        self._turns: dict[str, deque[Turn]] = defaultdict(deque)
        """The callers waiting for each queue, in order of arrival, without those already woken."""
        self._look_s: dict[str, float] = {}
        self._count = 0
        self._closed = False
        self._thread: threading.Thread | None = None
        self._nudges, self._nudge = socket.socketpair()
        self._nudges.setblocking(False)
        self._nudge.setblocking(False)

    @contextmanager
    def waiting(self, queue: str, due_in_s: float | None) -> Iterator[Turn | None]:
        """
        Wait for jobs of a queue. Yields None if too many callers are waiting already.

        Args:
            queue: the queue's name in pinlater.
            due_in_s: seconds until the next known job is due, or None without such a job.
        """
        turn = self._begin(queue, due_in_s)
        try:
            yield turn
        finally:
            if turn is not None:
                self._end(queue, turn)

    def is_woken(self, queue: str, turn: Turn) -> bool:
        """True if the caller should look for jobs; False if its time is up, which removes it."""
        with self._lock:
            if turn.woken.done():
                turn.used = True
                return True
            self._turns[queue].remove(turn)
            turn.used = True
            return False

    def close(self) -> None:
        """Stop the thread."""
        self._closed = True
        self._check_now()

    def _begin(self, queue: str, due_in_s: float | None) -> Turn | None:
        now_s = time.monotonic()
        look_s = now_s + min(LOOK_EVERY_S, LOOK_EVERY_S if due_in_s is None else due_in_s)
        with self._lock:
            if self._count >= self._most or self._closed:
                return None
            self._count += 1
            turn = Turn()
            self._turns[queue].append(turn)
            if len(self._turns[queue]) > 1 and self._look_s[queue] <= look_s:
                return turn
            self._look_s[queue] = look_s
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="job-waits", daemon=True)
                self._thread.start()
        self._check_now()
        return turn

    def _end(self, queue: str, turn: Turn) -> None:
        with self._lock:
            self._count -= 1
            if turn.used:
                return
            if not turn.woken.done():
                self._turns[queue].remove(turn)
                return
        self._wake(queue)  # the caller left before it looked for jobs

    def _wake(self, queue: str) -> bool:
        """Wake the caller that has waited longest; False if no caller waits."""
        with self._lock:
            waiting = self._turns.get(queue)
            if not waiting:
                return False
            woken = waiting.popleft().woken
        woken.set_result(True)
        return True

    def _check_now(self) -> None:
        with suppress(BlockingIOError):  # the thread has not read earlier ones yet
            self._nudge.send(b"!")

    # The methods below run in the thread.

    def _run(self) -> None:
        pollers = [s.poller() for s in self._cluster.shards if isinstance(s, ServerShard)]
        listeners = [_Listener(poller) for poller in pollers]
        used_s = time.monotonic()
        try:
            while not self._closed:
                queues, look_s = self._wake_due()
                now_s = time.monotonic()
                if queues:
                    used_s = now_s
                elif self._ended(used_s + IDLE_S - now_s):
                    return
                for listener in listeners:
                    listener.listen(queues, now_s, self._cluster)
                self._look_every_s = min((p.look_every_s for p in pollers), default=LOOK_EVERY_S)
                self._wait_for_tokens(listeners, max(0.0, look_s - now_s))
        finally:
            for listener in listeners:
                listener.poller.drop()

    def _wake_due(self) -> tuple[frozenset[str], float]:
        """
        Wake a caller of each queue whose check is due; returns the waiting queues and the next
        check time.
        """
        now_s = time.monotonic()
        with self._lock:
            due = [q for q, at_s in self._look_s.items() if at_s <= now_s]
            for queue in due:
                self._look_s[queue] = now_s + self._look_every_s
        for queue in due:
            self._wake(queue)
        with self._lock:
            for queue in [q for q, turns in self._turns.items() if not turns]:
                del self._turns[queue], self._look_s[queue]
            look_s = min(self._look_s.values(), default=now_s + self._look_every_s)
            return frozenset(self._turns), look_s

    def _ended(self, left_s: float) -> bool:
        """True if the last caller left long enough ago for the thread to end."""
        with self._lock:
            if left_s > 0 or self._turns:
                return False
            self._thread = None
            return True

    def _wait_for_tokens(self, listeners: list[_Listener], most_s: float) -> None:
        """Wait for tokens, or for a new caller."""
        poll = select.poll()
        poll.register(self._nudges, select.POLLIN)
        by_fd = {fd: listener for listener in listeners if (fd := listener.fileno) is not None}
        for fd in by_fd:
            poll.register(fd, select.POLLIN)
        for fd, _ in poll.poll(most_s * 1000 + 1):
            if fd == self._nudges.fileno():
                self._nudges.recv(4096)
                continue
            listener = by_fd[fd]
            for queue in listener.tokens():
                if not self._wake(queue):
                    _pass_on(listener.poller.shard, queue)


class _Listener:
    """The poller of one shard."""

    def __init__(self, poller: ShardPoller) -> None:
        self.poller = poller
        self._queues: frozenset[str] = frozenset()
        self._not_before_s = 0.0

    @property
    def fileno(self) -> int | None:
        """The file descriptor of the poller's socket, or None if the poller is not waiting."""
        return None if self.poller.sent_s is None else self.poller.fileno

    def listen(self, queues: frozenset[str], now_s: float, cluster: Cluster) -> None:
        """Make the poller wait for jobs of at least these queues."""
        poller, shard = self.poller, self.poller.shard
        changed = poller.sent_s is not None and not queues <= self._queues
        if changed or poller.is_overdue(now_s):
            poller.drop()
        if not queues or not poller.needs_sending(now_s) or now_s < self._not_before_s:
            return
        if shard is not cluster.first and not cluster.usable(shard):
            return
        try:
            self.poller.send(sorted(queues), now_s)
            self._queues = queues
        except (BrokerUnavailable, OSError) as error:
            self._lost(error)

    def tokens(self) -> tuple[str, ...]:
        """The queues whose tokens were read; empty after a timeout or an error."""
        try:
            return self.poller.read()
        except OSError as error:
            self._lost(error)
            return ()

    def _lost(self, error: Exception) -> None:
        log.warning("shard %s is unavailable: %s", self.poller.shard.name, error)
        self.poller.drop()
        self._not_before_s = time.monotonic() + LOOK_EVERY_S


def _pass_on(shard: ServerShard, queue: str) -> None:
    """Return a token that no caller in this process needs; another process may need it."""
    try:
        shard.wake(queue)
    except BrokerUnavailable:
        log.debug("a wake token for %s was lost; callers look within a second", queue)
