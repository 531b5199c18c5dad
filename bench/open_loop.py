"""
A load generator: calls at the times of a Poisson process, or one after another.

Calls are encoded in advance, and one thread sends and receives them without an event loop. Latency
counts from the intended time of a call, even if it could not be sent then. The delay that the
generator itself may have added is measured as well, because other programs can delay it as much as
the server: see `Result.own_s`.
"""

from __future__ import annotations

import gc
import os
import random
import select
import socket
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

IsComplete = Callable[[bytes], bool]
"""Returns True if the bytes are a complete reply. Raises ValueError if it is an error."""
_MAX_WAIT_S = 0.05


@dataclass(slots=True)
class Result:
    """The results of one run."""

    latencies_s: list[float] = field(default_factory=list)
    """The time from the intended start of each call to its complete reply."""
    own_s: list[float] = field(default_factory=list)
    """
    The part of each latency that the generator caused: how late it sent although a connection was
    idle, and how long other replies delayed this one. It wakes as late for a reply as for a send,
    so twice this much is a fair estimate of what an idle machine would not add.
    """
    took_s: float = 0.0

    def p(self, share: float, times_s: list[float] | None = None) -> float:
        """Return a percentile of the latencies, or of `times_s`, in ms."""
        times = sorted(self.latencies_s if times_s is None else times_s)
        return times[min(len(times) - 1, int(len(times) * share))] * 1000


def thrift_reply(data: bytes) -> bool:
    """Return True for a complete frame with a REPLY."""
    if len(data) < 8 or len(data) < 4 + int.from_bytes(data[:4]):
        return False
    if data[7] != 2:
        raise ValueError(f"no reply: {data[:200]!r}")
    return True


def http_reply(data: bytes) -> bool:
    """Return True for a complete response with status 200 and Content-Length."""
    head, end, body = data.partition(b"\r\n\r\n")
    if not end:
        return False
    if not head.startswith(b"HTTP/1.1 200"):
        raise ValueError(f"no success: {data[:200]!r}")
    return len(body) >= int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])


def divide_cores() -> int:
    """Pin this process to the first core it may use. Returns the last one, for the server."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    return max(cores)


def busy_s() -> tuple[float, float]:
    """Return the CPU time used by all programs of the machine, and the total time of its cores."""
    with open("/proc/stat") as file:  # noqa: PTH123 - once a run
        ticks = [int(word) for word in file.readline().split()[1:9]]
    hertz = os.sysconf("SC_CLK_TCK")
    return (sum(ticks) - ticks[3] - ticks[4]) / hertz, sum(ticks) / hertz


def run(
    port: int,
    calls: Sequence[bytes],
    is_complete: IsComplete,
    *,
    rate: float,
    seconds: float,
    connections: int,
) -> Result:
    """
    Call a server on loopback for some seconds.

    Args:
        port: the server's port.
        calls: encoded calls, sent in turn.
        is_complete: recognizes complete replies.
        rate: calls per second; 0 for a closed loop on each connection.
        seconds: how long calls are sent; replies are awaited after that.
        connections: each has at most one call in flight; further calls wait for one.
    """
    socks = [socket.create_connection(("127.0.0.1", port), 10) for _ in range(connections)]
    for sock in socks:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    gc.collect()
    gc.disable()  # a collection would look like a slow server
    try:
        return _Run(socks, calls, is_complete, rate).until(time.perf_counter() + seconds)
    finally:
        gc.enable()
        for sock in socks:
            sock.close()


class _Run:
    """The state of one run."""

    def __init__(
        self,
        socks: Sequence[socket.socket],
        calls: Sequence[bytes],
        is_complete: IsComplete,
        rate: float,
    ) -> None:
        self._socks = {sock.fileno(): sock for sock in socks}
        self._calls, self._is_complete, self._rate = calls, is_complete, rate
        self._idle = deque(self._socks)
        self._overdue: deque[float] = deque()
        """Intended times of calls that wait for a connection."""
        self._in_flight: dict[int, tuple[float, float]] = {}
        """Per connection, the intended time of its call, and how late the generator sent it."""
        self._parts = dict.fromkeys(self._socks, b"")
        self._sent = 0
        self._result = Result()

    def until(self, end_s: float) -> Result:
        """Send calls until `end_s`, and wait for the last replies."""
        with select.epoll() as poll:
            for number in self._socks:
                poll.register(number, select.EPOLLIN)
            started_s = woke_s = next_s = time.perf_counter()
            while woke_s < end_s or self._in_flight or self._overdue:
                next_s = self._send_due(next_s, end_s)
                self._wait(poll, next_s, end_s)
                woke_s = time.perf_counter()
                for number, _ in poll.poll(0):
                    self._receive(number, woke_s)
        self._result.took_s = time.perf_counter() - started_s
        return self._result

    def _send_due(self, next_s: float, end_s: float) -> float:
        """Send the calls that are due, and return the time of the next one."""
        now_s = time.perf_counter()
        if not self._rate and now_s < end_s:
            while self._idle:
                self._send(self._idle.popleft(), now_s, 0.0)
        while self._rate and next_s <= min(now_s, end_s):
            if self._idle:
                self._send(self._idle.popleft(), next_s, now_s - next_s)
            else:
                self._overdue.append(next_s)
            next_s += random.expovariate(self._rate)
        return next_s

    def _wait(self, poll: select.epoll, next_s: float, end_s: float) -> None:
        """
        Sleep until a reply arrives or a call is due, because epoll alone is accurate
        only to 1 ms.
        """
        now_s = time.perf_counter()
        due_s = next_s - now_s if self._rate and now_s < end_s else _MAX_WAIT_S
        select.select([poll], [], [], max(0.0, min(due_s, _MAX_WAIT_S)))

    def _send(self, number: int, intended_s: float, late_s: float) -> None:
        self._in_flight[number] = intended_s, late_s
        self._socks[number].sendall(self._calls[self._sent % len(self._calls)])
        self._sent += 1

    def _receive(self, number: int, woke_s: float) -> None:
        part = self._socks[number].recv(1 << 20)
        if not part:
            raise ConnectionError("the server closed the connection")
        data = self._parts[number] + part
        if not self._is_complete(data):
            self._parts[number] = data
            return
        self._parts[number] = b""
        now_s = time.perf_counter()
        intended_s, late_s = self._in_flight.pop(number)
        self._result.latencies_s.append(now_s - intended_s)
        self._result.own_s.append(late_s + now_s - woke_s)
        if self._overdue:
            self._send(number, self._overdue.popleft(), 0.0)
        else:
            self._idle.append(number)
