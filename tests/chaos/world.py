"""The system under test: its servers, its processes, and ways to break them."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aragog.bootstrap.redis_services import redis_client
from aragog.client import Aragog
from aragog.crawl.pipeline.spool import Spool
from aragog.errors import ALL, SlowDown
from aragog.standalone.redis_server import RedisServer
from aragog.standalone.supervisor import die_with_parent
from tests.chaos import parts
from tests.chaos.origin import ChaosOrigin, chaos_origin
from tests.chaos.producer import ACCEPTED, FaultProducer
from tests.support.small_disk import SmallDisk
from tests.support.standalone import Standalone, free_port, standalone

WORKERS = ("fetch", "canonicalize", "store")
CLAIM_TIMEOUT_S = 10
QPS = 10.0
CHUNK = 500
MEASURE_EVERY_S = 2.0
HELD_BACK_EVERY = 10
"""One of this many URLs is enqueued while something is broken."""
USER_AGENT = "aragog-chaos/1.0 (+http://127.0.0.1/)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The requirements of a scenario: sizes, servers, settings."""

    urls: int = 20_000
    domains: int = 300
    extra_shards: int = 0
    limiter_nodes: int = 0
    limiter_first: int | None = None
    """The number of limiter nodes that the workers know at the start; None for all."""
    poison: int = 0
    disk_mb: int = 0
    """The size of a separate file system for all data of the system; 0 for none."""
    own_broker: bool = False
    """True if the broker's first server is not that of `redis.url`."""
    cluster: bool = False
    """True for HBase and S3 instead of SQLite and a folder."""
    second_host: bool = False
    environ: Mapping[str, str] = field(default_factory=dict)
    frontends: tuple[str, ...] = ("beat",)


@dataclass
class World:
    """A running crawl. `enqueue_some` and `check` keep it running while parts are broken."""

    plan: Plan
    origin: ChaosOrigin
    folder: Path
    system: Standalone
    client: Aragog
    spool: Spool
    shards: list[RedisServer]
    limiters: list[RedisServer]
    rng: random.Random
    pending: list[str]
    settings_file: Path
    producer: FaultProducer
    broker: RedisServer | None = None
    """The broker's first server, if it is a separate one."""
    disk: SmallDisk | None = None
    cluster: parts.Cluster | None = None
    cable: str = ""
    """The device that connects the second host, if there is one."""
    extra_workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    """Workers outside the supervisor."""
    accepted: list[str] = field(default_factory=list)
    faults: int = 0
    last_fault_s: float = 0.0
    measured_s: float = 0.0
    memory_bytes: dict[str, int] = field(default_factory=dict)
    """The peak resident set by command line."""
    slow_downs: int = 0
    """The number of SlowDown errors that producers got."""
    spool_share: float = 0.0
    """The peak share of the spool's bound that was in use."""
    stored_at: list[tuple[float, int]] = field(default_factory=list)
    """(monotonic second, pages stored so far), to measure when nothing was stored."""

    # -- Running

    def enqueue_some(self) -> None:
        """Enqueue the next URLs. Refused ones are tried again later, as producers do."""
        if not self.pending:
            return
        chunk = self.pending[:CHUNK]
        try:
            results = self.client.enqueue(chunk)
        except SlowDown:
            self.slow_downs += 1
        except ALL:
            return
        else:
            self.accepted += [r.input for r in results if r.status in ACCEPTED]
            self.pending[: len(chunk)] = [r.input for r in results if r.status not in ACCEPTED]

    def check(self) -> None:
        """Restart processes that died, and record memory and progress."""
        self.system.supervisor.check()
        if time.monotonic() > self.measured_s + MEASURE_EVERY_S:
            self.measured_s = time.monotonic()
            for pid, command in processes_of(self.folder):
                used_bytes = resident_bytes(pid)
                self.memory_bytes[command] = max(self.memory_bytes.get(command, 0), used_bytes)
        with contextlib.suppress(*ALL):
            state, bounds = self.spool.state(), self.spool.bounds()
            self.spool_share = max(self.spool_share, state.used_bytes / bounds.max_bytes)
        stored = self.client.counters().get("stored", 0)
        self.stored_at.append((time.monotonic(), stored))

    def in_flight(self) -> int | None:
        """Return the number of unfinished URLs, or None while Redis does not answer."""
        try:
            return self.client.in_flight() + len(self.pending) + len(self.producer.pending)
        except (*ALL, OSError):
            return None

    # -- Breaking

    def begin_fault(self, count: int = 1) -> None:
        """Count a fault that is injected now."""
        self.faults += count
        self.last_fault_s = time.monotonic()
        self.producer.begin_fault()

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a child and its children, if it is running."""
        child = self.system.child(name)
        if child.process is not None and child.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.process.pid, number)

    def kill(self, name: str) -> None:
        self.signal(name, signal.SIGKILL)
        self.begin_fault()

    def run_worker(self, *command: str, **environ: str) -> None:
        """Run one more worker, outside the supervisor."""
        with (self.folder / "logs" / f"other{len(self.extra_workers)}.log").open("ab") as log:
            self.extra_workers.append(
                subprocess.Popen(
                    command or (sys.executable, "-m", "aragog.workers", "fetch"),
                    env={**self.system.environ, **environ},
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    preexec_fn=die_with_parent,  # noqa: PLW1509 - no threads fork here
                )
            )

    def end_fault(self) -> None:
        """Record that the last fault ended now."""
        self.last_fault_s = time.monotonic()
        self.producer.end_fault()

    def end_of_faults(self) -> None:
        """Enqueue what the producer did not get accepted, because all faults are over."""
        self.end_fault()
        self.pending += self.producer.stop()
        self.accepted += self.producer.accepted


def resident_bytes(pid: int) -> int:
    """Return the resident set of a process, or 0 if it has ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def processes_of(folder: Path) -> Iterator[tuple[int, str]]:
    """Yield (process id, command line) of each process with this data folder in its environment."""
    variable = f"ARAGOG_DATA_DIR={folder}\0".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if variable in (entry / "environ").read_bytes() + b"\0":
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                if command:
                    yield int(entry.name), command
        except OSError:
            continue  # it has ended


