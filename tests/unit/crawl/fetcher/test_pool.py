"""Idle connections: kept alive, for a while, and few per peer."""

from __future__ import annotations

import resource
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from aragog.crawl.fetcher.http1.connection import HttpConnection, Peer
from aragog.crawl.fetcher.http1.pool import MAX_IDLE_S, ConnectionPool, max_idle
from aragog.runtime.clock import ManualClock, SystemClock

HERE = Peer("http", "a.test", 80)
THERE = Peer("http", "b.test", 80)


@pytest.fixture
def ends():
    """The far ends of the connections made by `connection`."""
    sockets: list[socket.socket] = []
    yield sockets
    for sock in sockets:
        sock.close()


def connection(ends: list[socket.socket], peer: Peer = HERE) -> HttpConnection:
    near, far = socket.socketpair()
    ends.append(far)
    return HttpConnection(near, peer, "127.0.0.1", 1.0)


def test_most_recently_returned_connection_is_taken_first(ends):
    pool = ConnectionPool(ManualClock())
    first, second = connection(ends), connection(ends)
    pool.put_back(first)
    pool.put_back(second)

    assert pool.take(THERE) is None
    assert [pool.take(HERE), pool.take(HERE), pool.take(HERE)] == [second, first, None]
    for item in (first, second):
        item.close()


def test_connection_closed_or_written_to_by_the_peer_is_not_reused(ends):
    pool = ConnectionPool(ManualClock())
    pool.put_back(connection(ends))
    pool.put_back(connection(ends))
    ends[0].close()
    ends[1].sendall(b"HTTP/1.1 408 Request Timeout\r\n\r\n")

    assert pool.take(HERE) is None


def test_connection_idle_for_too_long_is_not_reused(ends):
    clock = ManualClock()
    pool = ConnectionPool(clock)
    pool.put_back(connection(ends))

    clock.sleep_s(MAX_IDLE_S)

    assert pool.take(HERE) is None
    assert ends[0].recv(1) == b""


def test_full_pool_closes_a_connection_of_the_longest_idle_peer(ends):
    pool = ConnectionPool(ManualClock(), max_idle=2)
    pool.put_back(connection(ends, THERE))
    pool.put_back(connection(ends))
    pool.put_back(connection(ends))

    assert pool.take(THERE) is None
    pool.close()
    assert [end.recv(1) for end in ends] == [b"", b"", b""]


def test_expired_connections_are_closed_when_another_is_returned(ends):
    clock = ManualClock()
    pool = ConnectionPool(clock)
    pool.put_back(connection(ends, THERE))
    clock.sleep_s(MAX_IDLE_S)

    pool.put_back(connection(ends))

    assert ends[0].recv(1) == b""
    kept = pool.take(HERE)
    assert kept is not None
    kept.close()


def test_process_with_few_file_descriptors_keeps_few_connections():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    try:
        assert max_idle() == 128
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_connections_per_peer_are_limited(ends):
    pool = ConnectionPool(ManualClock(), max_idle_per_peer=1)
    pool.put_back(connection(ends))
    pool.put_back(connection(ends))

    assert ends[1].recv(1) == b""
    pool.close()


def test_closed_pool_keeps_nothing(ends):
    pool = ConnectionPool(ManualClock())
    pool.close()

    pool.put_back(connection(ends))

    assert ends[0].recv(1) == b""


def test_requests_share_a_connection_one_after_the_other(ends):
    pool, used = ConnectionPool(SystemClock()), connection(ends)
    pool.add_in_use(used)

    def request() -> HttpConnection | None:
        taken = pool.take(HERE, 60.0)
        if taken is not None:
            pool.put_back(taken)
        return taken

    with ThreadPoolExecutor(3) as threads:
        waiting = [threads.submit(request) for _ in range(3)]
        pool.put_back(used)

        assert [call.result() for call in waiting] == [used] * 3


def test_requests_stop_waiting_for_a_closed_connection(ends):
    pool, used = ConnectionPool(SystemClock()), connection(ends)
    pool.add_in_use(used)
    with ThreadPoolExecutor(3) as threads:
        waiting = [threads.submit(pool.take, HERE, 60.0) for _ in range(3)]
        used.close()

        assert [call.result() for call in waiting] == [None] * 3
    assert pool.take(HERE, 60.0) is None


def test_wait_for_a_busy_connection_ends(ends):
    pool, used = ConnectionPool(SystemClock()), connection(ends)
    pool.add_in_use(used)

    assert pool.take(HERE, 0.01) is None
    assert pool.take(THERE, 60.0) is None
