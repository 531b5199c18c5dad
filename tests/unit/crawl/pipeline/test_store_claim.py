"""Only a Redis used by another store is a conflict."""

import pytest

from aragog.crawl.pipeline.store_claim import StoreIdentity, conflict_message

MINE = StoreIdentity("id-1", "sqlite", "host:/var")


@pytest.mark.parametrize("owner", [None, MINE, StoreIdentity("id-1", "sqlite", "moved:/srv")])
def test_unused_redis_or_one_of_the_same_store_is_no_conflict(owner):
    assert conflict_message(MINE, owner, "redis://r/") is None


def test_conflict_names_both_stores_and_the_remedy():
    text = conflict_message(MINE, StoreIdentity("id-2", "hbase", "gateway:9090"), "redis://r/")

    for part in ("redis://r/", "hbase gateway:9090 (store id id-2)", str(MINE), "store adopt"):
        assert part in text
