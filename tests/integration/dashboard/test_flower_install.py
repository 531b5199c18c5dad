"""Flower is patched only in its own process, once, and only if its version is known."""

import http.client
import os
import subprocess
import sys
from contextlib import closing, suppress

from tests.support.standalone import free_port
from tests.support.waiting import wait_until

DANGEROUS = (
    "/api/worker/shutdown/w",
    "/api/worker/queue/cancel-consumer/w?queue=fetch",
    "/api/task/async-apply/aragog.fetch",
    "/api/task/revoke/t",
)

IN_FLOWER = """
import flower, logging
from aragog.dashboard.flower import install
from aragog.bootstrap.dashboard import components
from aragog.settings import BrokerSettings, Settings, StoreSettings

logging.disable()
here = components(Settings(broker=BrokerSettings(url="memory://"), store=StoreSettings(engine="memory")))
known, flower.__version__ = flower.__version__, "3.0"
assert install(here, str) is False
from flower.urls import handlers
before = len(handlers)
flower.__version__ = known
assert install(here, str) is True
added = len(handlers) - before
assert added == 11, added
assert install(here, str) is True
assert len(handlers) - before == added
assert handlers[-1][0] == ".*"
from flower.utils.broker import Broker
assert type(Broker("redis://localhost/0")).__name__ == "Redis"
assert type(Broker("pinlater://localhost/0")).__name__ == "PinLaterBroker"
"""

IN_A_WORKER = """
import sys

from tests.support.standalone import free_port
import aragog.workers.app, aragog.workers.services
heavy = {"flower", "tornado", "prometheus_client"} & set(sys.modules)
assert not heavy, heavy
"""


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_second_install_and_unknown_version_change_nothing():
    done = run(IN_FLOWER)

    assert done.returncode == 0, done.stderr


def test_worker_imports_nothing_of_flower():
    done = run(IN_A_WORKER)

    assert done.returncode == 0, done.stderr


def test_flower_without_a_login_listens_on_loopback_only(tmp_path):
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("ARAGOG_", "FLOWER_"))}
    done = subprocess.run(
        [
            *(sys.executable, "-m", "celery", "-A", "workers.app", "flower"),
            *("--address=0.0.0.0", f"--port={free_port()}"),
        ],
        env={**environ, "ARAGOG_DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.returncode == 1
    assert "FLOWER_BASIC_AUTH" in done.stderr


def test_flower_api_refuses_callers_without_a_login(tmp_path, own_redis):
    """The API can end workers. FLOWER_UNAUTHENTICATED_API opens it, but only on loopback."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("ARAGOG_", "FLOWER_"))}
    environ |= {"ARAGOG_DATA_DIR": str(tmp_path), "ARAGOG_REDIS__URL": own_redis.url}
    port, log = free_port(), tmp_path / "log"
    with log.open("wb") as out:
        flower = subprocess.Popen(
            [sys.executable, *["-m", "celery", "-A", "workers.app", "flower"], f"--port={port}"],
            env=environ | {"ARAGOG_BROKER__URL": f"pinlater+socket://{own_redis.socket}"},
            stdout=out,
            stderr=out,
        )
    try:

        def status(method, path):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
            with closing(connection), suppress(ConnectionRefusedError):
                connection.request(method, path)
                return connection.getresponse().status

        wait_until(lambda: status("GET", "/healthcheck"), otherwise=log.read_text)
        answers = {path: status("POST", path) for path in DANGEROUS}
    finally:
        flower.terminate()
        flower.wait()

    assert answers == dict.fromkeys(DANGEROUS, 401)
