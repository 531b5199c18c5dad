"""celery-pinlater, installed alone beside a user's application."""

import json
import subprocess
import urllib.request
from contextlib import suppress

import pytest

from pinlater.brokers import of_socket
from tests.support import wheels
from tests.support.documented import blocks
from tests.support.standalone import free_port
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.slow]

APP = """
import os, sys
from celery import Celery

app = Celery("theirs", broker=os.environ["CELERY_BROKER_URL"])

if "flower" in sys.argv:
    from pinlater.flower import install

    install()

@app.task
def add(a, b):
    return a + b

if __name__ == "__main__":
    add.apply_async((1, 2), countdown=3600)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return wheels.build(tmp_path_factory.mktemp("pinlater"), wheels.ROOT / "packages" / "pinlater")


@pytest.fixture(scope="module")
def bin_(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("clean")
    env = wheels.without_compiler(folder)
    return wheels.install(folder / "venv", f"{wheel}[flower]", env=env)


def test_wheel_installs_one_name_and_nothing_of_aragog(wheel, bin_):
    assert wheels.top_level(wheel) == {"pinlater"}
    reported = subprocess.run(
        [bin_ / "python", "-P", "-c", "import aragog"], capture_output=True, check=False
    )
    assert reported.returncode == 1


def test_pip_installs_it_as_in_the_readme(wheel, tmp_path):
    (command,) = blocks("packages/pinlater/README.md", "sh", "pip")

    venv = wheels.pip_installs(command, [wheel], tmp_path)

    assert wheels.from_files(venv) == {wheel.name}
    wheels.run(venv / "bin" / "pinlater", "--help", cwd=tmp_path)


def test_broker_url_works_without_an_import_and_the_command_shows_its_queue(
    bin_, tmp_path, redis_server, redis_url
):
    (tmp_path / "theirs.py").write_text(APP)
    env = {"PATH": str(bin_), "CELERY_BROKER_URL": of_socket(redis_server.socket)}

    wheels.run(bin_ / "python", "theirs.py", cwd=tmp_path, env=env)
    reported = wheels.run(bin_ / "pinlater", "list", "--json", cwd=tmp_path, env=env)

    (queue,) = json.loads(reported.stdout)
    assert (queue["queue"], queue["later"]) == ("celery", 1)


def test_flower_shows_its_queues_and_jobs(bin_, tmp_path, redis_server, redis_url):
    (tmp_path / "theirs.py").write_text(APP)
    env = {"PATH": str(bin_), "CELERY_BROKER_URL": of_socket(redis_server.socket)}
    wheels.run(bin_ / "python", "theirs.py", cwd=tmp_path, env=env)
    port = free_port()
    flower = subprocess.Popen(
        [bin_ / "celery", "-A", "theirs", "flower", "--address=127.0.0.1", f"--port={port}"],
        cwd=tmp_path, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip

    def get(path):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with suppress(urllib.error.URLError):
            return opener.open(f"http://127.0.0.1:{port}{path}", timeout=60).read().decode()

    try:
        wait_until(lambda: get("/healthcheck"))
        (queue,) = json.loads(get("/pinlater/queues.json"))
        jobs = json.loads(get("/pinlater/jobs.json?queue=celery&state=pending"))["jobs"]
        pages = [
            get(path) for path in ("/pinlater/queues", "/pinlater/jobs?queue=celery", "/broker")
        ]
    finally:
        flower.terminate()
        flower.wait()

    assert (queue["queue"], queue["later"]) == ("celery", 1)
    assert [job["name"] for job in jobs] == ["theirs.add"]
    assert all('aria-current="page"' in page and "celery" in page for page in pages)
    assert "aragog" not in "".join(pages)
