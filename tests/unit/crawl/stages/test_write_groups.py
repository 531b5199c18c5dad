"""Batches ready at the same time are written together, and fail separately."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from aragog.crawl.pipeline.messages import PageBatch, UrlJob
from aragog.crawl.stages.groups import Groups
from aragog.crawl.stages.page_updates import PageUpdate, to_blob
from aragog.crawl.stages.store import StoreStage
from aragog.crawl.stages.write_groups import MAX_PAGES, WriteGroups
from aragog.errors import SpoolUnavailable, StoreUnavailable
from aragog.urlstore.records import PageWrite, Written
from tests.support.memory_ports import MemorySpool
from tests.support.stores import NOW_MS, page

A, B, C = "http://a.example/", "http://b.example/", "http://c.example/"


@dataclass
class Writes:
    """A store that records the URLs of each write, and refuses some URLs."""

    refused: frozenset[str] = frozenset()
    urls: list[list[str]] = field(default_factory=list)
    error: type[BaseException] = StoreUnavailable

    def __call__(self, pages: Sequence[PageWrite]) -> list[Written]:
        self.urls.append([one.url for one in pages])
        if not self.refused.isdisjoint(self.urls[-1]):
            raise self.error("store", "does not answer")
        return [Written(one.url, one.canonical_url) for one in pages]


def test_waiting_batches_are_written_together_with_separate_results():
    groups, write = WriteGroups(), Writes()
    first, second = groups.join([page(A), page(B)]), groups.join([page(C)])

    results = [groups.handle(one, write) for one in (first, second)]

    assert write.urls == [[A, B, C]]
    assert [[one.url for one in some] for some in results] == [[A, B], [C]]


def test_batch_waiting_alone_is_left_to_its_caller():
    groups, write = WriteGroups(), Writes()

    assert groups.handle(groups.join([page(A)]), write) is None
    assert write.urls == []


def test_group_size_is_limited():
    groups, write = WriteGroups(), Writes()
    half = [page(f"{A}{n}") for n in range(MAX_PAGES // 2)]
    joined = [groups.join(half) for _ in range(3)]

    groups.handle(joined[0], write)

    assert list(map(len, write.urls)) == [MAX_PAGES]
    assert groups.handle(joined[2], write) is None


@pytest.mark.parametrize("error", [StoreUnavailable, SystemExit])
def test_failed_or_killed_group_leaves_each_batch_to_its_caller(error):
    groups, write = WriteGroups(), Writes(frozenset({B}), error=error)
    joined = [groups.join([page(url)]) for url in (A, B)]

    if error is SystemExit:
        with pytest.raises(SystemExit):
            groups.handle(joined[0], write)
    else:
        assert groups.handle(joined[0], write) is None

    assert groups.handle(joined[1], write) is None


def test_thread_whose_batch_is_being_written_writes_the_next_ones_meanwhile():
    groups = WriteGroups()
    begun, may_end = threading.Event(), threading.Event()
    first, second = groups.join([page(A)]), groups.join([page(B)])

    def slowly(pages: Sequence[PageWrite]) -> list[Written]:
        begun.set()
        assert may_end.wait(30)
        return Writes()(pages)

    slow = threading.Thread(target=groups.handle, args=(first, slowly))
    slow.start()
    assert begun.wait(30)
    third = groups.join([page(C)])
    other = Writes()

    def end_the_first(pages: Sequence[PageWrite]) -> list[Written]:
        may_end.set()
        return other(pages)

    results = groups.handle(second, end_the_first)
    slow.join()

    assert other.urls == [[C]]
    assert [one.url for one in results] == [B]
    assert [one.url for one in groups.handle(third, other)] == [C]


@pytest.fixture
def stage(ports):
    return StoreStage(
        ports.spool, ports.store, ports.in_flight, ports.counters, ports.returning_jobs
    )


def batch(ports, url, priority=5, **values):
    updates = [PageUpdate(page(url, NOW_MS, **values))]
    (token,) = ports.spool.put_many([to_blob(updates)])
    return PageBatch(token, (UrlJob(url=url, priority=priority),))


def written_together(stage):
    """The number of pages waiting to be written together."""
    return sum(len(one.items) for one in stage.groups._waiting)


def test_batches_ready_at_once_are_written_together_and_finished_separately(stage, ports):
    begun = [stage.begin(batch(ports, url)).wait() for url in (A, B, C)]
    assert written_together(stage) == 3

    stage.finish(begun[1])

    assert written_together(stage) == 0
    assert all(ports.store.get(url) for url in (A, B, C))
    assert len(ports.spool.blobs) == 2  # the others are finished in their own turn
    for one in (begun[0], begun[2]):
        stage.finish(one)
    assert ports.spool.blobs == {}


def test_batches_waiting_for_a_thread_are_begun_together(stage, ports):
    batches = [batch(ports, url) for url in (A, B, C)]
    joined = [stage.join(one) for one in batches]

    first = stage.begin(batches[0], joined[0])

    assert all(one.done.is_set() for one in joined)
    begun = [first, *(stage.begin(*pair) for pair in zip(batches[1:], joined[1:], strict=True))]
    assert [[write.url for write in one.writes] for one in begun] == [[A], [B], [C]]
    for one in begun:
        stage.finish(one.wait())
    assert all(ports.store.get(url) for url in (A, B, C))
    assert ports.spool.blobs == {}


def test_batch_that_cannot_be_read_is_fetched_again_and_not_the_others(stage, ports):
    lost, unreadable, well = batch(ports, A), batch(ports, B), batch(ports, C)
    ports.spool.free([lost.token])
    ports.spool.blobs[unreadable.token] = b"from another version"
    batches = [lost, unreadable, well]
    joined = [stage.join(one) for one in batches]

    begun = [stage.begin(*pair) for pair in zip(batches, joined, strict=True)]

    assert [set(one.lost) for one in begun] == [{A}, {B}, set()]
    stage.finish(begun[2].wait())
    assert ports.store.get(C)


class SpoolOfOneBlob(MemorySpool):
    """A spool that does not return two blobs at once."""

    def get_many(self, tokens):
        if len(tokens) > 1:
            raise SpoolUnavailable("redis", "does not respond")
        return super().get_many(tokens)


def test_batches_are_begun_alone_if_they_cannot_be_begun_together(stage, ports):
    ports.spool = SpoolOfOneBlob()
    stage = replace(stage, spool=ports.spool)
    batches = [batch(ports, url) for url in (A, B)]
    joined = [stage.join(one) for one in batches]

    begun = [stage.begin(*pair) for pair in zip(batches, joined, strict=True)]

    assert [[write.url for write in one.writes] for one in begun] == [[A], [B]]


def test_batch_beyond_the_limit_of_a_group_waits_for_the_next_thread():
    groups = Groups(max_items=2)
    first, second, third = (groups.join([url]) for url in (A, B, C))

    assert groups.handle(first, lambda urls: [url.upper() for url in urls]) == [A.upper()]
    assert second.results == [B.upper()]
    assert third.results is None


def test_batch_with_a_waiting_caller_is_begun_alone(stage, ports):
    assert stage.join(batch(ports, A, priority=0)) is None


def test_batch_with_a_waiting_caller_does_not_wait_for_the_pages_of_others(stage, ports):
    stage.begin(batch(ports, A)).wait()

    stage.finish(stage.begin(batch(ports, B, priority=0)).wait())

    assert written_together(stage) == 1


def test_unfinished_batch_is_written_again_when_its_message_comes_back(stage, ports):
    lost = batch(ports, A)
    stage.begin(lost).wait()  # killed before its turn

    stage.finish(stage.begin(batch(ports, B)).wait())
    stage.run(lost)

    assert all(ports.store.get(url) for url in (A, B))
    assert ports.spool.blobs == {}
