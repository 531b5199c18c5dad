"""Jobs from Go and Java to Python workers and back, with a kill -9 of each."""

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack

import pytest

from aragog.runtime.clock import ManualClock
from pinlater.admin import Admin
from pinlater.cluster import Cluster
from tests.support.celery_worker import ROOT, Worker
from tests.support.job_places import PostgresPlace, RedisPlace
from tests.support.missing_parts import GO, MAVEN, skip_without
from tests.support.stores import store_harness
from tests.support.thrift_server import generated, running
from tests.support.waiting import wait_until
from zengraph.tables.memory import MemoryTables

pytestmark = [pytest.mark.redis, pytest.mark.slow]

COUNT = int(os.environ.get("ARAGOG_EXCHANGED_JOBS", "400"))
"""Jobs in each direction; `make test` exchanges few."""
WITHIN_S = 120 + COUNT / 10
QUICK_START = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
"""Options of a JVM that runs for seconds: it compiles less."""
EXAMPLES = ROOT / "examples"
GO_MODULE = """module aragog.test/client

go 1.21

require github.com/apache/thrift v0.17.0
"""


def run(command, folder, **environ):
    return subprocess.run(
        command, cwd=folder, env=os.environ | environ, capture_output=True, text=True, check=False,
        timeout=300,
    )  # fmt: skip


def built(command, folder, **environ):
    done = run(command, folder, **environ)
    assert done.returncode == 0, done.stdout + done.stderr


def go_program(folder):
    """The command that runs examples/thrift_go/jobs, and its address."""
    generated("go", folder)
    if shutil.which("go") is None:
        skip_without(GO)
    shutil.copytree(folder / "gen-go" / "urlstore", folder / "urlstore")
    for client in (folder / "urlstore").glob("*-remote"):
        shutil.rmtree(client)
    shutil.copy(EXAMPLES / "thrift_go" / "jobs" / "main.go", folder)
    (folder / "go.mod").write_text(GO_MODULE)
    built(["go", "build", "-o", "jobs", "."], folder, GOFLAGS="-mod=mod", GOTOOLCHAIN="local")
    return lambda verb, port, *rest: [folder / "jobs", verb, f"127.0.0.1:{port}", *rest]


def java_program(folder):
    """The same for examples/thrift_java."""
    if shutil.which("mvn") is None or shutil.which("javac") is None:
        skip_without(MAVEN)
    shutil.copytree(EXAMPLES / "thrift_java", folder, dirs_exist_ok=True)
    generated("java:generated_annotations=suppress", folder)
    shutil.copytree(folder / "gen-java" / "org", folder / "src" / "main" / "java" / "org")
    package = ["-q", "-B", "package", "dependency:copy-dependencies"]
    options = {"MAVEN_OPTS": " ".join(QUICK_START)}
    # Once Maven has its downloads, it works without a network, which may be slow.
    if run(["mvn", "-o", *package], folder, **options).returncode:
        built(["mvn", *package], folder, **options)
    classes = f"{folder}/target/classes:{folder}/target/dependency/*"
    words = ["java", *QUICK_START, "-Xmx64m", "-cp", classes, "Jobs"]
    return lambda verb, port, *rest: [*words, verb, "127.0.0.1", str(port), *rest]


@pytest.fixture(scope="module")
def program(request, tmp_path_factory):
    make = {"go": go_program, "java": java_program}[request.param]
    return make(tmp_path_factory.mktemp(request.param))


@pytest.fixture
def place(request, redis_server, redis_url):
    if request.param == "redis":
        a_place = RedisPlace(redis_server)
    else:
        a_place = PostgresPlace(request.getfixturevalue("postgres_dsn"), redis_server)
    yield a_place
    a_place.close()


class Started:
    """A process that is killed without warning and restarted."""

    def __init__(self, command, log, environ):
        self._command, self._log, self._environ = command, log, environ
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [str(word) for word in self._command], cwd=ROOT, env=os.environ | self._environ,
            stdout=self._log.open("ab"), stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip

    def kill(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def numbers(file):
    return [int(line) for line in file.read_text().split()] if file.exists() else []


@pytest.mark.parametrize("program", ["go", "java"], indirect=True)
@pytest.mark.parametrize("place", ["redis", "postgres"], indirect=True)
def test_every_job_is_done_once_despite_killing_each_side(program, place, tmp_path):
    squares, pages, log = (tmp_path / name for name in ("squares", "pages", "log"))
    options = place.with_conf()["ARAGOG_TEST_CONF"]
    options = json.loads(options)["broker_transport_options"]
    environ = {
        "BROKER": place.broker,
        "BROKER_OPTIONS": json.dumps(options),
        "SQUARES": str(squares),
    }
    cluster = Cluster([place.shard])
    store = store_harness(MemoryTables(ManualClock())).store
    python_worker = Worker(
        "examples.job_exchange.app", tmp_path / "worker", env=environ, args=["-Q", "squares", "-c2"]
    )
    with ExitStack() as stack:
        server = stack.enter_context(running(store, cluster=cluster))
        python_worker.start()
        stack.callback(python_worker.kill)

        def started(*command):
            process = Started(command, log, environ)
            stack.callback(process.kill)
            return process

        produce = [sys.executable, "-m", "examples.job_exchange.produce", "0", str(COUNT)]
        producers = [
            started(*program("produce", server.port, "squares", "square", "0", str(COUNT))),
            started(*produce),
        ]
        worker = started(*program("work", server.port, "pages", pages))
        wait_until(
            lambda: min(len(numbers(file)) for file in (squares, pages)) > COUNT / 10, WITHIN_S
        )
        for killed in (worker, *producers, python_worker):
            killed.kill()
        for again in (worker, *producers, python_worker):
            again.start()

        everything = set(range(COUNT))
        wait_until(lambda: set(numbers(squares)) == everything, WITHIN_S, otherwise=log.read_text)
        wait_until(lambda: set(numbers(pages)) == everything, WITHIN_S, otherwise=log.read_text)
        for producer in producers:
            assert producer.process.wait(WITHIN_S) == 0, log.read_text()[-2000:]
        admin = Admin(cluster)

        def left():
            sizes = [admin.status(queue).sizes for queue in ("squares", "pages")]
            return sum(size.pending + size.running for size in sizes)

        wait_until(lambda: left() == 0, WITHIN_S, otherwise=log.read_text)
        states = [admin.status(queue) for queue in ("squares", "pages")]
    assert [state.sizes.failed for state in states] == [0, 0]
    assert [state.settings["doors"] for state in states] == [3, 3]
