"""
The cluster of docs/deployment.md: its Redis user can do everything that aragog needs, others
nothing.
"""

import re
from pathlib import Path

import pytest
import redis
from click.testing import CliRunner

from aragog.bootstrap.redis_services import robots_cache
from aragog.bootstrap.stages import connect
from aragog.cli import main
from aragog.crawl.pipeline.enqueue_results import EnqueueStatus
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.runtime.clock import SystemClock
from aragog.settings import BrokerSettings, FetchSettings, RedisSettings, Settings
from pinlater.admin import Admin
from pinlater.models import ClaimRequest, NewJob
from tests.support.pipeline_harness import Sent

DEPLOYMENT = Path(__file__).parents[2] / "docs/deployment.md"
PASSWORD = "hunter2"


@pytest.fixture
def user_url(tcp_redis):
    """The server, set up as documented."""
    commands = re.findall(r"`(ACL SETUSER [^`]+)`", DEPLOYMENT.read_text())
    assert [command.split()[2] for command in commands] == ["aragog", "default"]
    # One connection, which stays authenticated when its user is disabled.
    with redis.Redis.from_url(tcp_redis.url, single_connection_client=True) as client:
        for command in commands:
            client.execute_command(*command.replace("PASSWORD", PASSWORD).split())
    return tcp_redis.url.replace("redis://", f"redis://aragog:{PASSWORD}@")


def test_other_users_cannot_read_or_write(tcp_redis, user_url):
    with (
        redis.Redis.from_url(tcp_redis.url) as client,
        pytest.raises(redis.exceptions.AuthenticationError),
    ):
        client.get("x")
    with redis.Redis.from_url(user_url) as client:
        for command in (
            ("SHUTDOWN",),
            ("CONFIG", "SET", "dir", "/"),
            ("MODULE", "LIST"),
            ("ACL", "LIST"),
        ):
            with pytest.raises(redis.exceptions.NoPermissionError):
                client.execute_command(*command)


def test_everything_that_aragog_does_with_redis_is_allowed(
    user_url, tcp_redis, tmp_path, monkeypatch
):
    broker = f"pinlater{user_url.removeprefix('redis')}"
    settings = Settings(
        data_dir=tmp_path,
        redis=RedisSettings(url=user_url),
        broker=BrokerSettings(url=broker),
        fetch=FetchSettings(user_agent="aragog/1.0 (+http://127.0.0.1/)"),
    )
    pipeline, robots = connect(settings, Sent()), robots_cache(settings)
    maintenance, spool = pipeline.maintenance, pipeline.maintenance.spool
    (accepted,) = pipeline.enqueuer.enqueue(["http://a.test/"], EnqueueOptions())
    robots.put("http://a.test", 200, b"Disallow: /", SystemClock().now_ms())
    tokens = spool.put_many([b"a body"])
    maintenance.share_takedowns()
    maintenance.sweep_in_flight()
    maintenance.sweep_spool()
    admin = Admin.connect(broker)
    (shard,) = admin.cluster.shards
    shard.enqueue("fetch", [NewJob(b"{}")])
    (claim,) = shard.claim("fetch", ClaimRequest(limit=1, timeout_ms=1000, worker="w")).claims

    assert accepted.status is EnqueueStatus.ACCEPTED
    assert spool.get_many(tokens) == [b"a body"]
    assert shard.ack("fetch", [(claim.job_id, claim.token)]) == [True]
    assert robots.get("http://a.test").rules is not None
    monkeypatch.setenv("ARAGOG_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("ARAGOG_REDIS__URL", user_url)
    monkeypatch.setenv("ARAGOG_BROKER__URL", broker)
    taken = CliRunner().invoke(main, ["store", "takedown", "--host", "a.test", "--yes"])
    assert (taken.exit_code, PASSWORD in taken.output) == (0, False), taken.output
    assert "rules of 1 origins" in taken.output
    pipeline.close()
