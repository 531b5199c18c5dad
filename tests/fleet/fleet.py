"""Start and restart the processes of a fleet, and check that they work."""

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
"""Queues by role: two workers per machine, because each costs a second of CPU to start."""
MAX_START_S = 300.0
POLL_S = 0.05


@dataclass
class Fleet:
    """All hosts and their processes."""

    layout: Layout
    cluster: Cluster
    folder: Path

    # -- Starting

    def start_servers(self) -> None:
        """Start the data servers and the web."""
        for name, port in REDIS.items():
            self.cluster.redis("data", name, port)
        self.cluster.store("data", self.layout.engine)
        self.cluster.s3("data")
        self.cluster.run.start("web", "web", *PYTHON, "-m", "tests.fleet.web", str(WEB_PORT))

    def start_apis(self) -> None:
        """Start the API machines and the balancer in front of them."""
        servers = {host: f"{self.layout.addresses[host]}:{API_PORT}" for host in APIS}
        for host in APIS:
            environ = {"ARAGOG_SERVING__HOST": self.layout.addresses[host]}
            self.cluster.run.start(host, "api", *ARAGOG, "serve", **environ)
        command = balancer.command(self.folder, f"{FRONT}:{API_PORT}", servers.values())
        self.cluster.run.start("front", "nginx", *command)

    def start_workers(self) -> None:
        """Start the workers of all hosts, and beat on the first host."""
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

    # -- Restarting

    def restart_workers(self, host: str) -> str:
        """Restart the processes of a worker machine with a warm shutdown. Returns the result."""
        run, names = self.cluster.run, self.cluster.run.names(host)
        log_before = self.log_lengths(host)
        started_s = time.monotonic()
        killed = run.restart(*names)
        ended_s = time.monotonic()
        self.wait(lambda: self.are_workers_ready(host, log_before), f"the workers of {host}")
        if killed:
            raise SystemExit(f"did not end after SIGTERM: {', '.join(killed)}")
        return (
            f"{len(names)} processes ended in {ended_s - started_s:.1f} s, "
            f"were ready after {time.monotonic() - ended_s:.1f} s more"
        )

    def restart_api(self, host: str) -> str:
        """Restart an API machine. Returns the result."""
        run, (name,) = self.cluster.run, self.cluster.run.names(host)
        started_s = time.monotonic()
        if killed := run.restart(name):
            raise SystemExit(f"did not end after SIGTERM: {', '.join(killed)}")
        ended_s = time.monotonic()
        self.wait(lambda: self.api_ready(host), f"the API of {host}")
        return (
            f"drained in {ended_s - started_s:.1f} s, "
            f"was ready after {time.monotonic() - ended_s:.1f} s more"
        )

    def restart_redis(self, name: str) -> str:
        """Restart a Redis server, which keeps its data. Returns the result."""
        started_s = time.monotonic()
        self.cluster.run.restart(f"data-{name}")
        self.wait(lambda: self.redis_ready(name), name)
        return f"away for {time.monotonic() - started_s:.1f} s"

    def restart_store(self) -> str:
        """Restart the server of the tables; PostgreSQL with a fast shutdown. Returns the result."""
        engine = self.layout.engine
        signal_number = signal.SIGINT if engine == "postgres" else signal.SIGTERM
        started_s = time.monotonic()
        self.cluster.run.restart(f"data-{engine}", signal_number=signal_number)
        self.wait(lambda: all(map(self.api_ready, APIS)), engine)
        return f"away for {time.monotonic() - started_s:.1f} s"

    def restart_s3(self) -> str:
        """Restart the server of the content. Returns the result."""
        started_s = time.monotonic()
        self.cluster.run.restart("data-s3")
        return f"ended in {time.monotonic() - started_s:.1f} s"

    def kill(self) -> None:
        """Kill everything except the data servers."""
        hosts = (*self.layout.workers, *APIS, "front", "web")
        run = self.cluster.run
        run.stop(
            *(name for host in hosts for name in run.names(host)), signal_number=signal.SIGKILL
        )

    # -- Watching

    def wait(self, is_done: Callable[[], bool], label: str, within_s: float = MAX_START_S) -> None:
        """Wait until `is_done()`. Exits if that takes too long or a process ends in the meantime."""
        deadline_s = time.monotonic() + within_s
        while not is_done():
            if exits := self.cluster.run.unexpected_exits():
                raise SystemExit(f"{label}: {', '.join(exits)}")
            if time.monotonic() > deadline_s:
                raise SystemExit(f"{label}: not within {within_s:.0f} s")
            time.sleep(POLL_S)

    def log_lengths(self, host: str) -> dict[str, int]:
        """Return the length of each worker's log on a host."""
        return {role: len(self._log(host, role)) for role in QUEUES}

    def are_workers_ready(self, host: str, log_before: dict[str, int] | None = None) -> bool:
        """Return True if all workers of a host have logged that they are ready, after `log_before`."""
        offsets = log_before or dict.fromkeys(QUEUES, 0)
        return all(" ready." in self._log(host, role)[offsets[role] :] for role in QUEUES)

    def count_batches(self, host: str) -> int:
        """Return how many batches a host's fetch worker has fetched."""
        return self._log(host, "fetch").count(" succeeded in ")

    def api_ready(self, host: str) -> bool:
        """Return True if an API machine accepts reads."""
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
        """Return True if a Redis server answers."""
        try:
            with redis.Redis.from_url(redis_url(DATA, REDIS[name])) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def clock_offsets(self) -> Iterator[tuple[str, float]]:
        """Yield how many seconds each worker machine's clock is ahead of this process's clock."""
        for host in self.layout.workers:
            local_s = time.time()
            remote_s = float(self.cluster.run.run(host, *PYTHON, "-c", "import time; print(time.time())"))  # fmt: skip
            yield host, remote_s - local_s

    def _log(self, host: str, role: str) -> str:
        return self.cluster.run.log(host, role).read_text(errors="replace")
