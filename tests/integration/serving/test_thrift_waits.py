"""Calls that wait without a thread: `dequeue` with `wait_ms` on a real Redis, and `fetch`."""

import socket
import struct
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from aragog.api.operations.fetching import FetchResponse, FetchState
from aragog.api.operations.job_waits import JobWaits
from aragog.api.operations.jobs import ClaimedJob, Jobs
from aragog.api.operations.steps import Wait, run_steps
from aragog.runtime.clock import ManualClock
from pinlater.cluster import Cluster, connect_shards
from tests.support.stores import store_harness
from tests.support.thrift_server import running
from tests.support.waiting import wait_until
from zengraph.tables.memory import MemoryTables

LONG_MS = 60_000
PING = b"\x00\x00\x00\x11\x80\x01\x00\x01\x00\x00\x00\x04ping\x00\x00\x00\x07\x00"


@pytest.fixture
def shards(redis_url):
    return [redis_url, redis_url.replace("db=0", "db=1")]


@pytest.fixture
def store():
    return store_harness(MemoryTables(ManualClock())).store


@pytest.fixture
def server(store, shards):
    with running(store, cluster=Cluster(connect_shards(shards)), max_in_flight=2) as server:
        yield server


class Worker:
    """A PinLater client in a thread, which waits for one job."""

    def __init__(self, apache, port, wait_ms=LONG_MS, limit=1):
        self._apache, self._port = apache, port
        self._options = apache.types.DequeueOptions(wait_ms=wait_ms)
        self._limit = limit
        self.jobs = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self):
        with self._apache.client(self._port, "PinLater") as client:
            self.jobs = client.dequeue("mine", self._limit, self._options)

    def bodies(self):
        self._thread.join(60)
        return [job.body for job in self.jobs]


def workers(apache, server, count, **options):
    """Waiting workers."""
    clients = []
    for _ in range(count):
        before = server.server.waiting_calls
        clients.append(Worker(apache, server.port, **options))
        wait_until(lambda n=before + 1: server.server.waiting_calls == n, otherwise="it waits")
    return clients


def add(apache, server, *bodies, **options):
    with apache.client(server.port, "PinLater") as client:
        jobs = [apache.types.NewJob(body, **options) for body in bodies]
        client.enqueue("mine", jobs, apache.types.CallOptions())


@pytest.mark.redis
def test_waiting_workers_get_one_job_each_and_occupy_no_thread(server, apache):
    """`max_in_flight` is 2: waiting calls do not count."""
    waiting = workers(apache, server, 5)
    assert server.server.running_calls == 0

    add(apache, server, b"1", b"2", b"3", b"4", b"5")

    assert sorted(body for waiter in waiting for body in waiter.bodies()) == [
        b"1",
        b"2",
        b"3",
        b"4",
        b"5",
    ]


@pytest.mark.redis
def test_job_added_with_a_delay_ends_the_wait(server, apache):
    [waiting] = workers(apache, server, 1)

    add(apache, server, b"later", delay_ms=1500)

    assert waiting.bodies() == [b"later"]


@pytest.mark.redis
def test_existing_job_that_becomes_due_ends_the_wait(server, apache):
    add(apache, server, b"soon", delay_ms=300)

    with apache.client(server.port, "PinLater") as client:
        [job] = client.dequeue("mine", 1, apache.types.DequeueOptions(wait_ms=LONG_MS))

    assert job.body == b"soon"


@pytest.mark.redis
def test_wait_ends_empty_after_its_time(server, apache):
    with apache.client(server.port, "PinLater") as client:
        assert client.dequeue("mine", 1, apache.types.DequeueOptions(wait_ms=50)) == []
        with pytest.raises(apache.types.BadInput, match="wait_ms"):
            client.dequeue("mine", 1, apache.types.DequeueOptions(wait_ms=60_001))


def dequeue_frame(wait_ms):
    """A raw call."""
    options = b"\x0c\x00\x03\x08\x00\x04" + struct.pack(">i", wait_ms) + b"\x00"
    arguments = b"\x0b\x00\x01\x00\x00\x00\x04mine" + b"\x08\x00\x02\x00\x00\x00\x01" + options
    name = b"PinLater:dequeue"
    call = struct.pack(">II", 0x80010001, len(name)) + name + b"\0\0\0\7" + arguments + b"\x00"
    return struct.pack(">I", len(call)) + call


@pytest.mark.redis
def test_client_that_disconnects_while_waiting_claims_nothing(server, apache):
    with server.connect() as sock:
        sock.sendall(dequeue_frame(LONG_MS))
        wait_until(lambda: server.server.waiting_calls == 1, otherwise="it waits")
    wait_until(lambda: server.server.waiting_calls == 0, otherwise="its wait is cancelled")

    add(apache, server, b"job")

    with apache.client(server.port, "PinLater") as client:
        [job] = client.dequeue("mine", 1, apache.types.DequeueOptions(wait_ms=LONG_MS))
    assert job.attempt == 1


@pytest.mark.redis
def test_drain_answers_waiting_callers(server, apache):
    waiting = workers(apache, server, 3)

    server.drain()

    assert [waiter.bodies() for waiter in waiting] == [[], [], []]


@pytest.mark.redis
def test_callers_over_the_limit_get_an_immediate_answer(store, shards, apache):
    cluster = Cluster(connect_shards(shards))
    with running(store, cluster=cluster, max_waiting=1) as server:
        [first] = workers(apache, server, 1)
        assert Worker(apache, server.port).bodies() == []
        add(apache, server, b"job")
        assert first.bodies() == [b"job"]


