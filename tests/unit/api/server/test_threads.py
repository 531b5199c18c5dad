"""Calls that wait for a thread are made together."""

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
    """A call that notes with how many others it was made."""

    def __init__(self, gate, made, left, ended):
        super().__init__(time.monotonic() + 60)
        self.gate, self.made, self.left, self.ended = gate, made, left, ended

    def run(self):
        self.run_with(())

    def group_filter(self):
        return lambda other: isinstance(other, Read)

    def run_with(self, others):
        self.made.append(1 + len(others))
        self.gate.wait(10)

    def finish(self):
        self.left.discard(self)
        if not self.left:
            self.ended.set()

    def expire(self):
        raise AssertionError("it expired")


async def made_together(*, eager):
    """The sizes of the groups in which 40 calls were made by two threads."""
    gate, made, left, ended = threading.Event(), [], set(), asyncio.Event()
    threads = CallThreads("test", 2, 100, eager=eager)
    for _ in range(40):
        call = Read(gate, made, left, ended)
        left.add(call)
        threads.submit(call)
    gate.set()
    await ended.wait()
    threads.close()
    return made


def test_behind_a_network_a_thread_takes_only_a_few_of_them():
    made = asyncio.run(made_together(eager=True))

    assert sum(made) == 40
    assert max(made) == 8


def test_on_an_embedded_store_it_takes_many():
    made = asyncio.run(made_together(eager=False))

    assert sum(made) == 40
    assert max(made) > 8


@pytest.mark.parametrize(
    ("error", "reads"), [(StoreUnavailable("x", "down"), 1), (StoreDamaged("x", "damaged"), 6)]
)
def test_a_store_that_does_not_answer_is_asked_once_for_calls_that_share_a_read(error, reads):
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

    results = EncodedReads(store, None, None).get_together(calls)

    assert [type(result) for result in results] == [type(error)] * 5
    assert len(asked) == reads


class Result:
    """What a call has read."""


async def kept_after_a_call() -> bool:
    threads = CallThreads("kept", 1, 8)
    result = weakref.ref(await threads.run(Result, 60))
    await threads.run(threading.Event, 60)  # its thread has ended the call before
    call = Made(time.monotonic() + 60)
    threads.submit(call)
    await call.finished.wait()
    made, call = weakref.ref(call), None
    await asyncio.to_thread(wait_until, lambda: made() is None)
    threads.close()
    return result() is not None or made() is not None


class Made(ThreadCall):
    """A call that has its result."""

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


def test_an_idle_thread_keeps_no_result():
    """Sixteen threads kept the last record that each of them had read: 140 MB."""
    assert not asyncio.run(kept_after_a_call())
