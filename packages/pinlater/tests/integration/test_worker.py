"""A worker of an application that uses only this library: `celery -A shop worker`."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
import support
from click.testing import CliRunner
from support.shop import BLOCKING, DUE, app
from support.waiting import wait_until

from pinlater.__main__ import main
from pinlater.admin import Admin
from pinlater.brokers import of_socket
from pinlater.models import JobState

pytestmark = [pytest.mark.redis, pytest.mark.slow]

PLACES = ["redis", "postgres"]


class Shop:
    """The broker of an application, its log of runs, and its workers."""

    def __init__(self, folder, broker, options):
        self.folder, self.broker, self.notes = folder, broker, folder / "notes"
        self.options = {"claim_timeout_s": 2, **options}
        self._workers = []

    def worker(self, *args):
        path = Path(next(iter(support.__path__))).parent
        environ = os.environ | {
            "SHOP_BROKER": self.broker, "SHOP_NOTES": str(self.notes), "PYTHONPATH": str(path),
            "C_FORCE_ROOT": "1",
        }  # fmt: skip
        code = (
            "import json, sys; from support.shop import app; "
            "app.conf.broker_transport_options = json.loads(sys.argv.pop(1)); "
            "app.worker_main(['worker', *sys.argv[1:]])"
        )
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", code, json.dumps(self.options), "-l", "WARNING", *args],
            env=environ, start_new_session=True, stdout=subprocess.DEVNULL,
            stderr=(self.folder / "log").open("ab"),
        )  # fmt: skip
        self._workers.append(process)
        return process

    def send(self, name, *args, **options):
        with app.connection_for_write(self.broker, transport_options=self.options) as connection:
            app.send_task(name, args, connection=connection, **options)

    def noted(self):
        return self.notes.read_text().splitlines() if self.notes.exists() else []

    def log(self):
        return (self.folder / "log").read_text()[-3000:]

    def kill(self, worker):
        """Kills the worker and its pool, as if its host had died."""
        with suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()

    def close(self):
        for worker in self._workers:
            self.kill(worker)


@pytest.fixture(params=PLACES)
def shop(request, tmp_path, redis_server, redis_client):
    if request.param == "redis":
        broker, options = of_socket(redis_server.socket), {}
    else:
        server = request.getfixturevalue("postgres_server")
        dsn = server.create_database(f"shop_{tmp_path.name.replace('-', '_')[-40:]}".lower())
        broker, options = f"pinlater+{dsn}", {"control": redis_server.url}
    a_shop = Shop(tmp_path, broker, options)
    yield a_shop
    a_shop.close()


def test_task_waits_on_the_server_until_it_is_due(shop):
    shop.send(DUE, time.time() + 3, countdown=3)
    shop.send(DUE, time.time() + 3600, countdown=3600)
    shop.worker("-P", "threads", "-c", "2")
    wait_until(shop.noted, otherwise=shop.log)
    admin = Admin.connect(shop.broker)
    wait_until(lambda: admin.status("celery").sizes.succeeded == 1, otherwise=shop.log)

    ((name, late_s),) = [line.split() for line in shop.noted()]
    (waiting,) = admin.jobs("celery", JobState.PENDING)
    assert name == DUE
    assert float(late_s) > -0.05
    assert waiting.attempts == 0  # no worker has claimed it


def test_job_of_a_killed_worker_runs_again(shop):
    gate = shop.folder / "gate"
    shop.send(BLOCKING, str(gate))
    worker = shop.worker("-P", "prefork", "-c", "1")
    wait_until(lambda: shop.noted() == [f"{BLOCKING} begun"], otherwise=shop.log)
    shop.kill(worker)
    gate.touch()
    shop.worker("-P", "prefork", "-c", "1")
    wait_until(lambda: f"{BLOCKING} done" in shop.noted(), otherwise=shop.log)

    assert shop.noted() == [f"{BLOCKING} begun", f"{BLOCKING} begun", f"{BLOCKING} done"]


def test_command_shows_and_changes_the_queues_of_the_broker(shop):
    # A separate queue: a process announces each queue to the server only once.
    shop.send(DUE, 0.0, countdown=3600, queue="orders")

    def run_command(*args):
        result = CliRunner().invoke(main, ["--broker", shop.broker, *args])
        assert result.exit_code == 0, result.output
        return result.stdout

    (queue,) = json.loads(run_command("list", "--json"))
    assert (queue["queue"], queue["later"]) == ("orders", 1)
    assert run_command("pause", "orders") == "orders is paused\n"
    assert "paused" in run_command("list")
    assert run_command("purge", "orders", "--yes") == "1 jobs deleted\n"
