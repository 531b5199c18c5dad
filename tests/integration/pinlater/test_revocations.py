"""Revoked tasks that wait on the server, and replies to callers that have died."""

from itertools import dropwhile, islice

import pytest

from pinlater.transport.queues import CONTROL_REPLY_TTL_MS, reply_ttl_ms
from pinlater.transport.revocations import MAX_IDS, Revocations, get_revoked_ids
from tests.support.celery_worker import Worker
from tests.support.job_places import on_both
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.postgres]

APP = "tests.support.pinlater_app"
THREE_HOURS_MS = 3 * 3_600_000
THREADS = ("-P", "threads", "-c2")


def finished(place, tmp_path, count):
    """Let three hours pass, then run a new worker until `count` jobs have ended."""
    place.pass_ms(THREE_HOURS_MS)
    with Worker(APP, tmp_path / "later.log", env=place.with_conf(), args=THREADS):
        wait_until(lambda: place.shard.sizes("celery").succeeded == count)


@on_both
def test_revoked_task_does_not_run_after_a_worker_restart(own_place, tmp_path):
    with Worker(APP, tmp_path / "first.log", env=own_place.with_conf(), args=THREADS):
        revoked = own_place.app.send_task("say", ("revoked",), countdown=3 * 3600)
        own_place.app.send_task("say", ("kept",), countdown=3 * 3600)
        assert own_place.app.control.revoke(revoked.id, reply=True, timeout=120, limit=1)

    finished(own_place, tmp_path, count=2)
    assert own_place.notes() == ["kept"]


def test_task_revoked_while_no_worker_ran_does_not_run(own_place, tmp_path):
    tasks = [own_place.app.send_task("say", (name,), countdown=3 * 3600) for name in "abc"]
    own_place.app.control.revoke([task.id for task in tasks[:2]])

    finished(own_place, tmp_path, count=3)
    assert own_place.notes() == ["c"]


def test_server_keeps_a_limited_number_of_revocations(redis_client):
    revocations = Revocations("a:")
    for first in range(0, MAX_IDS + 2000, 1000):
        revocations.add(redis_client, [f"task-{n}" for n in range(first, first + 1000)])
    assert redis_client.zcard("a:pl1:revoked") == MAX_IDS
    assert redis_client.pttl("a:pl1:revoked") > 0


def test_reply_to_a_dead_caller_expires(own_place, tmp_path):
    with Worker(APP, tmp_path / "log", env=own_place.with_conf(), args=THREADS):
        with own_place.app.connection() as connection:
            # A caller that ends before reading: its reply is pushed all the same.
            box = own_place.app.control.mailbox(connection)
            key = f"{box.oid}.{box.reply_exchange.name}"
            ping = {"reply_ticket": "0f", "channel": connection.default_channel}
            # Repeat until it is answered: a broadcast reaches only current listeners.
            wait_until(
                lambda: own_place.client.exists(key),
                every_s=1.0,
                meanwhile=lambda: box._publish("ping", {}, **ping),
            )
        assert 0 < own_place.client.pttl(key) <= CONTROL_REPLY_TTL_MS


def test_killed_sender_leaves_no_reply_without_expiry(own_place):
    queue = "0a.reply.celery.pidbox"
    message = {"body": "", "headers": {}, "properties": {"delivery_tag": "1"}}
    with own_place.app.connection() as connection:
        channel = connection.default_channel
        with own_place.client.monitor() as monitor:
            channel._put(queue, message)
            named = (each["command"].split()[0].upper() for each in monitor.listen())
            names = list(islice(dropwhile(lambda name: name != "MULTI", named), 3))
        assert names == ["MULTI", "LPUSH", "PEXPIRE"]
        assert 0 < own_place.client.pttl(queue) <= CONTROL_REPLY_TTL_MS


@pytest.mark.parametrize(
    ("queue", "is_kept"),
    [
        ("celery", None),
        ("reply.celery.pidbox.of-mine", None),
        ("0a.reply.celery.pidbox", 3_600_000),
        ("0af1c2d3-0000-4000-8000-123456789abc", 7 * 86_400_000),
    ],
)
def test_only_reply_lists_expire(queue, is_kept):
    assert reply_ttl_ms(queue) == is_kept


@pytest.mark.parametrize(
    ("exchange", "body", "ids"),
    [
        ("celery.pidbox", '{"method": "revoke", "arguments": {"task_id": "a"}}', ["a"]),
        ("celery.pidbox", '{"method": "revoke", "arguments": {"task_id": ["a", "b"]}}', ["a", "b"]),
        ("celery.pidbox", '{"method": "ping", "arguments": {}}', []),
        (
            "celery.pidbox",
            '{"method": "revoke", "arguments": {"task_id": "a"}, "destination": ["w@h"]}',
            [],
        ),
        ("celeryev", '{"method": "revoke", "arguments": {"task_id": "a"}}', []),
    ],
)
def test_revoking_broadcast_names_its_tasks(exchange, body, ids):
    assert get_revoked_ids(exchange, {"content-type": "application/json", "body": body}) == ids
