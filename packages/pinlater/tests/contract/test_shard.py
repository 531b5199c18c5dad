"""The shard contract on Redis, PostgreSQL and in memory, then random histories."""

import json

import pytest
from support.postgres_shard import PostgresWorld
from support.waiting import wait_until

from pinlater.models import JobItem
from pinlater.redis_shard import RedisShard
from pinlater.testing.shard import ShardContract
from pinlater.testing.shard_histories import run_histories
from pinlater.testing.shard_world import MemoryWorld, bodies, claim, frame

pytestmark = pytest.mark.redis

# Simulates the passage of time by moving the stored timestamps into the past.
PASS = """
for at = 1, #KEYS do
  local kind = redis.call('TYPE', KEYS[at]).ok
  if kind == 'zset' then
    local all = redis.call('ZRANGE', KEYS[at], 0, -1, 'WITHSCORES')
    for i = 1, #all, 2 do redis.call('ZADD', KEYS[at], all[i + 1] - ARGV[1], all[i]) end
  elseif kind == 'hash' and redis.call('HEXISTS', KEYS[at], 'filled_at') == 1 then
    redis.call('HINCRBY', KEYS[at], 'filled_at', -ARGV[1])
  elseif at == 3 and kind == 'hash' then
    local all = redis.call('HGETALL', KEYS[at])
    for i = 1, #all, 2 do
      local before, created, rest = all[i + 1]:match('^([12]|%d|%d+|)(%d+)(|.*)$')
      if created then
        local earlier = string.format('%.0f', created - ARGV[1])
        redis.call('HSET', KEYS[at], all[i], before .. earlier .. rest)
      end
    end
  end
end
"""


class RedisWorld:
    def __init__(self, client):
        self.shard = RedisShard(client)
        self._client = client
        self._pass = client.register_script(PASS)

    def empty(self):
        self._client.flushall()

    def pass_ms(self, ms):
        for queue in ("q", "other"):
            self._pass(keys=self.shard.keys(queue), args=[ms])


class TestEveryShard(ShardContract):
    @pytest.fixture(params=["redis_client", "system_redis_client", "postgres_world", "memory"])
    def world(self, request):
        if request.param == "memory":
            return MemoryWorld()
        server = request.getfixturevalue(request.param)
        return server if request.param == "postgres_world" else RedisWorld(server)


@pytest.fixture(params=["redis_client", "postgres_world"])
def server_world(request):
    server = request.getfixturevalue(request.param)
    return server if request.param == "postgres_world" else RedisWorld(server)


@pytest.fixture(scope="module")
def _postgres_world(postgres_server):
    dsn = postgres_server.create_database("shard_contract")
    world = PostgresWorld(dsn)
    yield world
    world.shard.links.close()


@pytest.fixture
def postgres_world(_postgres_world):
    _postgres_world.empty()
    return _postgres_world


def test_items_due_far_ahead_are_grouped_by_time_span(server_world):
    shard, span_ms = server_world.shard, 20
    delays_ms = list(range(0, 1400, 7))
    items = [JobItem(b"%d" % delay_ms, delay_ms) for delay_ms in delays_ms]
    now_ms = shard.time_and_uptime_ms()[0]
    shard.collect("q", frame(span_ms=span_ms, max_items=25), items)
    waiting = shard.sizes("q").pending
    claimed = []

    def all_claimed():
        answer = claim(shard, limit=200)
        for body in bodies(answer):
            claimed.append((answer.now_ms, json.loads(body)))
        return sum(len(delays) for _, delays in claimed) >= len(items)

    wait_until(all_claimed)

    # Of 70 spans, only the nearest have a job each.
    assert waiting < 40
    assert sorted(n for _, delays in claimed for n in delays) == sorted(delays_ms)
    assert all(max(delays) - min(delays) <= span_ms for _, delays in claimed)
    assert all(now_ms + min(delays) <= at_ms for at_ms, delays in claimed)


def test_random_histories_give_the_same_results_as_in_memory(server_world):
    # A history ends with a compared call.
    assert run_histories(server_world, histories=40) >= 40
