"""`make fleet` (root, Linux): `python -m tests.fleet --hosts 6`, exits with 1 if a check fails."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from aragog.settings import load_settings
from deploy.hosts.cluster import Cluster, download, wait_until
from deploy.hosts.network import Network
from deploy.hosts.processes import Processes
from deploy.processes import exit_on_signals
from tests.fleet import balancer, clocks, sites
from tests.fleet.fleet import Fleet
from tests.fleet.layout import (
    APIS,
    LOCAL_ADDRESS,
    MAX_HOSTS,
    MIN_HOSTS,
    NETWORK,
    Layout,
    settings,
)
from tests.fleet.run import Run

ENGINES = ("postgres", "hbase")
MAX_CLOCK_ERROR_S = 5.0
"""Tolerance for the time that starting a program on a host takes."""


def main() -> int:
    """Run it in a temporary folder. Prints the logs if it fails."""
    options = parse_options()
    if missing := list(_missing()):
        raise SystemExit(f"a fleet needs {'; '.join(missing)}")
    exit_on_signals(143)  # so that all processes are stopped
    layout = Layout(options.hosts, options.store)
    download(layout.engine)
    with tempfile.TemporaryDirectory(prefix="arf") as name:
        folder = Path(name)
        try:
            return _run(layout, folder, options)
        except BaseException:
            for log in sorted(folder.glob("*.log")):
                print(f"== {log.name}\n{log.read_text(errors='replace')[-1500:]}", file=sys.stderr)
            raise
        finally:
            if options.logs:
                options.logs.mkdir(parents=True, exist_ok=True)
                for file in (*folder.glob("*.log"), *folder.glob("*.json")):
                    shutil.copy(file, options.logs)


def parse_options(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options. Exits with 2 and a message if one is invalid."""
    parser = argparse.ArgumentParser(prog="python -m tests.fleet", description=__doc__)
    parser.add_argument(
        "--hosts",
        type=int,
        default=6,
        help=f"number of machines, {MIN_HOSTS} to {MAX_HOSTS}; {len(APIS)} run the API",
    )
    store = os.environ.get("ARAGOG_STORE__ENGINE") or "postgres"
    parser.add_argument("--store", default=store, help=" or ".join(ENGINES))
    parser.add_argument("--urls", type=int, default=4000)
    parser.add_argument("--domains", type=int, default=80)
    parser.add_argument("--cut-s", type=float, default=60, help="how long machines are cut off")
    parser.add_argument("--logs", type=Path, help="folder to copy the logs of all processes to")
    parser.add_argument("--rate", type=float, default=50, help="reads per second")
    options = parser.parse_args(argv)
    if not MIN_HOSTS <= options.hosts <= MAX_HOSTS:
        parser.error(
            f"HOSTS: use {MIN_HOSTS} to {MAX_HOSTS} machines, got {options.hosts}: {len(APIS)} run "
            f"the API, and at least {MIN_HOSTS - len(APIS)} are workers"
        )
    for name in ("urls", "domains", "cut_s", "rate"):
        if (value := getattr(options, name)) <= 0:
            parser.error(f"--{name.replace('_', '-')}: use a number above 0, got {value}")
    if options.store not in ENGINES:
        parser.error(
            f"STORE: {options.store} does not support several hosts: {' or '.join(ENGINES)}"
        )
    return options


def _missing() -> Iterator[str]:
    """Yield what is missing on this machine and how to install it."""
    if os.geteuid() != 0:
        yield "root, to make network namespaces"
    if not shutil.which("ip"):
        yield "ip (apt install iproute2)"
    if not balancer.program():
        yield "nginx (apt install nginx-light)"
    if not clocks.compiler():
        yield "a C compiler (apt install gcc)"


def _run(layout: Layout, folder: Path, options: argparse.Namespace) -> int:
    environ, token = settings(layout)
    environ["ARAGOG_LOGS__LEVEL"] = "INFO"  # shows which workers are ready
    shifts = {host: clocks.shifted_environ(folder, s) for host, s in layout.shifts_s.items()}
    with (
        Network("fleet", layout.addresses, NETWORK, own_address=LOCAL_ADDRESS) as network,
        Processes(network, folder, environ, shifts) as processes,
    ):
        fleet = Fleet(layout, Cluster(network, processes), folder)
        try:
            _start(fleet)
            # The checks run in this process, which reads content with these credentials.
            os.environ.update({k: v for k, v in environ.items() if k.startswith("AWS_")})
            local_settings = load_settings(
                environ={**environ, "ARAGOG_DATA_DIR": str(folder / "here")}
            )
            run = Run(
                fleet, local_settings, token, sites.urls(options.urls, options.domains),
                options.cut_s, options.rate,
            )  # fmt: skip
            run()
        finally:
            # Their work is no longer needed, and servers would wait for their clients.
            fleet.kill()
    print(f"\n{run.report}")
    for violation in run.violations:
        print(f"broken: {violation}")
    print("every check passed" if not run.violations else f"{len(run.violations)} checks failed")
    return 1 if run.violations else 0


def _start(fleet: Fleet) -> None:
    started_s = time.monotonic()
    fleet.start_servers()
    wait_until("the store has its tables", partial(fleet.cluster.create_tables, "data"), 180)
    fleet.start_apis()
    fleet.start_workers()
    hosts = fleet.layout.workers
    fleet.wait(lambda: all(map(fleet.api_ready, APIS)), "the API")
    fleet.wait(lambda: all(fleet.are_workers_ready(host) for host in hosts), "the workers")
    ahead_s = dict(fleet.clock_offsets())
    print(f"{time.monotonic() - started_s:6.1f} s  {len(hosts) + len(APIS)} hosts work; clocks: "
          f"{', '.join(f'{host} {s:+.0f} s' for host, s in ahead_s.items())}", flush=True)  # fmt: skip
    for host, shift in fleet.layout.shifts_s.items():
        if abs(ahead_s[host] - shift) > MAX_CLOCK_ERROR_S:
            raise SystemExit(f"the clock of {host} is {ahead_s[host]:+.1f} s off, not {shift:+} s")


if __name__ == "__main__":
    sys.exit(main())
