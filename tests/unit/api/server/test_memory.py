"""Limits on the memory that clients can make a server hold: `aragog.api.server.memory`."""

from __future__ import annotations

import pytest

from aragog.api.problems import Problem
from aragog.api.server.http.batch_get import read_urls
from aragog.api.server.memory import GrowingBytes, MemoryLimit, UnreadBytes
from tests.support.stores import store_harness
from zengraph.tables.memory import MemoryTables

URLS = [f"http://big.example/{n}" for n in range(60)]


def statuses(memory: MemoryLimit) -> list[int]:
    """The status of each URL of a batch read; each record is larger than a kilobyte."""
    store = store_harness(MemoryTables()).store
    for url in URLS:
        store.put(url, {"team.a": b'"%b"' % (b"x" * 1_000)})
    with GrowingBytes(memory) as held:
        results = read_urls(lambda read: (read(store), False), URLS, None, held)
    return [result["status"] for result in results]


def test_growing_bytes_are_released_together():
    memory = MemoryLimit(100, "unread responses")
    with GrowingBytes(memory) as held:
        taken = [held.take(60), held.take(30), held.take(30)]
        held_bytes = memory.held_bytes

    assert (taken, held_bytes, memory.held_bytes) == ([True, True, False], 90, 0)


def test_abandoned_thread_gets_no_more_memory():
    memory = MemoryLimit(100, "unread responses")
    with GrowingBytes(memory) as held:
        pass

    assert (held.take(1), memory.held_bytes) == (False, 0)


def test_batch_read_leaves_out_records_that_do_not_fit_in_memory():
    """Regression: a hundred unread batch reads of 30 MB filled the memory before they were counted."""
    assert statuses(MemoryLimit(1_000_000, "unread responses")) == [200] * 60
    assert statuses(MemoryLimit(40_000, "unread responses")) == [200] * 20 + [413] * 40


def test_batch_read_without_room_for_its_first_records_is_refused():
    with pytest.raises(Problem) as refusal:
        statuses(MemoryLimit(10_000, "unread responses"))

    assert refusal.value.status == 503


def test_unread_bytes_are_counted_once():
    memory = MemoryLimit(100, "unread responses")
    unread = UnreadBytes(memory)

    assert memory.take(60)
    unread.begin_write(60)
    assert unread.count_buffered(60)  # the response being written
    unread.end_write(60, blocked=True)
    assert memory.held_bytes == 60
    assert unread.count_buffered(80)  # small responses after it
    assert memory.held_bytes == 80
    unread.mark_read()
    assert memory.held_bytes == 0


def test_connections_share_the_limit_of_unread_bytes():
    memory = MemoryLimit(100, "unread responses")
    one, other = UnreadBytes(memory), UnreadBytes(memory)

    assert one.count_buffered(70)
    assert not other.count_buffered(70)
    assert memory.held_bytes == 70
    one.mark_read()
    assert other.count_buffered(70)
