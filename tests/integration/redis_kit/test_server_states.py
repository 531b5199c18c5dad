"""Messages about a Redis server that refuses commands because of its own state."""

import pytest
import redis

from aragog.cli.error_hints import error_hint
from aragog.crawl.pipeline.routing import broker_errors
from aragog.standalone.redis_server import RedisServer
from aragog.standalone.supervisor import Supervisor
from pinlater.cluster import Cluster, connect_shards
from pinlater.errors import BrokerUnavailable
from pinlater.models import NewJob
from pinlater.redis.errors import redis_errors
from tests.support.waiting import wait_until

LOADING = redis.BusyLoadingError("Redis is loading the dataset in memory")
IN_A_SCRIPT = redis.ResponseError(
    "Error running script (call to f_0123): @user_script:52: @user_script: 52: -MISCONF Redis is "
    "configured to save RDB snapshots, but it is currently unable to persist on disk. "
)


@pytest.mark.parametrize(
    ("cause", "shown"),
    [(LOADING, "loading its data after a restart"), (IN_A_SCRIPT, "disk is full")],
)
@pytest.mark.parametrize("translate", [lambda: redis_errors("redis.url"), broker_errors])
def test_server_state_is_described_in_plain_words(cause, shown, translate):
    with pytest.raises(BrokerUnavailable, match=shown) as raised, translate():
        raise cause

    assert "script" not in str(raised.value)


@pytest.mark.redis
def test_full_disk_is_reported_with_the_remedy_and_no_lua(small_disk):
    with RedisServer(small_disk.folder, persistent=True) as server:
        cluster = Cluster(connect_shards([server.url]))
        cluster.enqueue("q", [NewJob(b"x")])
        small_disk.fill()

        def refused():
            try:
                cluster.enqueue("q", [NewJob(b"x" * 10_000)])
            except BrokerUnavailable as error:
                return str(error)

        message = wait_until(refused)
        small_disk.free()

        assert message.startswith("shard 0: its disk is full")
        assert "script" not in message
        wait_until(lambda: refused() is None)


def test_running_system_is_not_reported_as_stopped(tmp_path, monkeypatch):
    monkeypatch.setenv("ARAGOG_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("ARAGOG_SETTINGS", "")
    error = BrokerUnavailable("redis.url", "Connection refused.")
    stopped = error_hint(error)
    supervisor = Supervisor(tmp_path, {})
    supervisor.acquire()
    try:
        assert f"aragog is running in {tmp_path}" in error_hint(error)
    finally:
        supervisor.stop()

    assert stopped.startswith(
        f"data_dir: aragog is not running in {tmp_path}; start it with `aragog up`"
    )
