"""Brokers for tests, with jobs in Redis or in PostgreSQL, and ways to break them."""

from __future__ import annotations

import json
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
import redis
from psycopg import sql

from aragog.errors import BrokerUnavailable
from aragog.standalone.postgres_server import SOCKET_NAME, PostgresServer
from aragog.standalone.redis_server import RedisServer
from pinlater.brokers import of_socket
from pinlater.postgres.shard import PostgresShard
from pinlater.redis_shard import RedisShard
from pinlater.shard import ServerShard
from tests.support.pinlater_app import CLAIM_TIMEOUT_S, make
from tests.support.waiting import wait_until

on_both = pytest.mark.parametrize("jobs_in", ["redis", "postgres"], indirect=True)
"""Runs a test with jobs in Redis, and again with jobs in PostgreSQL."""
on_both_in_pools = pytest.mark.parametrize(
    ("jobs_in", "pool"),
    [("redis", "threads"), ("redis", "prefork"), ("postgres", "threads")],
    indirect=["jobs_in"],
)
"""The same, with workers of both pools."""


class Place:
    """
    A broker, its app, and the Redis that tasks write their notes to.

    Args:
        broker: its URL.
        shard: the shard of its jobs.
        redis_server: the server of results and of messages that are not jobs.
        notes_url: the Redis of the notes; empty for the same.
        options: transport options that it needs.
    """

    lost = "Cannot connect"
    """The text that a worker logs when it has lost the server."""

    def __init__(
        self,
        broker: str,
        shard: ServerShard,
        redis_server: RedisServer,
        notes_url: str = "",
        **options: Any,
    ) -> None:
        self.broker, self.shard, self._options = broker, shard, options
        self.client = redis.Redis.from_url(redis_server.url)
        self.noted = redis.Redis.from_url(notes_url or redis_server.url)
        self.env = {
            "ARAGOG_TEST_BROKER": self.broker,
            "ARAGOG_TEST_NOTES": notes_url or redis_server.url,
            "ARAGOG_TEST_RESULTS": f"redis+socket://{redis_server.socket}",
            "ARAGOG_TEST_CONF": json.dumps({"broker_transport_options": options}),
        }
        self.app = make(
            self.broker, self.env["ARAGOG_TEST_RESULTS"], broker_transport_options=options
        )

    def with_conf(self, **conf: Any) -> dict[str, str]:
        """Return the variables of a worker with these settings. Its claims are short by default."""
        given = conf.pop("broker_transport_options", {"claim_timeout_s": CLAIM_TIMEOUT_S})
        conf["broker_transport_options"] = self._options | given
        return self.env | {"ARAGOG_TEST_CONF": json.dumps(conf)}

    def notes(self) -> list[str]:
        return [note.decode() for note in self.noted.lrange("notes", 0, -1)]

    def running(self, queue: str = "celery") -> int:
        return self.shard.sizes(queue).running

    def has_returned(self, log: str) -> bool:
        """Return True if a worker that had lost the server is connected again."""
        return log.count("Connected to") == 2

    def cut_connections(self) -> None:
        """End all connections of workers."""
        # A full worker reads only from this connection; others are replaced silently.
        wait_until(lambda: self.client.client_list(_type="pubsub"))
        for kind in ("normal", "pubsub"):
            self.client.client_kill_filter(_type=kind, skipme=True)

    def close(self) -> None:
        self.app.close()
        self.client.close()
        self.noted.close()


class RedisPlace(Place):
    """A broker on a redis-server."""

    def __init__(self, server: RedisServer, notes_url: str = "") -> None:
        shard = RedisShard(redis.Redis.from_url(server.url))
        super().__init__(of_socket(server.socket), shard, server, notes_url)
        self.server: RedisServer | PostgresServer = server
        self.socket = Path(server.socket)

    def expire_claims(self, *queues: str) -> None:
        """End the claims of a killed worker. They may be long, so that no running worker loses any."""
        for queue in queues or ("celery",):
            key = self.shard.keys(queue).running
            for job_id in self.client.zrange(key, 0, -1):
                self.client.zadd(key, {job_id: 0})

    def pass_ms(self, ms: int) -> None:
        """Advance the time of waiting jobs."""
        waiting = self.shard.keys("celery")[11]
        for job, due_ms in self.client.zrange(waiting, 0, -1, withscores=True):
            self.client.zadd(waiting, {job: due_ms - ms})

    def refuse_writes(self) -> None:
        """Become a replica, which refuses writes."""
        self.client.replicaof("127.0.0.1", 1)

    def accept_writes(self) -> None:
        self.client.replicaof("no", "one")

    def refused(self, log: str) -> int:
        """Return how many writes it has refused."""
        return self.client.info("errorstats").get("errorstat_READONLY", {}).get("count", 0)

    def close(self) -> None:
        super().close()
        self.shard.client.close()


class PostgresPlace(Place):
    """A broker on PostgreSQL, with a redis-server for the messages that are not jobs."""

    lost = "out of rotation"

    def __init__(
        self,
        dsn: str,
        redis_server: RedisServer,
        notes_url: str = "",
        server: PostgresServer | None = None,
        **options: Any,
    ) -> None:
        self.dsn = dsn
        shard = PostgresShard(dsn, timeout_s=60)
        super().__init__(
            f"pinlater+{dsn}", shard, redis_server, notes_url, control=redis_server.url, **options
        )
        self.server = server
        if server is not None:
            self.socket = server.socket_folder / SOCKET_NAME

    def has_returned(self, log: str) -> bool:
        return "is back after" in log

    def _run(self, *statements: str) -> None:
        with closing(psycopg.connect(self.dsn, autocommit=True)) as connection:
            for statement in statements:
                connection.execute(sql.SQL(statement))

    def expire_claims(self, *queues: str) -> None:
        names = ", ".join(f"'{queue}'" for queue in queues or ("celery",))
        self._run(
            "UPDATE pinlater.running SET until = 0 WHERE queue IN "
            f"(SELECT id FROM pinlater.queue WHERE name IN ({names}))"
        )

    def pass_ms(self, ms: int) -> None:
        self._run(*(f"UPDATE pinlater.{table} SET due = due - {ms}" for table in ("job", "ready")))

    def cut_connections(self) -> None:
        self._run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND application_name = 'pinlater'"
        )
        super().cut_connections()

    def refuse_writes(self) -> None:
        """Refuse writes like a replica, also on open connections."""
        self._run("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
        wait_until(lambda: not self._accepts())

    def accept_writes(self) -> None:
        self._run(
            "SET default_transaction_read_only = off",
            "ALTER SYSTEM RESET default_transaction_read_only",
            "SELECT pg_reload_conf()",
        )

    def _accepts(self) -> bool:
        try:
            self.shard.ping()
        except BrokerUnavailable:
            return False
        return True

    def refused(self, log: str) -> int:
        return log.count("accepts no writes")

    def close(self) -> None:
        super().close()
        self.shard.links.close()


def freeze(server: RedisServer | PostgresServer) -> None:
    """Suspend a server's processes."""
    parent = psutil.Process(server.process.pid)
    parent.suspend()  # first, so that it starts no more children
    for child in parent.children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # PostgreSQL's autovacuum runs briefly after a start
            child.suspend()


def thaw(server: RedisServer | PostgresServer) -> None:
    """Resume a server's processes."""
    parent = psutil.Process(server.process.pid)
    for process in (*parent.children(recursive=True), parent):
        with suppress(psutil.NoSuchProcess):
            process.resume()
