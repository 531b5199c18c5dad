"""The README of pinlater: its examples run, and every form of broker URL is accepted."""

import re
from typing import Any

import pytest
from celery import current_app

from pinlater import gates
from pinlater.brokers import redis_urls
from pinlater.models import JobState
from pinlater.redis.connect import connect
from tests.support.documented import blocks

README = "packages/pinlater/src/pinlater/README.md"


@pytest.mark.redis
def test_the_examples_do_what_they_say(place, capsys):
    delayed, promise, unique, gate = blocks(README, "python")
    usual = current_app._get_current_object()
    names: dict[str, Any] = {"there_is_room": lambda: False}

    exec(delayed.replace("pinlater://localhost:6379/0", place.broker), names)
    (waiting,) = place.shard.jobs("celery", JobState.PENDING, limit=9)
    exec(promise, names)
    exec(unique, names)
    exec(gate, names)
    try:
        closed = gates.opening("celery")
    finally:
        gates.put("celery", None)
        names["app"].close()
        usual.set_current()  # the example's app is that of nobody else

    assert names["app"].conf.task_acks_late
    assert waiting.due_at_ms - waiting.created_at_ms == pytest.approx(3 * 3_600_000, abs=60_000)
    assert place.shard.sizes("celery").due == 1
    assert capsys.readouterr().out == "[False, True]\n"
    assert closed.lowest == gates.NOTHING


def forms():
    """Each form of URL, without the parts in brackets and with them."""
    (text,) = blocks(README, "text")
    written = dict(line.split()[0].split("://") for line in text.splitlines())
    for scheme, form in written.items():
        whole = written[scheme.removesuffix("s")] if form == "…" else form
        shortest = whole
        while "[" in shortest:
            shortest = re.sub(r"\[[^][]*\]", "", shortest)
        yield f"{scheme}://{shortest}"
        yield (
            f"{scheme}://{whole}".translate(str.maketrans("", "", "[]…"))
            .replace(":port", ":7000")
            .replace("/db", "/3")
        )


@pytest.mark.parametrize("url", dict.fromkeys(forms()))
def test_every_form_of_url_is_accepted(url):
    urls = redis_urls(url)

    assert len(urls) == (1 if "+" in url else 1 + url.count(","))
    for each in urls:
        connect(each).close()
