"""The processes of a fleet: how each kind starts, is restarted, and shows that it works."""

from __future__ import annotations

import http.client
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import redis

from deploy.hosts.cluster import ARAGOG, PYTHON, Cluster, redis_url
from tests.fleet import balancer
from tests.fleet.layout import API_PORT, APIS, DATA, FRONT, REDIS, WEB_PORT, Layout

QUEUES = {"fetch": "fetch,robots,upkeep,watches,webhooks", "canonicalize": "canonicalize,store"}
"""The workers of a machine, by role: two for all queues, because each costs a second of CPU to start."""
READY_WITHIN_S = 300.0
EVERY_S = 0.05


@dataclass
class Fleet:
    """All hosts, and what runs on them."""

    layout: Layout
    cluster: Cluster
    folder: Path

    # -- starting

    def start_servers(self) -> None:
        """Start what holds data, and the web."""
        for name, port in REDIS.items():
            self.cluster.redis("data", name, port)
        self.cluster.store("data", self.layout.engine)
        self.cluster.s3("data")
        self.cluster.run.start("web", "web", *PYTHON, "-m", "tests.fleet.web", str(WEB_PORT))

    def start_apis(self) -> None:
        """Start the API machines and the balancer in front of them."""
        servers = {host: f"{self.layout.addresses[host]}:{API_PORT}" for host in APIS}
        for host in APIS:
            own = {"ARAGOG_SERVING__HOST": self.layout.addresses[host]}
            self.cluster.run.start(host, "api", *ARAGOG, "serve", **own)
        front = balancer.command(self.folder, f"{FRONT}:{API_PORT}", servers.values())
        self.cluster.run.start("front", "nginx", *front)

    def start_workers(self) -> None:
        """Start the workers of all hosts, and beat on the first."""
        for host in self.layout.workers:
            for role, queues in QUEUES.items():
                self.cluster.worker(
                    host,
                    role,
                    "--queues",
                    queues,
                    "--concurrency",
                    "2" if role == "canonicalize" else "16",
                )
        beat = self.layout.workers[0]
        self.cluster.worker(beat, "beat", "--schedule", str(self.folder / "beat"))

    # -- restarting

    def restart_workers(self, host: str) -> str:
        """Restart the processes of a worker machine with a warm shutdown; what was seen."""
        run, names = self.cluster.run, self.cluster.run.names(host)
        before = self.logged(host)
        began_s = time.monotonic()
        killed = run.restart(*names)
        ended_s = time.monotonic()
        self.wait(lambda: self.working(host, before), f"the workers of {host}")
        if killed:
            raise SystemExit(f"did not end after SIGTERM: {', '.join(killed)}")
        return (
            f"{len(names)} processes ended in {ended_s - began_s:.1f} s, "
            f"were ready after {time.monotonic() - ended_s:.1f} s more"
        )

    def restart_api(self, host: str) -> str:
        """Restart an API machine; what was seen."""
        run, (name,) = self.cluster.run, self.cluster.run.names(host)
        began_s = time.monotonic()
        if killed := run.restart(name):
            raise SystemExit(f"did not end after SIGTERM: {', '.join(killed)}")
        ended_s = time.monotonic()
        self.wait(lambda: self.api_ready(host), f"the API of {host}")
        return (
            f"drained in {ended_s - began_s:.1f} s, "
            f"was ready after {time.monotonic() - ended_s:.1f} s more"
        )

    def restart_redis(self, name: str) -> str:
        """Restart a Redis server, which keeps its data; what was seen."""
        began_s = time.monotonic()
        self.cluster.run.restart(f"data-{name}")
        self.wait(lambda: self.redis_ready(name), name)
        return f"away for {time.monotonic() - began_s:.1f} s"

    def restart_store(self) -> str:
        """Restart the server of the tables: PostgreSQL in its fast way; what was seen."""
        engine = self.layout.engine
        number = signal.SIGINT if engine == "postgres" else signal.SIGTERM
        began_s = time.monotonic()
        self.cluster.run.restart(f"data-{engine}", signal_number=number)
        self.wait(lambda: all(map(self.api_ready, APIS)), engine)
        return f"away for {time.monotonic() - began_s:.1f} s"

    def restart_s3(self) -> str:
        """Restart the server of the content; what was seen."""
        began_s = time.monotonic()
        self.cluster.run.restart("data-s3")
        return f"ended in {time.monotonic() - began_s:.1f} s"

    def kill(self) -> None:
        """Kill everything but the servers of the data."""
        hosts = (*self.layout.workers, *APIS, "front", "web")
        run = self.cluster.run
        run.stop(
            *(name for host in hosts for name in run.names(host)), signal_number=signal.SIGKILL
        )

    # -- watching

    def wait(self, done: Callable[[], bool], what: str, within_s: float = READY_WITHIN_S) -> None:
        """Wait until it is done; exits if that takes too long or a process ends in the meantime."""
        until_s = time.monotonic() + within_s
        while not done():
            if ended := self.cluster.run.unexpected_exits():
                raise SystemExit(f"{what}: {', '.join(ended)}")
            if time.monotonic() > until_s:
                raise SystemExit(f"{what}: not within {within_s:.0f} s")
            time.sleep(EVERY_S)

    def logged(self, host: str) -> dict[str, int]:
        """How long the log of each worker of a host is."""
        return {role: len(self._log(host, role)) for role in QUEUES}

    def working(self, host: str, before: dict[str, int] | None = None) -> bool:
        """Whether all workers of a host have reported that they are ready, after that much log."""
        since = before or dict.fromkeys(QUEUES, 0)
        return all(" ready." in self._log(host, role)[since[role] :] for role in QUEUES)

    def succeeded(self, host: str) -> int:
        """How many batches a host's fetch worker has fetched."""
        return self._log(host, "fetch").count(" succeeded in ")

    def api_ready(self, host: str) -> bool:
        """Whether an API machine takes reads."""
        try:
            connection = http.client.HTTPConnection(
                self.layout.addresses[host], API_PORT, timeout=2
            )
            connection.request("GET", "/readyz")
            status = connection.getresponse().status
            connection.close()
        except (OSError, http.client.HTTPException):
            return False
        return status == 200

    def redis_ready(self, name: str) -> bool:
        """Whether a Redis server answers."""
        try:
            with redis.Redis.from_url(redis_url(DATA, REDIS[name])) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def wall_clocks(self) -> Iterator[tuple[str, float]]:
        """How many seconds the clock of each worker machine is ahead of this process's clock."""
        for host in self.layout.workers:
            here_s = time.time()
            there_s = float(self.cluster.run.run(host, *PYTHON, "-c", "import time; print(time.time())"))  # fmt: skip
            yield host, there_s - here_s

    def _log(self, host: str, role: str) -> str:
        return self.cluster.run.log(host, role).read_text(errors="replace")
