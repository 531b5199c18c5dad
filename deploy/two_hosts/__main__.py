"""
Run a cluster on two hosts, which are network namespaces: `make two-hosts`, as root.

Host a has three Redis servers with a password, HBase, an S3 server and the demo sites; both have a
worker of each role. With STORE=postgres it has PostgreSQL instead of HBase, and one Redis. The
crawl is enqueued on host b, whose workers stop in the middle of it as in a rolling upgrade. What
the servers need is downloaded first, because the hosts have no other network than their cables.
Exits with 1 if a check fails.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from functools import partial
from pathlib import Path

from aragog.standalone.demo_sites import seeds
from aragog.workers.roles import ROLES
from deploy.hosts.cluster import (
    ARAGOG,
    PYTHON,
    Cluster,
    download,
    redis_url,
    s3_settings,
    store_settings,
    wait_until,
)
from deploy.hosts.network import Network
from deploy.hosts.processes import Processes
from deploy.processes import exit_on_signals

ADDRESS = {"a": "10.203.0.1", "b": "10.203.0.2"}
NETWORK = "10.203.0.0/24"
HOST_A = ADDRESS["a"]
REDIS = {"jobs-1": 7001, "jobs-2": 7002, "shared": 7003}
DEMO = 8099
LAMP = "http://www.shop.test/p/brass-lamp"


def _url(name: str, scheme: str = "redis") -> str:
    return redis_url(HOST_A, REDIS[name], scheme)


SETTINGS = {
    "ARAGOG_SETTINGS": "",
    "ARAGOG_REDIS__URL": _url("shared"),
    **s3_settings(HOST_A),
    "ARAGOG_FETCH__HOST_MAP": f"*.test=127.0.0.1:{DEMO}",
    "ARAGOG_FETCH__USER_AGENT": "two-hosts/1.0 (+http://127.0.0.1/)",
    "ARAGOG_PIPELINE__RETRY_FIRST_S": "1",
    "ARAGOG_PIPELINE__MAX_ATTEMPTS": "3",
    "ARAGOG_POLITENESS__ROBOTS_ERROR_S": "2",
    "C_FORCE_ROOT": "1",
}
ENGINES = {
    "hbase": {
        **store_settings("hbase", HOST_A),
        "ARAGOG_BROKER__URL": _url("jobs-1", "pinlater"),
        "ARAGOG_BROKER__SHARDS": _url("jobs-2"),
        "ARAGOG_POLITENESS__LIMITER_URLS": f"{_url('shared')},{_url('jobs-2')}",
    },
    "postgres": {
        **store_settings("postgres", HOST_A),
        "ARAGOG_BROKER__URL": _url("shared", "pinlater"),
    },
}
"""Settings by store."""


def start_servers(cluster: Cluster, engine: str) -> None:
    """Start the servers on host a, and make the demo sites reachable from host b."""
    for name in REDIS if engine == "hbase" else ("shared",):
        cluster.redis("a", name, REDIS[name])
    cluster.store("a", engine)
    cluster.s3("a")
    cluster.run.start("a", "demo", *PYTHON, "-m", "aragog.standalone.demo_server", str(DEMO))
    cluster.forward("a", f"{HOST_A}:{DEMO}", f"127.0.0.1:{DEMO}")
    cluster.forward("b", f"127.0.0.1:{DEMO}", f"{HOST_A}:{DEMO}")


def crawl(cluster: Cluster, folder: Path, engine: str) -> None:
    """Run everything, from an empty store to a page that both hosts read."""
    start_servers(cluster, engine)
    wait_until(f"{engine} has the tables", partial(cluster.create_tables, "a"))
    # Before the workers start, because these use all cores for a while.
    for host in ADDRESS:
        label = f"doctor finds the servers from host {host}"
        wait_until(label, partial(cluster.doctor_problems, host, "--no-workers"))
    for host in ADDRESS:
        for role in ROLES:
            cluster.worker(host, role)
    cluster.worker("a", "beat", "--schedule", str(folder / "beat"))
    cluster.run.start("b", "http", *ARAGOG, "serve")
    wait_until("doctor finds the workers from host b", partial(cluster.doctor_problems, "b"))

    (folder / "urls.txt").write_text("\n".join(seeds()))
    print(cluster.aragog("b", "enqueue", str(folder / "urls.txt"), "--depth", "1").strip())
    wait_until("both hosts fetch", partial(idle_hosts, cluster))
    cluster.run.stop(*(f"b-{role}" for role in ROLES))
    print("the workers of host b are stopped")
    wait_until("host a fetches and stores the rest", partial(cluster.in_flight, "a"))
    for host in ADDRESS:
        page = json.loads(cluster.aragog(host, "show", LAMP, "--json"))
        print(f"host {host}: {page['fields']['page.title']}, {page['fields']['product.price']}")
        if page["fields"]["product.price"] != "89.90":
            raise SystemExit(f"host {host} reads a different price")
    content = cluster.aragog("b", "content", LAMP)
    if "<title>Brass reading lamp</title>" not in content:
        raise SystemExit("host b reads different content")


def idle_hosts(cluster: Cluster) -> str:
    """Return the hosts whose workers have fetched no batch yet, or an empty string."""
    jobs = cluster.aragog(
        "a", "queue", "jobs", "fetch", "--state", "succeeded", "--json", "-n", "1000"
    )
    busy = {job["worker"].partition(":")[0] for job in json.loads(jobs)}
    return ", ".join(sorted({f"host-{host}" for host in ADDRESS} - busy))


def main() -> None:
    """Run it in a temporary folder. Prints the logs if it fails."""
    if os.geteuid() != 0:
        raise SystemExit("two hosts need root, to make network namespaces")
    engine = os.environ.get("ARAGOG_STORE__ENGINE") or "hbase"
    if engine not in ENGINES:
        raise SystemExit(f"STORE: {engine} does not support several hosts: {' or '.join(ENGINES)}")
    exit_on_signals(143)  # so that all processes are stopped
    download(engine)
    with tempfile.TemporaryDirectory(prefix="ar") as name:
        folder = Path(name)
        try:
            with (
                Network("aragog", ADDRESS, NETWORK) as network,
                Processes(network, folder, SETTINGS | ENGINES[engine]) as run,
            ):
                crawl(Cluster(network, run), folder, engine)
        except SystemExit:
            for log in sorted(folder.glob("*.log")):
                print(f"== {log.name}\n{log.read_text(errors='replace')[-1500:]}", file=sys.stderr)
            raise


if __name__ == "__main__":
    main()
