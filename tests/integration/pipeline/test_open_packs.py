"""
Bodies that wait for an open pack: the spool keeps them, fetching continues, and nobody waits long.
"""

import threading
import time

import pytest

from aragog.crawl.pipeline.messages import PageBatch, UrlJob
from aragog.crawl.pipeline.spool import OVERHEAD_BYTES, Spool
from aragog.crawl.stages.page_updates import PageUpdate, to_blob
from aragog.crawl.stages.store import StoreStage
from aragog.settings import ContentSettings, StoreSettings
from aragog.urlstore.compression import compress
from aragog.urlstore.content import MemoryContent, MemoryPacks
from aragog.urlstore.store import UrlStore
from tests.support.stores import NOW_MS, page
from tests.support.waiting import wait_until
from zengraph.tables.memory import MemoryTables

pytestmark = pytest.mark.redis

A, B = "http://a.example/", "http://b.example/"
ON_ITS_WAY = "http://c.example/"
BODY = bytes(10_000 - OVERHEAD_BYTES)
FOREVER_S = 600.0
DEADLINE_S = 1.0
"""The deadline of a read on miss."""


def spool_of(client, max_bytes=100_000):
    return Spool(client, prefix="t:", max_bytes=max_bytes)


def test_bodies_of_an_open_pack_do_not_count_and_stay_until_freed(redis_client):
    spool = spool_of(redis_client)
    full = [tokens for _ in range(8) if (tokens := spool.offer_many([BODY]))]
    assert spool.offer_many([BODY]) is None
    tokens = [token for (token,) in full]

    spool.mark_packed(tokens)
    assert spool.state().used_bytes == 0
    assert spool.get_many(tokens) == [BODY] * len(tokens)
    assert spool.offer_many([BODY])

    spool.mark_packed(tokens)  # the batch runs again after its process was killed
    assert spool.state().used_bytes == 10_000
    spool.free(tokens)
    spool.free(tokens)
    assert spool.state().used_bytes == 10_000
    assert spool.get_many(tokens) == [None] * len(tokens)
    spool.mark_packed(["unknown.5", *tokens])
    assert spool.state().used_bytes == 10_000


@pytest.fixture
def stage(redis_client, pipeline_harness):
    """
    The store stage with packs that stay open for ten minutes, while another page is being fetched.
    """
    options = ContentSettings(pack_wait_s=FOREVER_S)
    store = UrlStore(
        MemoryTables(pipeline_harness.clock), MemoryContent(), StoreSettings(),
        pipeline_harness.clock, packs=MemoryPacks(), content_settings=options,
    )  # fmt: skip
    pipeline_harness.in_flight.mark([ON_ITS_WAY])
    made = StoreStage(
        spool_of(redis_client), store, pipeline_harness.in_flight,
        pipeline_harness.counters, pipeline_harness.returning_jobs,
    )  # fmt: skip
    yield made
    store.close()


def batch(stage, url, priority=5):
    """A batch with one page, as `canonicalize` sends it."""
    (body,) = stage.spool.offer_many([compress(url.encode())])
    update = PageUpdate(page(url, NOW_MS), body, len(url))
    (token,) = stage.spool.put_many([to_blob([update])])
    stage.in_flight.mark([url])
    return PageBatch(token, (UrlJob(url=url, priority=priority),), (body,))


def test_batch_waiting_for_its_pack_keeps_its_bodies_and_does_not_stop_fetching(stage):
    a_batch = batch(stage, A)
    assert stage.spool.state().used_bytes > 0
    begun = stage.begin(a_batch)

    assert stage.spool.state().used_bytes == 0
    assert None not in stage.spool.get_many([a_batch.token, *a_batch.bodies])
    again = stage.begin(a_batch)  # as after a kill: in another process, with the same message
    stage.store.bodies.packs.writer.close()
    stage.finish(again.wait())
    stage.finish(begun.wait())

    assert stage.store.content(A).body == A.encode()
    assert stage.spool.get_many([a_batch.token, *a_batch.bodies]) == [None, None]
    assert stage.spool.state().used_bytes == 0


@pytest.mark.parametrize("priority", [0, 1, 2])
def test_page_with_a_waiting_caller_closes_the_open_pack_at_once(stage, priority):
    waiting = threading.Thread(target=stage.run, args=(batch(stage, A),))
    waiting.start()
    wait_until(lambda: stage.store.bodies.packs.writer._open)

    before_s = time.thread_time()
    stage.run(batch(stage, B, priority))
    taken_s = time.thread_time() - before_s
    waiting.join(FOREVER_S / 10)

    assert taken_s < DEADLINE_S
    assert not waiting.is_alive()
    assert stage.store.content(A).body == A.encode()
    assert stage.store.content(B).body == B.encode()
    assert len(stage.store.bodies.packs.files.stored) == 1


def test_page_without_a_waiting_caller_waits_for_others(stage):
    waiting = threading.Thread(target=stage.run, args=(batch(stage, A, 3),), daemon=True)
    waiting.start()
    wait_until(lambda: stage.store.bodies.packs.writer._open)

    assert waiting.is_alive()
    assert stage.store.content(A) is None
    stage.store.bodies.packs.writer.close()
    waiting.join(FOREVER_S / 10)
    assert stage.store.content(A).body == A.encode()


def test_last_pages_of_a_crawl_do_not_wait_for_others(stage):
    """Each run used to end two seconds after its last page was fetched."""
    waiting = threading.Thread(target=stage.run, args=(batch(stage, A),), daemon=True)
    waiting.start()
    wait_until(lambda: stage.store.bodies.packs.writer._open)
    stage.in_flight.clear([ON_ITS_WAY])

    stage.run(batch(stage, B))
    waiting.join(FOREVER_S / 10)

    assert not waiting.is_alive()
    assert [stage.store.content(url).body for url in (A, B)] == [A.encode(), B.encode()]
    assert len(stage.store.bodies.packs.files.stored) == 1


def test_last_url_without_a_body_closes_the_open_pack(stage):
    waiting = threading.Thread(target=stage.run, args=(batch(stage, A),), daemon=True)
    waiting.start()
    wait_until(lambda: stage.store.bodies.packs.writer._open)

    gone = PageUpdate(page(ON_ITS_WAY, NOW_MS), None, 0)
    (token,) = stage.spool.put_many([to_blob([gone])])
    stage.run(PageBatch(token, (UrlJob(url=ON_ITS_WAY),)))
    waiting.join(FOREVER_S / 10)

    assert not waiting.is_alive()
    assert stage.store.content(A).body == A.encode()
