"""Calls waiting for a thread are executed in groups."""

import asyncio
import threading
import time
import weakref

import pytest

from aragog.api.server.threads import CallThreads, ThreadCall
from aragog.api.server.thrift.contract import idl
from aragog.api.server.thrift.encoded_reads import EncodedReads
from aragog.errors import StoreDamaged, StoreUnavailable
from aragog.settings import StoreSettings
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.store import UrlStore
from tests.support.waiting import wait_until
from zengraph.tables.memory import MemoryTables


class Read(ThreadCall):
    """A call that records the size of its group."""

    def __init__(self, gate, group_sizes, left, ended):
        super().__init__(time.monotonic() + 60)
        self.gate, self.group_sizes, self.left, self.ended = gate, group_sizes, left, ended

    def run(self):
        self.run_with(())

    def group_filter(self):
        return lambda other: isinstance(other, Read)

    def run_with(self, others):
        self.group_sizes.append(1 + len(others))
        self.gate.wait(10)

    def finish(self):
        self.left.discard(self)
        if not self.left:
            self.ended.set()

    def expire(self):
        raise AssertionError("it expired")


async def sizes_of_groups(*, eager):
    """The sizes of the groups in which 40 calls were executed by two threads."""
    gate, group_sizes, left, ended = threading.Event(), [], set(), asyncio.Event()
    threads = CallThreads("test", 2, 100, eager=eager)
    for _ in range(40):
        call = Read(gate, group_sizes, left, ended)
        left.add(call)
        threads.submit(call)
    gate.set()
    await ended.wait()
    threads.close()
    return group_sizes


def test_threads_take_small_groups_for_networked_stores():
    group_sizes = asyncio.run(sizes_of_groups(eager=True))

    assert sum(group_sizes) == 40
    assert max(group_sizes) == 8


def test_threads_take_large_groups_for_embedded_stores():
    group_sizes = asyncio.run(sizes_of_groups(eager=False))

    assert sum(group_sizes) == 40
    assert max(group_sizes) > 8


@pytest.mark.parametrize(
    ("error", "reads"), [(StoreUnavailable("x", "down"), 1), (StoreDamaged("x", "damaged"), 6)]
)
def test_unavailable_store_is_read_once_per_group(error, reads):
    store = UrlStore(MemoryTables(), MemoryContent(), StoreSettings())
    asked = []

    def values(urls, _fields):
        asked.append(urls)
        raise error

    store.pages.values = values
    calls = [
        idl.UrlStore.get_args(f"http://a.example/{n}", ["title"], idl.ReadOptions())
        for n in range(5)
    ]

    results = EncodedReads(store, None, None).get_batch(calls)

    assert [type(result) for result in results] == [type(error)] * 5
    assert len(asked) == reads


class Result:
    """The result of a call."""


async def kept_after_a_call() -> bool:
    threads = CallThreads("kept", 1, 8)
    result = weakref.ref(await threads.run(Result, 60))
    await threads.run(threading.Event, 60)  # by now its thread has finished the previous call
    call = Made(time.monotonic() + 60)
    threads.submit(call)
    await call.finished.wait()
    reference, call = weakref.ref(call), None
    await asyncio.to_thread(wait_until, lambda: reference() is None)
    threads.close()
    return result() is not None or reference() is not None


class Made(ThreadCall):
    """A call with a result."""

    __slots__ = ("__weakref__", "finished", "result")

    def __init__(self, deadline_s):
        super().__init__(deadline_s)
        self.finished = asyncio.Event()

    def run(self):
        self.result = Result()

    def finish(self):
        self.finished.set()

    def expire(self):
        raise AssertionError


def test_idle_thread_keeps_no_result():
    """Regression: sixteen threads each kept the last record they had read: 140 MB."""
    assert not asyncio.run(kept_after_a_call())
