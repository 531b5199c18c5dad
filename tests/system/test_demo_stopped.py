"""The demo beside other systems, and `aragog up` after it was stopped."""

import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import closing, contextmanager

import pytest

from aragog.bootstrap.stores import url_store
from aragog.client import Aragog
from aragog.errors import BrokerUnavailable
from aragog.settings import ServingSettings, load_settings
from aragog.standalone.demo_sites import seeds
from tests.support.standalone import free_port
from tests.support.waiting import wait_until

# Pages of hosts that respond at once: with the usual settings, others are retried for minutes.
PAGES = [url for url in seeds() if url.startswith(("http://news.test/", "http://www.shop.test/"))]

pytestmark = [pytest.mark.redis, pytest.mark.slow]


@pytest.fixture
def environ(tmp_path):
    ours = {k: v for k, v in os.environ.items() if not k.startswith("ARAGOG_")}
    return {**ours, "ARAGOG_DATA_DIR": str(tmp_path / "var"), "ARAGOG_SETTINGS": os.devnull}


def aragog(environ, *arguments):
    argv = [sys.executable, "-m", "aragog.cli", *arguments]
    return subprocess.run(
        argv, env=environ, capture_output=True, text=True, timeout=150, check=False
    )


@contextmanager
def command(environ, log, *arguments):
    """A command that runs until the block ends."""
    with log.open("w") as out:
        argv = [sys.executable, "-m", "aragog.cli", *arguments]
        process = subprocess.Popen(argv, env=environ, stdout=out, stderr=out)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(120)


def in_flight(environ):
    try:
        with Aragog(load_settings(environ=environ)) as client:
            return client.in_flight()
    except BrokerUnavailable:
        return 0


def fetched(environ):
    """The stored URLs of `PAGES`."""
    with closing(url_store(load_settings(environ=environ))) as store:
        records = store.get_many(PAGES)
    good = {"Fetched", "NotModified"}  # the target of an old address is requested again
    return [r.canonical_url for r in records if r and r.facts["outcome"] in good]


@contextmanager
def usual_ports_in_use():
    """Occupies the usual ports, unless another program does already."""
    usual = ServingSettings()
    sockets = [socket.socket() for _ in range(3)]
    for sock, port in zip(
        sockets, (usual.http_port, usual.thrift_port, usual.flower_port), strict=True
    ):
        try:
            sock.bind(("127.0.0.1", port))
            sock.listen()
        except OSError:
            continue
    try:
        yield
    finally:
        for sock in sockets:
            sock.close()


def test_demo_uses_free_ports_and_up_continues_it_after_ctrl_c(environ, tmp_path):
    log = tmp_path / "log"
    with usual_ports_in_use(), command(environ, log, "run", "--keep") as demo:
        wait_until(lambda: in_flight(environ) > 20 or demo.poll() is not None)
        beside = aragog(environ, "enqueue", "https://example.com/")
        demo.send_signal(signal.SIGINT)
        demo.wait(120)
    text = log.read_text()

    assert demo.returncode == 130, text
    assert "in use" not in text
    assert re.search(r"flower: +http://127\.0\.0\.1:(?!5555)\d+", text)
    assert beside.returncode == 1
    assert "the demo is running in" in beside.stderr
    assert "accepted" not in beside.stdout
    left = int(re.search(r"(\d+) URLs are still waiting", text)[1])
    assert left

    ports = {f"ARAGOG_SERVING__{n}_PORT": str(free_port()) for n in ("HTTP", "THRIFT", "FLOWER")}
    with command({**environ, **ports}, log, "up"):
        wait_until(lambda: len(fetched(environ)) == len(PAGES), 240, otherwise=log.read_text)
        assert "also serving the demo sites" in log.read_text()
