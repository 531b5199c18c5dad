"""The examples in the README work, and every form of broker URL is accepted."""

import doctest
import re
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from celery import current_app

from pinlater import gates
from pinlater.brokers import of_socket, redis_urls
from pinlater.redis.connect import connect
from pinlater.redis_shard import RedisShard

README = (Path(__file__).resolve().parents[1] / "README.md").read_text("utf-8")
WRITTEN = "pinlater://localhost:6379/0"


def blocks(language):
    return re.findall(rf"^ *```{language}\n(.*?)^ *```", README, re.DOTALL | re.MULTILINE)


@pytest.fixture
def broker(redis_server, redis_client):
    return of_socket(redis_server.socket)


@pytest.fixture
def names():
    """The namespace of a program that follows the README, with its own Celery app."""
    usual = current_app._get_current_object()
    found: dict[str, Any] = {"__name__": "__main__", "there_is_room": lambda: False}
    yield found
    gates.put("celery", None)
    found["app"].close()
    usual.set_current()


def run(text, names):
    """Runs an example; returns doctest's report of unexpected output."""
    test = doctest.DocTestParser().get_doctest(text, names, "README.md", "README.md", 0)
    wrong: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=wrong.append, clear_globs=False)
    names.update(test.globs)
    return "".join(wrong)


@pytest.mark.redis
def test_readme_examples_work(broker, redis_client, names, tmp_path, capsys):
    first, body = blocks("pycon")
    promise, unique, gate, types = blocks("python")
    (section,) = blocks("toml")
    (tmp_path / "jobs.toml").write_text(section)
    shard = RedisShard(redis_client)

    report = run(first.replace(WRITTEN, broker), names)
    names["admin"].resume("celery")
    exec(re.sub(r"^  ", "", promise, flags=re.MULTILINE), names)
    exec(unique, names)
    exec(gate, names)
    with chdir(tmp_path):
        exec(types, names)

    assert report + run(body, names) == ""
    assert names["app"].conf.task_acks_late
    assert capsys.readouterr().out == "[False, True]\n"
    assert (shard.sizes("celery").due, shard.sizes("celery").later) == (1, 2)
    assert gates.allowance("celery").lowest == gates.NOTHING
    kind = names["jobs"].types["thumbnail"]
    assert (kind.queue, kind.cluster, kind.doors) == ("images", "bulk", ["http", "thrift"])
    assert kind.policy()["max_attempts"] == 11


def forms():
    """Each form of URL, with and without the optional parts."""
    (text,) = blocks("text")
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
