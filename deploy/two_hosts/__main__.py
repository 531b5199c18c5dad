"""
The processes of a cluster on two hosts, which are network namespaces: `make two-hosts`, as root.

Host a has three Redis servers with a password, HBase, an S3 server and the demo web; both have a
worker of each role. With STORE=postgres it has PostgreSQL instead of HBase, and one Redis. The
crawl is enqueued on host b, whose workers stop in the middle of it as in a rolling upgrade. What
the servers need is downloaded before the hosts exist, which have no other network than their
cables. Exits with 1 if a check fails.
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
    until,
)
from deploy.hosts.network import Network
from deploy.hosts.processes import Processes
from deploy.processes import exit_on_signals

ADDRESS = {"a": "10.203.0.1", "b": "10.203.0.2"}
NETWORK = "10.203.0.0/24"
A = ADDRESS["a"]
REDIS = {"jobs-1": 7001, "jobs-2": 7002, "shared": 7003}
DEMO = 8099
LAMP = "http://www.shop.test/p/brass-lamp"


def _url(name: str, scheme: str = "redis") -> str:
    return redis_url(A, REDIS[name], scheme)


SETTINGS = {
    "ARAGOG_SETTINGS": "",
    "ARAGOG_REDIS__URL": _url("shared"),
    **s3_settings(A),
    "ARAGOG_FETCH__HOST_MAP": f"*.test=127.0.0.1:{DEMO}",
    "ARAGOG_FETCH__USER_AGENT": "two-hosts/1.0 (+http://127.0.0.1/)",
    "ARAGOG_PIPELINE__RETRY_FIRST_S": "1",
    "ARAGOG_PIPELINE__MAX_ATTEMPTS": "3",
    "ARAGOG_POLITENESS__ROBOTS_ERROR_S": "2",
    "C_FORCE_ROOT": "1",
}
ENGINES = {
    "hbase": {
        **store_settings("hbase", A),
        "ARAGOG_BROKER__URL": _url("jobs-1", "pinlater"),
        "ARAGOG_BROKER__SHARDS": _url("jobs-2"),
        "ARAGOG_POLITENESS__LIMITER_URLS": f"{_url('shared')},{_url('jobs-2')}",
    },
    "postgres": {
        **store_settings("postgres", A),
        "ARAGOG_BROKER__URL": _url("shared", "pinlater"),
    },
}
"""What differs between the stores."""


def servers(cluster: Cluster, engine: str) -> None:
    """Start what holds data, on host a, and make it reachable from host b."""
    for name in REDIS if engine == "hbase" else ("shared",):
        cluster.redis("a", name, REDIS[name])
    cluster.store("a", engine)
    cluster.s3("a")
    cluster.run.start("a", "demo", *PYTHON, "-m", "aragog.standalone.demo_server", str(DEMO))
    cluster.forward("a", f"{A}:{DEMO}", f"127.0.0.1:{DEMO}")
    cluster.forward("b", f"127.0.0.1:{DEMO}", f"{A}:{DEMO}")


def crawl(cluster: Cluster, folder: Path, engine: str) -> None:
    """Everything from an empty store to a page that both hosts read."""
    servers(cluster, engine)
    until(f"{engine} has the tables", partial(cluster.create_tables, "a"))
    # Before the workers start, which take all cores for a while.
    for host in ADDRESS:
        what = f"doctor finds the servers from host {host}"
        until(what, partial(cluster.ailing, host, "--no-workers"))
    for host in ADDRESS:
        for role in ROLES:
            cluster.worker(host, role)
    cluster.worker("a", "beat", "--schedule", str(folder / "beat"))
    cluster.run.start("b", "http", *ARAGOG, "serve")
    until("doctor finds the workers from host b", partial(cluster.ailing, "b"))

    (folder / "urls.txt").write_text("\n".join(seeds()))
    print(cluster.aragog("b", "enqueue", str(folder / "urls.txt"), "--depth", "1").strip())
    until("both hosts fetch", partial(idle_hosts, cluster))
    cluster.run.stop(*(f"b-{role}" for role in ROLES))
    print("the workers of host b are stopped")
    until("host a fetches and stores the rest", partial(cluster.in_flight, "a"))
    for host in ADDRESS:
        page = json.loads(cluster.aragog(host, "show", LAMP, "--json"))
        print(f"host {host}: {page['fields']['page.title']}, {page['fields']['product.price']}")
        if page["fields"]["product.price"] != "89.90":
            raise SystemExit(f"host {host} reads another price")
    content = cluster.aragog("b", "content", LAMP)
    if "<title>Brass reading lamp</title>" not in content:
        raise SystemExit("host b reads other content")


def idle_hosts(cluster: Cluster) -> str:
    """The hosts whose workers have fetched no batch yet; empty if all have."""
    jobs = cluster.aragog(
        "a", "queue", "jobs", "fetch", "--state", "succeeded", "--json", "-n", "1000"
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
