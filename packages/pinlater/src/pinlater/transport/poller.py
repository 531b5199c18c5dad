"""
The transport's poller. It reads kombu's messages and delivers jobs in the event loop.

In Celery's event loop, due times are timers. When a callback creates a timer, the length of the
loop's next wait is already fixed. To end that wait early, the poller writes a byte to its own
socket pair.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from kombu.transport import redis as kombu_redis

from pinlater.clock import SystemClock
from pinlater.consumer import JobConsumer
from pinlater.shard import MAX_BATCH, ShardPoller
from pinlater.transport.channel import Channel

_clock = SystemClock()


class WakeSocket(NamedTuple):
    """A job poller and the connection that it waits on."""

    channel: Channel
    poller: ShardPoller
    connection: Any


class Poller(kombu_redis.MultiChannelPoller):
    """Polls all channels of one transport."""

    def __init__(self) -> None:
        super().__init__()
        self.hub: Any = None
        self._wake_sockets: dict[int, WakeSocket] = {}
        self._timer: Any = None
        self._timer_at_s = float("inf")
        self._wake_pair: tuple[socket.socket, socket.socket] | None = None

    def attach(self, hub: Any) -> None:
        self.hub = hub
        self._wake_pair = socket.socketpair()
        for sock in self._wake_pair:
            sock.setblocking(False)
        hub.add_reader(self._wake_pair[0].fileno(), self._on_wake)

    def _on_wake(self) -> None:
        if self._wake_pair:
            with suppress(BlockingIOError):
                self._wake_pair[0].recv(64)

    def run_iteration(self) -> None:
        """
        Run one iteration for all channels.

        A prefork pool passes jobs to its processes in its own callback, which may have run already.
        Then new jobs would wait for the next event, up to 1 s. So after taking jobs, this method
        ends the loop's next wait.
        """
        delivered = 0
        for channel in list(self._channels):
            if channel.active_queues:
                delivered += channel.work(at_most=MAX_BATCH)
        self._watch_sockets()
        self._set_timer()
        if delivered:
            self.wake_loop()

    def _watch_sockets(self) -> None:
        current: dict[int, WakeSocket] = {}
        for channel in self._channels:
            for poller in channel.pollers:
                fd = poller.fileno
                if poller.waiting_since_s is not None and fd is not None:
                    current[fd] = WakeSocket(channel, poller, poller.connection)
        # A new connection may reuse a closed one's file descriptor, which epoll no longer watches.
        for fd, wake_socket in self._wake_sockets.items():
            if current.get(fd) != wake_socket:
                self._unwatch(fd)
        for fd, wake_socket in current.items():
            is_new = self._wake_sockets.get(fd) != wake_socket
            if self.hub is not None:
                if is_new or fd not in self.hub.readers:
                    self.hub.add_reader(fd, self.on_wake_socket, fd)
            elif is_new:
                self.poller.register(fd, self.eventflags)
        self._wake_sockets = current

    def _unwatch(self, fd: int) -> None:
        if self.hub is not None:
            self.hub.remove(fd)
        else:
            with suppress(KeyError, ValueError, OSError):
                self.poller.unregister(fd)

    def forget(self, consumer: JobConsumer) -> None:
        """Stop watching a consumer when its channel closes."""
        for fd, wake_socket in list(self._wake_sockets.items()):
            if wake_socket.poller in consumer.pollers:
                del self._wake_sockets[fd]
                self._unwatch(fd)

    def on_wake_socket(self, fd: int) -> None:
        wake_socket = self._wake_sockets.get(fd)
        if wake_socket is not None and wake_socket.poller.waiting_since_s is not None:
            channel = wake_socket.channel
            channel.consumer.on_readable(
                wake_socket.poller, room=channel.qos.room(at_most=MAX_BATCH)
            )

    def _set_timer(self) -> None:
        now_s = _clock.monotonic_s()
        at_s = min((c.next_work_s for c in self._channels), default=float("inf"))
        if self._timer is not None and not now_s < self._timer_at_s <= at_s:
            self._timer.cancel()
            self._timer = None
        if self._timer is None and at_s < float("inf"):
            self._timer_at_s = at_s
            self._timer = self.hub.call_later(max(0.0, at_s - now_s), self._clear_timer)
            self.wake_loop()

    def _clear_timer(self) -> None:
        # The loop runs an iteration after each timer.
        self._timer = None

    def wake_loop(self) -> None:
        if self._wake_pair:
            with suppress(BlockingIOError):
                self._wake_pair[1].send(b"\0")

    # Used without an event loop, by kombu's drain_events

    def get(self, callback: Callable[..., Any], timeout: float | None = None) -> None:
        for channel in list(self._channels):
            if channel.active_queues and channel.work(at_most=1):
                return
        self._watch_sockets()
        at_s = min((c.next_work_s for c in self._channels), default=float("inf"))
        wait_s = max(0.0, at_s - _clock.monotonic_s())
        super().get(callback, wait_s if timeout is None else min(timeout, wait_s))

    def handle_event(self, fileno: int, event: int) -> Any:
        if fileno in self._wake_sockets:
            self.on_wake_socket(fileno)
            return None
        return super().handle_event(fileno, event)

    def detach(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._wake_pair:
            if self.hub is not None:
                self.hub.remove(self._wake_pair[0].fileno())
            for sock in self._wake_pair:
                sock.close()
            self._wake_pair = None
