"""Run the servers of a cluster on its hosts, and an operator's commands there."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from aragog.standalone.postgres_server import PostgresServer
from aragog.standalone.redis_server import find_redis_server
from deploy.hbase.server import jars
from deploy.hosts.network import Network
from deploy.hosts.processes import MAX_RUN_S, Processes
from deploy.s3.server import ACCESS_KEY, SECRET_KEY, binary

PASSWORD = "not-a-secret"  # noqa: S105 - nobody else can reach these servers
HBASE, POSTGRES, S3 = 9090, 5432, 7070
BUCKET = "pages"
PYTHON = (sys.executable, "-P")
ARAGOG = (*PYTHON, "-m", "aragog.cli")


def download(engine: str) -> None:
    """Fetch and build what the servers need, because the hosts can only reach each other."""
    print("downloading the servers' programs, unless they exist …", flush=True)
    if engine == "hbase":
        jars()
    binary()


def redis_url(address: str, port: int, scheme: str = "redis") -> str:
    """Return the URL of a server started by `Cluster.redis`."""
    return f"{scheme}://:{PASSWORD}@{address}:{port}/0"


def s3_settings(address: str) -> dict[str, str]:
    """Return the settings for content in the S3 server at this address."""
    return {
        "ARAGOG_CONTENT__ENGINE": "s3",
        "ARAGOG_CONTENT__S3_BUCKET": BUCKET,
        "ARAGOG_CONTENT__S3_ENDPOINT": f"http://{address}:{S3}",
        "ARAGOG_CONTENT__S3_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
    }


def store_settings(engine: str, address: str) -> dict[str, str]:
    """Return the settings for tables in HBase or PostgreSQL at this address."""
    if engine == "hbase":
        return {
            "ARAGOG_STORE__ENGINE": "hbase",
            "ARAGOG_STORE__HBASE_GATEWAYS": f"{address}:{HBASE}",
        }
    return {
        "ARAGOG_STORE__ENGINE": "postgres",
        "ARAGOG_STORE__DSN": f"postgresql://aragog@{address}:{POSTGRES}/postgres",
    }


@dataclass(frozen=True)
class Cluster:
    """The hosts of a network and their processes."""

    network: Network
    run: Processes

    def redis(self, host: str, name: str, port: int) -> None:
        """Start a Redis server with a password, which keeps its data over a restart."""
        folder = self.run.folder(host) / name
        folder.mkdir()
        self.run.start(
            host, name, str(find_redis_server().path), "--port", str(port),
            "--bind", self.network.hosts[host],
            "--requirepass", PASSWORD, "--maxmemory", "100mb", "--maxmemory-policy", "noeviction",
            "--save", "", "--appendonly", "yes", "--dir", str(folder),
        )  # fmt: skip

    def store(self, host: str, engine: str) -> None:
        """Start the server of the tables."""
        folder, address = self.run.folder(host) / engine, self.network.hosts[host]
        if engine == "hbase":
            argv = ("-m", "deploy.hbase", "--folder", str(folder), "--port", str(HBASE))
            self.run.start(host, engine, *PYTHON, *argv)
            self.forward(host, f"{address}:{HBASE}", f"127.0.0.1:{HBASE}")
            return
        postgres = PostgresServer(
            folder, port=POSTGRES, address=address, clients=self.network.network
        )
        postgres.prepare()
        self.run.start(host, engine, *postgres.command())

    def s3(self, host: str) -> None:
        """Start the server of the content."""
        folder = self.run.folder(host) / "s3"
        self.run.start(host, "s3", *PYTHON, "-m", "deploy.s3", "--folder", str(folder),
                       "--port", str(S3), "--bucket", BUCKET)  # fmt: skip
        self.forward(host, f"{self.network.hosts[host]}:{S3}", f"127.0.0.1:{S3}")

    def forward(self, host: str, listen: str, target: str) -> None:
        """Run a forwarder on a host."""
        argv = (*PYTHON, "-m", "deploy.hosts.forward", listen, target)
        self.run.start(host, f"forward-{listen}", *argv)

    def aragog(self, host: str, *arguments: str) -> str:
        """Return the output of `aragog …` on a host. Exits if it fails."""
        return self.run.run(host, *ARAGOG, *arguments)

    def worker(self, host: str, role: str, *options: str) -> None:
        """Start a worker of a role, or beat."""
        self.run.start(host, role, *PYTHON, "-m", "aragog.workers", role, *options)

    def create_tables(self, host: str) -> str:
        """Create the tables. Returns why that failed, or an empty string."""
        process = self.run.try_run(host, *ARAGOG, "store", "create-tables")
        return (
            (process.stderr.strip().splitlines() or ["it failed"])[-1] if process.returncode else ""
        )

    def doctor_problems(self, host: str, *options: str) -> str:
        """Return the problems that `aragog doctor` reports on a host, or an empty string."""
        process = self.run.try_run(host, *ARAGOG, "doctor", "--json", *options)
        if process.returncode == 0:
            return ""
        findings = json.loads(process.stdout) if process.stdout else []
        failed = [
            f"{finding['part']}: {finding['text']}" for finding in findings if not finding["ok"]
        ]
        return "; ".join(failed) or process.stderr.strip() or f"exit {process.returncode}"

    def in_flight(self, host: str) -> str:
        """Return how many URLs are neither stored nor abandoned, or an empty string if none."""
        count = int(json.loads(self.aragog(host, "status", "--json"))["in_flight"])
        return f"{count} URLs in flight" if count else ""


def wait_until(label: str, find_missing: Callable[[], str], within_s: float = MAX_RUN_S) -> None:
    """
    Wait until nothing is missing. Exits if that takes too long.

    Prints the label, what is missing whenever that changes, and how long it took.
    """
    print(f"waiting: {label} …", flush=True)
    started_s, previous = time.monotonic(), ""
    while reason := find_missing():
        if reason != previous:
            print(f"         {reason}", flush=True)
        if time.monotonic() - started_s > within_s:
            raise SystemExit(f"not within {within_s} s: {label}: {reason}")
        previous = reason
        time.sleep(0.5)
    print(f"{time.monotonic() - started_s:6.1f} s  {label}", flush=True)
