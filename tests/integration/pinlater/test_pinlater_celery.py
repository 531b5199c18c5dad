"""Unmodified Celery workers on `pinlater://`: one worker of each pool, and what users rely on."""

import time

import pytest

from aragog.pinlater.address import of_socket
from tests.support.celery_worker import Worker
from tests.support.pinlater_app import make

pytestmark = pytest.mark.redis


@pytest.fixture
def env(redis_server, redis_url):
    return {
        "ARAGOG_TEST_BROKER": of_socket(redis_server.socket),
        "ARAGOG_TEST_NOTES": redis_url,
        "ARAGOG_TEST_RESULTS": f"redis+socket://{redis_server.socket}",
    }


@pytest.fixture
def app(env):
    with make(env["ARAGOG_TEST_BROKER"], env["ARAGOG_TEST_RESULTS"]) as app:
        yield app


@pytest.fixture
def notes(redis_client):
    return lambda: [note.decode() for note in redis_client.lrange("notes", 0, -1)]


@pytest.mark.parametrize("pool", ["prefork", "threads", "solo"])
def test_a_worker_runs_tasks_now_later_and_again(pool, env, app, notes, tmp_path):
    with Worker("tests.support.pinlater_app", tmp_path / "log", env=env, args=["-P", pool, "-c2"]):
        now = app.send_task("add", (1, 2))
        later = app.send_task("add", (3, 4), countdown=0.5)
        began_s = time.monotonic()
        again = app.send_task("stubborn")

        assert now.get(timeout=20) == 3
        assert later.get(timeout=20) == 7
        assert time.monotonic() - began_s >= 0.4
        assert again.get(timeout=20) == 2
