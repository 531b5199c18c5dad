"""Walks of sitemaps in Redis."""

import pytest

from aragog.crawl.pipeline.sitemap_walks import TTL_S, SitemapWalks, Walk, WalkSize

pytestmark = pytest.mark.redis
WALK = Walk("r1", "shop.test")
A, B, C = (f"https://shop.test/{n}.xml" for n in "abc")


@pytest.fixture
def walks(redis_client):
    return SitemapWalks(redis_client, prefix="t:")


def test_noted_files_are_seen(walks):
    walks.record_read(WALK, [A], 10)
    walks.record_enqueued(WALK, [B])

    assert walks.unseen_files(WALK, [A, B, C, C]) == [C]
    assert walks.unseen_files(WALK, []) == []
    assert walks.unseen_files(Walk("r2", "shop.test"), [A]) == [A]


def test_file_read_twice_counts_once(walks):
    assert walks.record_read(WALK, [A, A + "?x=1"], 10) == WalkSize(2, 0)
    assert walks.record_read(WALK, [B], 5) == WalkSize(3, 10)
    assert walks.record_read(WALK, [B], 5) == WalkSize(3, 10)
    assert walks.record_read(WALK, [C], 1) == WalkSize(4, 15)


def test_restarted_walk_forgets_its_files(walks):
    walks.record_enqueued(WALK, [A])

    walks.forget_earlier("r1", ["https://www.shop.test/b.xml", "https://other.test/"])

    assert walks.unseen_files(WALK, [A]) == [A]


def test_walk_expires_after_its_last_file(walks, redis_client):
    walks.record_enqueued(WALK, [A])
    assert 0 < redis_client.ttl("t:walk:r1:shop.test") <= TTL_S
    walks.record_read(WALK, [A], 1)
    assert 0 < redis_client.ttl("t:walk:r1:shop.test") <= TTL_S
