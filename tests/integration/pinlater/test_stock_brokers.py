"""The same tasks on brokers that users already have; only the URL differs."""

import json

import pytest
import redis

from pinlater.brokers import celery_settings
from tests.support.celery_worker import Worker
from tests.support.pinlater_app import make
from tests.support.waiting import wait_until


def plain(settings):
    return {name: value for name, value in settings.items() if name != "broker_url"}


def runs_plain_tasks(broker, notes_url, tmp_path):
    conf = plain(celery_settings(broker))
    env = {
        "ARAGOG_TEST_BROKER": broker,
        "ARAGOG_TEST_NOTES": notes_url,
        "ARAGOG_TEST_CONF": json.dumps(conf),
    }
    with (
        redis.Redis.from_url(notes_url) as client,
        make(broker, **conf) as app,
        Worker("tests.support.pinlater_app", tmp_path / "log", env=env, args=["-c2"]),
    ):
        app.send_task("say", ("now",), priority=3, unique_key="not known here")
        app.send_task("say", ("later",), countdown=1.0)
        app.send_task("later")
        wait_until(lambda: client.llen("notes") >= 4)
        return sorted(note.decode() for note in client.lrange("notes", 0, -1))


@pytest.mark.redis
def test_tasks_run_on_stock_redis(redis_server, redis_url, tmp_path):
    notes = runs_plain_tasks(f"redis+socket://{redis_server.socket}", redis_url, tmp_path)

    assert notes == ["attempt 1", "attempt 2", "later", "now"]


@pytest.mark.rabbitmq
@pytest.mark.redis
def test_tasks_run_on_rabbitmq_with_quorum_queues(rabbitmq, redis_url, tmp_path):
    notes = runs_plain_tasks(rabbitmq.url, redis_url, tmp_path)

    assert notes == ["attempt 1", "attempt 2", "later", "now"]
