"""
Ctrl-C in the middle of a crawl, as sent by a terminal, followed by another `up`: nothing is lost.
"""

import os
import re
import signal
import subprocess
import sys
from collections import Counter

import pytest

from aragog.bootstrap.stores import url_store
from aragog.client import Aragog
from aragog.errors import BrokerUnavailable
from aragog.settings import load_settings
from aragog.settings.in_use import running_pid
from tests.support.standalone import free_port
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.slow]

URLS = [f"http://host{n % 20}.test/{n}" for n in range(240)]


@pytest.fixture
def environ(plain_origin, tmp_path):
    ours = {k: v for k, v in os.environ.items() if not k.startswith("ARAGOG_")}
    return ours | {
        "ARAGOG_DATA_DIR": str(tmp_path / "var"),
        "ARAGOG_SETTINGS": "",
        "ARAGOG_SERVING__HTTP_PORT": str(free_port()),
        "ARAGOG_SERVING__THRIFT_PORT": "0",
        "ARAGOG_SERVING__FLOWER_PORT": str(free_port()),
        "ARAGOG_FETCH__HOST_MAP": f"*.test={plain_origin.address}",
        "ARAGOG_FETCH__ALLOWED_NETWORKS": "127.0.0.0/8",
        "ARAGOG_FETCH__USER_AGENT": "aragog-test/1.0 (+http://127.0.0.1/)",
        "ARAGOG_POLITENESS__QPS": "0.5",
        "COLUMNS": "200",
    }


def start(environ, *arguments):
    """
    A command in the foreground of its own terminal, whose Ctrl-C reaches its whole process group.
    """
    argv = [sys.executable, "-m", "aragog.cli", *arguments]
    return subprocess.Popen(
        argv,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )


def in_flight(settings):
    try:
        with Aragog(settings) as client:
            return client.in_flight()
    except BrokerUnavailable:
        return 0


def test_up_after_ctrl_c_continues_the_crawl(plain_origin, environ, tmp_path):
    settings = load_settings(environ=environ)
    (tmp_path / "urls").write_text("\n".join(URLS))

    process = start(environ, "run", str(tmp_path / "urls"))
    wait_until(lambda: len(plain_origin.seen) > 60 and 0 < in_flight(settings) < len(URLS))
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)

    assert (process.returncode, err) == (130, "")
    left = int(re.search(r"(\d+) URLs are still waiting; .* up` continues with them", out)[1])
    assert 0 < left < len(URLS)
    assert running_pid(tmp_path / "var" / "run") is None

    again = start({**environ, "ARAGOG_POLITENESS__QPS": "10"}, "up")
    wait_until(lambda: running_pid(tmp_path / "var" / "run") and in_flight(settings))
    wait_until(lambda: not in_flight(settings))
    os.killpg(again.pid, signal.SIGINT)
    _, err = again.communicate(timeout=120)

    assert (again.returncode, err) == (0, "")
    store = url_store(settings)
    records = store.get_many(URLS)
    store.close()
    assert Counter(r.facts["outcome"] if r else None for r in records) == {"Fetched": len(URLS)}