def urls_of(plan: Plan) -> list[str]:
    """Return the URLs of a plan, one of each domain in turn."""
    urls = [f"http://d{n % plan.domains}-chaos.test/{n // plan.domains}" for n in range(plan.urls)]
    return urls + [f"http://poison{n}-chaos.test/poison" for n in range(plan.poison)]


class SharedRedis(RedisServer):
    """A redis-server that the second host can reach."""

    def command(self) -> list[str]:
        arguments = super().command()
        index = arguments.index("--bind") + 1
        return [
            *arguments[:index],
            "127.0.0.1",
            parts.LOCAL_ADDRESS,
            *arguments[index + 1 :],
            "--protected-mode",
            "no",
        ]


@contextlib.contextmanager
def world(plan: Plan, seed: int = 0) -> Iterator[World]:
    """Start origin, servers and system. Everything is removed afterwards."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="arc")))
        data_dir = folder / "data"
        data_dir.mkdir()
        cable = stack.enter_context(parts.second_host()) if plan.second_host else ""
        origin = stack.enter_context(chaos_origin())
        disk = (
            stack.enter_context(parts.small_disk(data_dir, plan.disk_mb)) if plan.disk_mb else None
        )
        cluster = stack.enter_context(parts.cluster(folder)) if plan.cluster else None

        def server(name: str, server_class: type[RedisServer] = RedisServer) -> RedisServer:
            return stack.enter_context(
                server_class(folder / name, port=free_port(), persistent=True)
            )

        shards = [server(f"shard{n}") for n in range(plan.extra_shards)]
        limiters = [server(f"limiter{n}") for n in range(plan.limiter_nodes)]
        settings_file = folder / "aragog.toml"
        first = ", ".join(f'"{node.url}"' for node in limiters[: plan.limiter_first])
        settings_file.write_text(f"[politeness]\nlimiter_urls = [{first}]\n")
        environ = {
            **_environ(origin, shards),
            "ARAGOG_SETTINGS": str(settings_file),
            **(cluster.environ() if cluster else {}),
            **plan.environ,
        }
        if plan.second_host:
            shared = server("shared", SharedRedis)
            environ["ARAGOG_REDIS__URL"] = shared.url
            environ["ARAGOG_BROKER__URL"] = shared.url.replace("redis://", "pinlater://")
        broker = server("broker") if plan.own_broker else None
        if broker:
            environ["ARAGOG_REDIS__URL"] = server("shared").url
            environ["ARAGOG_BROKER__URL"] = broker.url.replace("redis://", "pinlater://")
        system = stack.enter_context(standalone(environ, frontends=plan.frontends, folder=data_dir))
        client = stack.enter_context(Aragog(system.settings))
        resolved = system.settings.resolved()
        server_client = stack.enter_context(redis_client(resolved))
        urls = urls_of(plan)
        producer = FaultProducer(resolved, urls[::HELD_BACK_EVERY])
        stack.callback(producer.stop)
        del urls[::HELD_BACK_EVERY]
        a_world = World(
            plan, origin, data_dir, system, client, Spool(
                server_client, prefix=resolved.redis.prefix, max_bytes=resolved.pipeline.spool_max_bytes
            ), shards, limiters,
            random.Random(seed), urls, settings_file, producer, broker, disk, cluster, cable,
        )  # fmt: skip
        stack.callback(_kill_all, a_world.extra_workers)
        yield a_world


def _environ(origin: ChaosOrigin, shards: list[RedisServer]) -> dict[str, str]:
    """Return the settings of every scenario."""
    return {
        "ARAGOG_FETCH__HOST_MAP": f"*.test=127.0.0.1:{origin.port}",
        "ARAGOG_FETCH__ALLOWED_NETWORKS": "127.0.0.0/8",
        "ARAGOG_FETCH__USER_AGENT": USER_AGENT,
        "ARAGOG_FETCH__READ_TIMEOUT_S": "3",
        "ARAGOG_BROKER__CLAIM_TIMEOUT_S": str(CLAIM_TIMEOUT_S),
        "ARAGOG_BROKER__SHARDS": ",".join(shard.url for shard in shards),
        "ARAGOG_POLITENESS__QPS": str(QPS),
        "ARAGOG_POLITENESS__ROBOTS_ERROR_S": "2",
        "ARAGOG_PIPELINE__RETRY_FIRST_S": "2",
        "ARAGOG_PIPELINE__MAX_ATTEMPTS": "10",
        "ARAGOG_PIPELINE__PAGE_MAX_CPU_S": "1",
        # Bodies of killed fetches are freed this long after their last use, at the next sweep.
        "ARAGOG_PIPELINE__SPOOL_TTL_S": "45",
    }


def _kill_all(others: list[subprocess.Popen[bytes]]) -> None:
    for process in others:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
