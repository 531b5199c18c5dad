"""
The processes of a cluster on two hosts, which are network namespaces: `make two-hosts`, as root.

Host a has three Redis servers with a password, HBase, an S3 server and the demo web; both have a
worker of each role. With STORE=postgres it has PostgreSQL instead of HBase, and one Redis. The
crawl is enqueued on host b, whose workers stop in the middle of it as in a rolling upgrade. What
the servers need is downloaded before the hosts exist, which have no other network than their
cable. Exits with 1 if a check fails.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from aragog.standalone.demo_sites import seeds
from aragog.standalone.postgres_server import PostgresServer
from aragog.standalone.redis_server import find_redis_server
from aragog.workers.roles import ROLES
from deploy.hbase.server import jars
from deploy.processes import exit_on_signals
from deploy.s3.server import ACCESS_KEY, SECRET_KEY, binary
from deploy.two_hosts.network import ADDRESS, NETWORK, WITHIN_S, Processes, hosts

A = ADDRESS["a"]
PASSWORD = "not-a-secret"  # noqa: S105 - of servers that nobody else reaches
REDIS = {"jobs-1": 7001, "jobs-2": 7002, "shared": 7003}
HBASE, POSTGRES, S3, DEMO = 9090, 5432, 7070, 8099
LAMP = "http://www.shop.test/p/brass-lamp"
PYTHON = (sys.executable, "-P")
ARAGOG = (*PYTHON, "-m", "aragog.cli")


def _url(name: str, scheme: str = "redis") -> str:
    return f"{scheme}://:{PASSWORD}@{A}:{REDIS[name]}/0"


SETTINGS = {
    "ARAGOG_SETTINGS": "",
    "ARAGOG_REDIS__URL": _url("shared"),
    "ARAGOG_CONTENT__ENGINE": "s3",
    "ARAGOG_CONTENT__S3_BUCKET": "pages",
    "ARAGOG_CONTENT__S3_ENDPOINT": f"http://{A}:{S3}",
    "ARAGOG_CONTENT__S3_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": ACCESS_KEY,
    "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
    "ARAGOG_FETCH__HOST_MAP": f"*.test=127.0.0.1:{DEMO}",
    "ARAGOG_FETCH__USER_AGENT": "two-hosts/1.0 (+http://127.0.0.1/)",
    "ARAGOG_PIPELINE__RETRY_FIRST_S": "1",
    "ARAGOG_PIPELINE__MAX_ATTEMPTS": "3",
    "ARAGOG_POLITENESS__ROBOTS_ERROR_S": "2",
    "C_FORCE_ROOT": "1",
}
ENGINES = {
    "hbase": {
        "ARAGOG_STORE__ENGINE": "hbase",
        "ARAGOG_STORE__HBASE_GATEWAYS": f"{A}:{HBASE}",
        "ARAGOG_BROKER__URL": _url("jobs-1", "pinlater"),
        "ARAGOG_BROKER__SHARDS": _url("jobs-2"),
        "ARAGOG_POLITENESS__LIMITER_URLS": f"{_url('shared')},{_url('jobs-2')}",
    },
    "postgres": {
        "ARAGOG_STORE__ENGINE": "postgres",
        "ARAGOG_STORE__DSN": f"postgresql://aragog@{A}:{POSTGRES}/postgres",
        "ARAGOG_BROKER__URL": _url("shared", "pinlater"),
    },
}
"""What differs between the stores."""


def servers(run: Processes, engine: str) -> None:
    """Start what holds data, on host a, and make it reachable from host b."""
    folder = run.folder("a")
    for name in REDIS if engine == "hbase" else ("shared",):
        port = REDIS[name]
        (folder / name).mkdir()
        run.start(
            "a", name, str(find_redis_server().path), "--port", str(port), "--bind", A,
            "--requirepass", PASSWORD, "--maxmemory", "100mb", "--maxmemory-policy", "noeviction",
            "--save", "", "--appendonly", "yes", "--dir", str(folder / name),
        )  # fmt: skip
    if engine == "hbase":
        run.start("a", "hbase", *PYTHON, "-m", "deploy.hbase", "--folder", str(folder / "hbase"),
                  "--port", str(HBASE))  # fmt: skip
        forward(run, "a", f"{A}:{HBASE}", f"127.0.0.1:{HBASE}")
    else:
        postgres = PostgresServer(folder / "postgres", port=POSTGRES, address=A, clients=NETWORK)
        postgres.prepare()
        run.start("a", "postgres", *postgres.command())
    run.start("a", "s3", *PYTHON, "-m", "deploy.s3", "--folder", str(folder / "s3"),
              "--port", str(S3), "--bucket", "pages")  # fmt: skip
    run.start("a", "demo", *PYTHON, "-m", "aragog.standalone.demo_server", str(DEMO))
    for port in (S3, DEMO):
        forward(run, "a", f"{A}:{port}", f"127.0.0.1:{port}")
    forward(run, "b", f"127.0.0.1:{DEMO}", f"{A}:{DEMO}")


def forward(run: Processes, host: str, listen: str, target: str) -> None:
    """Run a forwarder on a host."""
    argv = (*PYTHON, "-m", "deploy.two_hosts.forward", listen, target)
    run.start(host, f"forward-{listen}", *argv)


def download(engine: str) -> None:
    """Fetch and build what the servers need: the hosts reach nothing but each other."""
    print("fetching the programs of the servers, unless they are here …", flush=True)
    if engine == "hbase":
        jars()
    binary()


def until(what: str, missing: Callable[[], str]) -> None:
    """
    Wait until nothing is missing any more.

    Prints what is waited for, what is missing whenever that changes, and how long it took.
    """
    print(f"waiting: {what} …", flush=True)
    began_s, before = time.monotonic(), ""
    while reason := missing():
        if reason != before:
            print(f"         {reason}", flush=True)
        if time.monotonic() - began_s > WITHIN_S:
            raise SystemExit(f"not within {WITHIN_S} s: {what}: {reason}")
        before = reason
        time.sleep(0.5)
    print(f"{time.monotonic() - began_s:6.1f} s  {what}", flush=True)


def aragog(run: Processes, host: str, *arguments: str) -> str:
    """What `aragog …` prints on a host; exits if it fails."""
    return run.run(host, *ARAGOG, *arguments)


def create_tables(run: Processes) -> str:
    """Create the tables; why that failed, or empty."""
    done = run.tried("a", *ARAGOG, "store", "create-tables")
    return (done.stderr.strip().splitlines() or ["it fails"])[-1] if done.returncode else ""


def ailing(run: Processes, host: str, *options: str) -> str:
    """What `aragog doctor` finds wrong on a host; empty if nothing."""
    done = run.tried(host, *ARAGOG, "doctor", "--json", *options)
    if done.returncode == 0:
        return ""
    findings = json.loads(done.stdout) if done.stdout else []
    wrong = [f"{each['part']}: {each['text']}" for each in findings if not each["ok"]]
    return "; ".join(wrong) or done.stderr.strip() or f"exit {done.returncode}"


def in_flight(run: Processes) -> str:
    """How many URLs are neither stored nor given up; empty if none."""
    count = int(json.loads(aragog(run, "a", "status", "--json"))["in_flight"])
    return f"{count} URLs in flight" if count else ""


def crawl(run: Processes, folder: Path, engine: str) -> None:
    """Everything from an empty store to a page that both hosts read."""
    servers(run, engine)
    until(f"{engine} has the tables", partial(create_tables, run))
    # Before the workers start, which take all cores for a while.
    for host in ADDRESS:
        what = f"doctor finds the servers from host {host}"
        until(what, partial(ailing, run, host, "--no-workers"))
    for host in ADDRESS:
        for role in ROLES:
            run.start(host, role, *PYTHON, "-m", "aragog.workers", role)
    run.start(
        "a", "beat", *PYTHON, "-m", "aragog.workers", "beat", "--schedule", str(folder / "beat")
    )
    run.start("b", "http", *ARAGOG, "serve")
    until("doctor finds the workers from host b", partial(ailing, run, "b"))

    (folder / "urls.txt").write_text("\n".join(seeds()))
    print(aragog(run, "b", "enqueue", str(folder / "urls.txt"), "--depth", "1").strip())
    until("both hosts fetch", partial(idle_hosts, run))
    for role in ROLES:
        run.stop(f"b-{role}")
    print("the workers of host b are stopped")
    until("host a fetches and stores the rest", partial(in_flight, run))
    for host in ADDRESS:
        page = json.loads(aragog(run, host, "show", LAMP, "--json"))
        print(f"host {host}: {page['fields']['page.title']}, {page['fields']['product.price']}")
        if page["fields"]["product.price"] != "89.90":
            raise SystemExit(f"host {host} reads another price")
    content = aragog(run, "b", "content", LAMP)
    if "<title>Brass reading lamp</title>" not in content:
        raise SystemExit("host b reads other content")


def idle_hosts(run: Processes) -> str:
    """The hosts whose workers have fetched no batch yet; empty if all have."""
    jobs = aragog(
        run, "a", "queue", "jobs", "fetch", "--state", "succeeded", "--json", "-n", "1000"
    )
    busy = {job["worker"].partition(":")[0] for job in json.loads(jobs)}
    return ", ".join(sorted({f"host-{host}" for host in ADDRESS} - busy))


def main() -> None:
    """Run it in a temporary folder; the logs are printed when it fails."""
    if os.geteuid() != 0:
        raise SystemExit("two hosts need root, to make network namespaces")
    engine = os.environ.get("ARAGOG_STORE__ENGINE") or "hbase"
    if engine not in ENGINES:
        raise SystemExit(f"STORE: {engine} is not for several hosts: {' or '.join(ENGINES)}")
    exit_on_signals(143)  # everything that runs is stopped
    download(engine)
    with tempfile.TemporaryDirectory(prefix="ar") as made:
        folder = Path(made)
        try:
            with hosts(), Processes(folder, SETTINGS | ENGINES[engine]) as run:
                crawl(run, folder, engine)
        except SystemExit:
            for log in sorted(folder.glob("*.log")):
                print(f"== {log.name}\n{log.read_text(errors='replace')[-1500:]}", file=sys.stderr)
            raise


if __name__ == "__main__":
    main()
