"""The app of the queue scenarios. Its tasks write to a Redis list."""

from __future__ import annotations

import json
import os
import time

import redis

from pinlater.worker import follow
from tests.support.pinlater_app import make

NOTES = os.environ.get("REPORTS_NOTES", "")
app = make(
    os.environ.get("REPORTS_BROKER", "memory://"),
    os.environ.get("REPORTS_RESULTS") or None,
    **json.loads(os.environ.get("REPORTS_CONF", "{}")),
)
follow(app)


def note(text):
    with redis.Redis.from_url(NOTES) as client:
        client.rpush("notes", f"{text}")


@app.task(name="b.say", ignore_result=True)
def say(text, nap_s=0.0):
    note(text)
    time.sleep(nap_s)
    if nap_s:
        note(f"{text} done")


@app.task(name="b.sum")
def add_all(numbers):
    return sum(numbers)


@app.task(name="b.mul")
def mul(a, b):
    return a * b


@app.task(name="b.inc")
def inc(a, by=1):
    return a + by


@app.task(name="b.boom")
def boom(*_):
    raise ValueError("as asked")


@app.task(name="b.flaky", bind=True, max_retries=3, default_retry_delay=1)
def flaky(self, until):
    note(f"try {self.request.retries} {time.time():.1f}")
    if self.request.retries < until:
        raise self.retry(exc=ValueError("not yet"))
    return self.request.retries
