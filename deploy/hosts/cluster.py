"""The servers of a cluster on its hosts, and the commands that an operator runs there."""

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
from deploy.hosts.processes import WITHIN_S, Processes
from deploy.s3.server import ACCESS_KEY, SECRET_KEY, binary

PASSWORD = "not-a-secret"  # noqa: S105 - of servers that nobody else reaches
HBASE, POSTGRES, S3 = 9090, 5432, 7070
BUCKET = "pages"
PYTHON = (sys.executable, "-P")
ARAGOG = (*PYTHON, "-m", "aragog.cli")


def download(engine: str) -> None:
    """Fetch and build what the servers need: the hosts reach nothing but each other."""
    print("fetching the programs of the servers, unless they are here …", flush=True)
    if engine == "hbase":
        jars()
    binary()


def redis_url(address: str, port: int, scheme: str = "redis") -> str:
    """The URL of a Redis server of `Cluster.redis`."""
    return f"{scheme}://:{PASSWORD}@{address}:{port}/0"


def s3_settings(address: str) -> dict[str, str]:
    """The settings for the content that the S3 server of this address stores."""
    return {
        "ARAGOG_CONTENT__ENGINE": "s3",
        "ARAGOG_CONTENT__S3_BUCKET": BUCKET,
        "ARAGOG_CONTENT__S3_ENDPOINT": f"http://{address}:{S3}",
        "ARAGOG_CONTENT__S3_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
    }


def store_settings(engine: str, address: str) -> dict[str, str]:
    """The settings for the tables that HBase or PostgreSQL of this address stores."""
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
    """The hosts of a network, with what runs on them."""

    network: Network
    run: Processes

    def redis(self, host: str, name: str, port: int) -> None:
        """Start a Redis server with a password that keeps its data over a restart."""
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
        """What `aragog …` prints on a host; exits if it fails."""
        return self.run.run(host, *ARAGOG, *arguments)

    def worker(self, host: str, role: str, *options: str) -> None:
        """Start a worker of a role, or beat."""
        self.run.start(host, role, *PYTHON, "-m", "aragog.workers", role, *options)

    def create_tables(self, host: str) -> str:
        """Create the tables; why that failed, or empty."""
        done = self.run.tried(host, *ARAGOG, "store", "create-tables")
        return (done.stderr.strip().splitlines() or ["it fails"])[-1] if done.returncode else ""

    def ailing(self, host: str, *options: str) -> str:
        """What `aragog doctor` finds wrong on a host; empty if nothing."""
        done = self.run.tried(host, *ARAGOG, "doctor", "--json", *options)
        if done.returncode == 0:
            return ""
        findings = json.loads(done.stdout) if done.stdout else []
        wrong = [f"{each['part']}: {each['text']}" for each in findings if not each["ok"]]
        return "; ".join(wrong) or done.stderr.strip() or f"exit {done.returncode}"

    def in_flight(self, host: str) -> str:
        """How many URLs are neither stored nor given up; empty if none."""
        count = int(json.loads(self.aragog(host, "status", "--json"))["in_flight"])
        return f"{count} URLs in flight" if count else ""


def until(what: str, missing: Callable[[], str], within_s: float = WITHIN_S) -> None:
    """
    Wait until nothing is missing any more; exits if that takes too long.

    Prints what is waited for, what is missing whenever that changes, and how long it took.
    """
    print(f"waiting: {what} …", flush=True)
    began_s, before = time.monotonic(), ""
    while reason := missing():
        if reason != before:
            print(f"         {reason}", flush=True)
        if time.monotonic() - began_s > within_s:
            raise SystemExit(f"not within {within_s} s: {what}: {reason}")
        before = reason
        time.sleep(0.5)
    print(f"{time.monotonic() - began_s:6.1f} s  {what}", flush=True)