class JobsWithLateCaller(Jobs):
    """Lets another caller ask while the first one, which was woken, looks for jobs again."""

    late_answer: list[ClaimedJob] | None = None
    claims = 0

    def _claim(self, *args):
        self.claims += 1
        if self.claims == 2:
            self.late_answer = run_steps(dequeue(self))
        return super()._claim(*args)


def dequeue(jobs):
    return jobs.dequeue("mine", 1, door="http", claim_ms=LONG_MS, worker="", wait_ms=LONG_MS)


@pytest.mark.redis
def test_caller_keeps_its_place_while_it_looks_for_jobs(shards):
    """Callers look for jobs once per second; a later caller took the place meanwhile."""
    jobs = JobsWithLateCaller(Cluster(connect_shards(shards)), max_waiting=1)
    first = dequeue(jobs)
    next(first).condition.result(60)

    assert not next(first).condition.cancelled()
    assert jobs.late_answer == []
    first.close()
    jobs.close()


@pytest.mark.redis
def test_queues_waited_for_later_are_heard_too(server, apache):
    [first] = workers(apache, server, 1)
    with apache.client(server.port, "PinLater") as client, ThreadPoolExecutor() as pool:
        other = pool.submit(
            client.dequeue, "other", 1, apache.types.DequeueOptions(wait_ms=LONG_MS)
        )
        wait_until(lambda: server.server.waiting_calls == 2, otherwise="both wait")
        with apache.client(server.port, "PinLater") as producer:
            producer.enqueue("other", [apache.types.NewJob(b"o")], apache.types.CallOptions())
        assert [job.body for job in other.result(60)] == [b"o"]
    add(apache, server, b"m")
    assert first.bodies() == [b"m"]


@pytest.mark.redis
def test_woken_caller_that_disconnects_passes_its_turn_on(shards):
    waits = JobWaits(Cluster(connect_shards(shards)), 10)
    leaving = ExitStack()
    first = leaving.enter_context(waits.waiting("jobs.mine", None))
    with waits.waiting("jobs.mine", None) as second:
        wait_until(first.woken.done, otherwise="the first is woken")
        leaving.close()
        assert second.woken.done()
        assert waits.finish_wait("jobs.mine", second)
    waits.close()


class Fetching:
    """A fetch that ends when the test says so."""

    def __init__(self):
        self.done = Future()
        self.ended = 0

    def steps(self, request):
        try:
            yield Wait(self.done, request.max_wait_ms / 1000)
            return FetchResponse(
                url=request.url,
                record=None,
                state=FetchState.ABSENT,
                fetching=not self.done.done(),
            )
        finally:
            self.ended += 1


def fetch(apache, server, max_wait_ms):
    with apache.client(server.port, "Fetcher") as client:
        return client.fetch("http://a.example/", apache.types.FetchOptions(max_wait_ms=max_wait_ms))


def test_fetch_may_wait_longer_than_any_deadline(store, apache):
    """It was cut off by `serving.content_deadline_ms`, although `max_wait_ms` may be a minute."""
    with running(store, fetching=Fetching(), content_deadline_ms=50) as server:
        assert fetch(apache, server, 400).fetching is True


def test_waiting_fetches_occupy_no_thread_and_end_together(store, apache):
    fetching = Fetching()
    with (
        running(store, fetching=fetching) as server,
        ThreadPoolExecutor(20) as pool,
    ):
        futures = [pool.submit(fetch, apache, server, LONG_MS) for _ in range(20)]
        wait_until(lambda: server.server.waiting_calls == 20, otherwise="all wait")
        fetching.done.set_result(True)
        assert [future.result(60).fetching for future in futures] == [False] * 20
    assert fetching.ended == 20


def test_drain_answers_waiting_fetches(store, apache):
    with running(store, fetching=Fetching()) as server, ThreadPoolExecutor() as pool:
        future = pool.submit(fetch, apache, server, LONG_MS)
        wait_until(lambda: server.server.waiting_calls == 1, otherwise="it waits")
        server.drain()
        assert future.result(60).fetching is True


class Gated(Fetching):
    """A fetch that starts to wait only after a gate has opened."""

    def __init__(self):
        super().__init__()
        self.entered, self.gate = threading.Event(), threading.Event()

    def steps(self, request):
        self.entered.set()
        assert self.gate.wait(60)
        yield from super().steps(request)


@pytest.mark.parametrize("waits_already", [True, False])
def test_wait_ends_when_its_client_closes_its_sending_side(store, apache, waits_already):
    from thrift.transport.TSocket import TSocket

    fetching = Gated()
    with running(store, fetching=fetching) as server:
        transport = TSocket("127.0.0.1", server.port)
        with (
            ThreadPoolExecutor() as pool,
            apache.client(server.port, "Fetcher", transport) as client,
        ):
            options = apache.types.FetchOptions(max_wait_ms=LONG_MS)
            answer = pool.submit(client.fetch, "http://a.example/", options)
            assert fetching.entered.wait(60)
            if waits_already:
                fetching.gate.set()
                wait_until(lambda: server.server.waiting_calls == 1, otherwise="it waits")
            transport.handle.shutdown(socket.SHUT_WR)
            with server.connect() as other:  # the end has arrived once another call is answered
                other.sendall(PING)
                assert other.recv(1000)
            fetching.gate.set()
            wait_until(lambda: fetching.ended == 1, otherwise="the wait ends")
            wait_until(lambda: server.server.connections == 0, otherwise="the connection ends")
            assert answer.exception(60)
        assert server.server.waiting_calls == 0
