"""A Celery app for tests, which records what it does in a Redis list."""

from __future__ import annotations

import json
import os
import time

import redis
from celery import Celery

import pinlater  # noqa: F401  registers pinlater://
from pinlater.worker import RunLater, at_least_once, follow

BROKER = os.environ.get("ARAGOG_TEST_BROKER", "memory://")
NOTES = os.environ.get("ARAGOG_TEST_NOTES", "")
RESULTS = os.environ.get("ARAGOG_TEST_RESULTS") or None

CLAIM_TIMEOUT_S = 5.0
"""For tests in which a claim expires. A worker that a busy machine pauses for three seconds keeps its
claims."""


def make(broker: str, results: str | None = None, **conf) -> Celery:
    app = Celery("pinlater_app", broker=broker, backend=results, set_as_current=False)
    app.conf.update(
        {
            "task_acks_late": True,
            "task_reject_on_worker_lost": True,
            "broker_connection_retry_on_startup": True,
            "worker_cancel_long_running_tasks_on_connection_loss": False,
        }
        | conf
    )
    return app


app = make(BROKER, RESULTS, **json.loads(os.environ.get("ARAGOG_TEST_CONF", "{}")))


if os.environ.get("ARAGOG_TEST_AT_LEAST_ONCE"):
    at_least_once(app)
elif not os.environ.get("ARAGOG_TEST_PLAIN_CELERY"):
    follow(app)


def note(text: str) -> None:
    with redis.Redis.from_url(NOTES) as client:
        client.rpush("notes", text)


@app.task(name="add")
def add(a, b):
    return a + b


@app.task(name="total")
def total(numbers):
    return sum(numbers)


@app.task(name="fail")
def fail():
    raise ValueError("as asked")


@app.task(name="peers", bind=True)
def peers(self):
    """Return how many tasks run, according to the workers."""
    active = self.app.control.inspect(timeout=60, limit=1).active() or {}
    return sum(map(len, active.values()))


@app.task(name="say", ignore_result=True)
def say(text, nap_s=0.0):
    note(text)
    time.sleep(nap_s)
    if nap_s:
        note(f"{text} done")


@app.task(name="gated", ignore_result=True)
def gated(number):
    """Wait until the gate is open."""
    with redis.Redis.from_url(NOTES) as client:
        client.rpush("notes", number)
        while not client.exists("gate is open"):
            time.sleep(0.5)


@app.task(name="lateness", ignore_result=True)
def lateness(due_s):
    note(str(time.time() - due_s))


@app.task(name="stubborn", bind=True, max_retries=3)
def stubborn(self):
    if self.request.retries < 2:
        raise self.retry(countdown=0.2)
    return self.request.retries


@app.task(name="dogged", bind=True, ignore_result=True, max_retries=None)
def dogged(self, text):
    """Retry with Celery's own retry until `enough` is set."""
    note(text)
    with redis.Redis.from_url(NOTES) as client:
        if not client.exists("enough"):
            raise self.retry(countdown=0)
    note(f"{text} done")


@app.task(name="boom", ignore_result=True)
def boom():
    note("boom")
    raise ValueError("as asked")


@app.task(name="moody", ignore_result=True, broker_retries=True)
def moody():
    note("moody")
    raise ValueError("not in the mood")


@app.task(name="later", bind=True, ignore_result=True)
def later(self):
    # Other brokers only tell that it is not the first attempt.
    again = self.request.delivery_info.get("redelivered") or "x-delivery-count" in (
        self.request.headers or {}
    )
    attempt = self.request.properties.get("pinlater") or 1 + bool(again)
    note(f"attempt {attempt}")
    if attempt < 2:
        raise RunLater("not yet", delay_s=0.1)


@app.task(name="suicide", ignore_result=True)
def suicide():
    note("suicide")
    os.kill(os.getpid(), 9)


@app.task(name="refuse", bind=True, ignore_result=True)
def refuse(self, requeue_until=1):
    from celery.exceptions import Reject

    attempt = self.request.properties["pinlater"]
    note(f"attempt {attempt}")
    raise Reject("as asked", requeue=attempt < requeue_until)
