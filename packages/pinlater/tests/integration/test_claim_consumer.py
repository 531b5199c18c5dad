"""A consumer that loses its connection during delivery."""

import pytest
import redis

from pinlater.claims import ClaimRegistry
from pinlater.cluster import Cluster
from pinlater.consumer import JobConsumer
from pinlater.models import NewJob
from pinlater.redis_shard import RedisShard

pytestmark = pytest.mark.redis


def test_jobs_are_pending_again_immediately_after_a_failed_delivery(redis_client):
    # Regression: claims unknown to their own worker waited a minute until they expired.
    shard = RedisShard(redis_client)
    claims = ClaimRegistry(Cluster([shard]))
    shard.enqueue("q", [NewJob(b"%d" % number) for number in range(5)])

    def deliver(_shard, queue, job):
        claims.add(shard, queue, job)
        if job.record.endswith(b"|1"):
            raise ConnectionResetError

    consumer = JobConsumer(claims, deliver)
    consumer.consume(["q"])
    try:
        with pytest.raises(ConnectionResetError):
            consumer.take(5)

        assert shard.sizes("q").running == 2
        assert [job.attempts for job in shard.jobs("q", "PENDING", limit=5)] == [0, 0, 0]
    finally:
        consumer.close()
        claims.stop()


def test_claims_of_delivered_jobs_are_kept(redis_client: redis.Redis):
    shard = RedisShard(redis_client)
    claims = ClaimRegistry(Cluster([shard]))
    shard.enqueue("q", [NewJob(b"x")] * 3)
    consumer = JobConsumer(claims, claims.add)
    consumer.consume(["q"])
    try:
        assert consumer.take(5) == 3
        assert shard.sizes("q").running == len(claims) == 3
    finally:
        consumer.close()
        claims.stop()
