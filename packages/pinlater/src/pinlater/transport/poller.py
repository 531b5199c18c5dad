"""
The transport's poller: it reads kombu's messages and delivers jobs in the event loop.

In Celery's event loop, due times are timers. A timer created in a callback does not shorten the
loop's next wait, because its length is already fixed. To end that wait, the poller writes a byte to
its own socket pair.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from kombu.transport import redis as stock

from pinlater.clock import SystemClock
from pinlater.consumer import JobConsumer
from pinlater.shard import MAX_BATCH, ShardPoller
from pinlater.transport.channel import Channel

_clock = SystemClock()


class WakeSocket(NamedTuple):
    """A job poller and the connection on which it waits."""

    channel: Channel
    poller: ShardPoller
    connection: Any


class Poller(stock.MultiChannelPoller):
    """Polls all channels of one transport."""

    def __init__(self) -> None:
        super().__init__()
        self.hub: Any = None
        self._waiters: dict[int, WakeSocket] = {}
        self._timer: Any = None
        self._timer_at_s = float("inf")
        self._nudge: tuple[socket.socket, socket.socket] | None = None

    def attach(self, hub: Any) -> None:
        """Run in Celery's event loop from now on."""
        self.hub = hub
        self._nudge = socket.socketpair()
        for end in self._nudge:
            end.setblocking(False)
        hub.add_reader(self._nudge[0].fileno(), self._on_nudge)

    def _on_nudge(self) -> None:
        if self._nudge:
            with suppress(BlockingIOError):
                self._nudge[0].recv(64)

    def turn(self) -> None:
        """
        Run one iteration for all channels.

        A prefork pool passes jobs to its processes in its own callback, and callbacks run in any
        order. If the pool's callback ran first, the job would wait for the next event, up to 1 s,
        so after taking jobs this method ends the loop's next wait.
        """
        taken = 0
        for channel in list(self._channels):
            if channel.active_queues:
                taken += channel.work(at_most=MAX_BATCH)
        self._watch()
        self._set_timer()
        if taken:
            self.nudge()

    def _watch(self) -> None:
        """Watch the sockets of the pollers."""
        alive: dict[int, WakeSocket] = {}
        for channel in self._channels:
            for poller in channel.pollers:
                fd = poller.fileno
                if poller.sent_s is not None and fd is not None:
                    alive[fd] = WakeSocket(channel, poller, poller.connection)
        # A new connection may reuse the file descriptor of a closed one, which epoll no longer
        # watches.
        for fd, waiter in self._waiters.items():
            if alive.get(fd) != waiter:
                self._unwatch(fd)
        for fd, waiter in alive.items():
            is_new = self._waiters.get(fd) != waiter
            if self.hub is not None:
                if is_new or fd not in self.hub.readers:
                    self.hub.add_reader(fd, self.on_waiter, fd)
            elif is_new:
                self.poller.register(fd, self.eventflags)
        self._waiters = alive

    def _unwatch(self, fd: int) -> None:
        if self.hub is not None:
            self.hub.remove(fd)
        else:
            with suppress(KeyError, ValueError, OSError):
                self.poller.unregister(fd)

    def forget(self, consumer: JobConsumer) -> None:
        """Stop watching a consumer whose channel closes."""
        for fd, waiter in list(self._waiters.items()):
            if waiter.poller in consumer.pollers:
                del self._waiters[fd]
                self._unwatch(fd)

    def on_waiter(self, fd: int) -> None:
        """Handle the readable socket of a job poller."""
        waiter = self._waiters.get(fd)
        if waiter is not None and waiter.poller.sent_s is not None:
            channel = waiter.channel
            channel.consumer.on_readable(waiter.poller, room=channel.qos.room(at_most=MAX_BATCH))

    def _set_timer(self) -> None:
        """Set a timer for the next iteration."""
        now_s = _clock.monotonic_s()
        at_s = min((c.next_work_s for c in self._channels), default=float("inf"))
        if self._timer is not None and not now_s < self._timer_at_s <= at_s:
            self._timer.cancel()
            self._timer = None
        if self._timer is None and at_s < float("inf"):
            self._timer_at_s = at_s
            self._timer = self.hub.call_later(max(0.0, at_s - now_s), self._clear_timer)
            self.nudge()

    def _clear_timer(self) -> None:
        """
        Clear the timer.

        The loop runs an iteration after each timer, so nothing else is needed.
        """
        self._timer = None

    def nudge(self) -> None:
        if self._nudge:
            with suppress(BlockingIOError):
                self._nudge[1].send(b"\0")

    # Used without an event loop, by kombu's drain_events

    def get(self, callback: Callable[..., Any], timeout: float | None = None) -> None:
        for channel in list(self._channels):
            if channel.active_queues and channel.work(at_most=1):
                return
        self._watch()
        at_s = min((c.next_work_s for c in self._channels), default=float("inf"))
        wait_s = max(0.0, at_s - _clock.monotonic_s())
        super().get(callback, wait_s if timeout is None else min(timeout, wait_s))

    def handle_event(self, fileno: int, event: int) -> Any:
        if fileno in self._waiters:
            self.on_waiter(fileno)
            return None
        return super().handle_event(fileno, event)

    def detach(self) -> None:
        """Detach from the event loop when the transport closes."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._nudge:
            if self.hub is not None:
                self.hub.remove(self._nudge[0].fileno())
            for end in self._nudge:
                end.close()
            self._nudge = None
