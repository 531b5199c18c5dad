"""The programs of examples/, run as in their docstrings, each in its real framework."""

import ast
import json
import re
import shlex
import shutil
import socket
import subprocess
import sys
import urllib.request
from contextlib import contextmanager, suppress

import pytest

from tests.support.celery_worker import Worker
from tests.support.documented import ROOT
from tests.support.producer import producer_home
from tests.support.standalone import free_port
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.slow]


@pytest.fixture
def home():
    with producer_home() as home_folder:
        yield home_folder


def command(name, start):
    """The arguments of the command that begins with `start` in an example's docstring."""
    docstring = ast.get_docstring(ast.parse((ROOT / "examples" / name).read_text()))
    (line,) = [line for line in docstring.splitlines() if line.strip().startswith(start)]
    return shlex.split(re.sub(r" {2,}\(.*", "", line))


def test_celery_task_enqueues_its_url_from_a_worker(home, tmp_path):
    _, _, app, _, *arguments = command("celery_producer.py", "celery -A")
    send = f"from {app} import look_at; look_at.delay('http://shop.example/worker')"

    with Worker(app, tmp_path / "log", env=home.environ, args=[*arguments, "-c1"]):
        subprocess.run([sys.executable, "-c", send], env=home.environ, cwd=ROOT, check=True)

        assert wait_until(lambda: "http://shop.example/worker" in home.messages())


@contextmanager
def serving(argv, port, environ):
    """A server that listens on a port until the block ends."""
    process = subprocess.Popen(argv, env=environ, cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: process.poll() is not None or listens(port))
        yield
    finally:
        process.terminate()
        process.wait()


def listens(port):
    with suppress(OSError):
        socket.create_connection(("127.0.0.1", port)).close()
        return True


def test_fastapi_service_accepts_urls_under_uvicorn(home):
    port = free_port()
    argv = [sys.executable, "-m", *command("fastapi_producer.py", "uvicorn"), "--port", str(port)]
    body = json.dumps({"urls": ["http://shop.example/uvicorn", "none"]}).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/links", body, {"Content-Type": "application/json"}
    )

    with serving(argv, port, home.environ), urllib.request.urlopen(request) as reply:
        results = json.loads(reply.read())

    assert (reply.status, [result["status"] for result in results]) == (
        202,
        ["accepted", "invalid"],
    )
    assert home.urls() == ["http://shop.example/uvicorn"]


def test_nightly_batch_runs_from_cron(home, tmp_path):
    words = command("nightly.py", "30 2")[5:]
    line = shlex.join(words).replace("'&&'", "&&").replace("/srv/lists", str(tmp_path))
    shutil.copy(ROOT / "examples" / "nightly.py", tmp_path)
    (tmp_path / "list.txt").write_text("http://shop.example/1\n\nhttp://shop.example/2\n")

    line = line.replace("/opt/aragog/bin/python", sys.executable)
    printed = subprocess.check_output(["sh", "-c", line], env=home.environ, text=True)

    assert printed == "2 accepted\n"
    assert sorted(home.urls()) == ["http://shop.example/1", "http://shop.example/2"]
