"""Shared fixtures of the transport tests."""

import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

from aragog.standalone.redis_server import RedisServer
from tests.support.celery_worker import Worker
from tests.support.job_places import PostgresPlace, RedisPlace


@pytest.fixture
def jobs_in(request):
    """Where a place keeps its jobs; tests marked `on_both` run with each."""
    return getattr(request, "param", "redis")


@pytest.fixture
def place(jobs_in, request, redis_server, redis_url):
    """A broker on servers that other tests also use."""
    if jobs_in == "postgres":
        a_place = PostgresPlace(request.getfixturevalue("postgres_dsn"), redis_server)
    else:
        a_place = RedisPlace(redis_server)
    yield a_place
    a_place.close()


@pytest.fixture(scope="module")
def _staff(request):
    """Starts a place with a prefork worker, once for each kind of server."""
    with ExitStack() as stack:
        staffed = {}

        def start(jobs_in):
            if jobs_in in staffed:
                return staffed[jobs_in]
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ar")))
            server = stack.enter_context(RedisServer(folder))
            if jobs_in == "postgres":
                postgres = request.getfixturevalue("postgres_server")
                dsn = postgres.create_database("staffed")
                stack.callback(postgres.drop_database, "staffed")
                a_place = PostgresPlace(dsn, server)
            else:
                a_place = RedisPlace(server)
            stack.callback(a_place.close)
            env = a_place.with_conf(worker_send_task_events=True)
            worker = Worker("tests.support.pinlater_app", folder / "log", env=env, args=["-c2"])
            stack.enter_context(worker)
            staffed[jobs_in] = a_place
            return a_place

        yield start


@pytest.fixture
def staffed(jobs_in, _staff):
    """A place with a prefork worker whose claims are short; its queue is emptied first."""
    a_place = _staff(jobs_in)
    a_place.shard.drop("celery")
    a_place.client.delete("notes", "gate is open")
    return a_place


@pytest.fixture
def own_place(jobs_in, request, own_redis, redis_url):
    """A broker on servers that only this test uses and may break; notes are kept elsewhere."""
    if jobs_in == "postgres":
        server = request.getfixturevalue("own_postgres")
        a_place = PostgresPlace(server.dsn, own_redis, redis_url, server)
    else:
        a_place = RedisPlace(own_redis, redis_url)
    yield a_place
    a_place.close()
