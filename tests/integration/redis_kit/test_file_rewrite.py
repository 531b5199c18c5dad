"""Rewrites of an append-only file, each started after the latest deletion."""

import pytest
import redis

from aragog.crawl.shared_redis.file_rewrite import FileRewrite
from tests.support.waiting import wait_until

pytestmark = pytest.mark.redis


@pytest.fixture
def client(own_redis):
    with redis.Redis.from_url(own_redis.url) as client:
        client.config_set("appendonly", "yes")
        wait_until(lambda: not busy(client))
        yield client


def busy(client):
    info = client.info("persistence")
    return info["aof_rewrite_in_progress"] or info["aof_rewrite_scheduled"]


def test_rewrite_requested_during_another_is_done_later(client):
    """A takedown soon after another one returned an error, although it was done."""
    rewrite = FileRewrite(client, prefix="aragog:")
    client.config_set("rdb-key-save-delay", 100_000)  # the child needs 0.1 s per key
    client.mset({f"k{number}": "x" for number in range(10)})
    rewrite.request()
    assert busy(client)

    client.delete("k0")
    rewrite.request()

    assert client.exists("aragog:file_rewrite")
    client.config_set("rdb-key-save-delay", 0)
    wait_until(lambda: not busy(client))
    rewrite.start_requested()
    assert not client.exists("aragog:file_rewrite")


def test_nothing_is_rewritten_without_a_request(client):
    FileRewrite(client, prefix="aragog:").start_requested()

    assert not busy(client)
