"""
`make bench`: crawl 500 pages on 250 loopback hosts with aragog and with a Scrapy spider that has the
same tasks, interleaved. CPU is that of all processes together (aragog: redis-server, workers, beat,
the client), from the first URL until the last page is stored and its links are compacted into
inlinks, without start-up.

    python -m bench.crawl [--rounds 3] [--only aragog|scrapy]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing, contextmanager
from pathlib import Path

import psutil

from bench.crawl.environ import use_environ
from bench.crawl.pages import page, paths

ROOT = Path(__file__).resolve().parents[2]
SCRAPY = ROOT / ".venv-bench" / "bin" / "python"
ROLES = ("fetch", "robots", "canonicalize", "store")
SIGNS = {
    "origin": "bench.crawl.origin",
    "redis": "redis-server",
    "beat": " beat ",
    **{role: f"aragog.workers {role}" for role in ROLES},
}
"""What tells a process in its command line."""


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def origin(port: int):
    argv = [sys.executable, "-m", "bench.crawl.origin", str(port)]
    process = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"ready\n"
        yield
    finally:
        process.terminate()
        process.wait()


def urls(port: int) -> list[str]:
    return [f"http://{host}:{port}{path}" for host, path in paths()]


def cpu_s_by_role() -> Counter[str]:
    """CPU of this process, as `client`, and of its descendants but the origin, by what they are."""
    total = Counter(client=time.process_time())
    for child in psutil.Process().children(recursive=True):
        try:
            times, command = child.cpu_times(), " ".join(child.cmdline())
        except psutil.NoSuchProcess:
            continue
        role = next((role for role, sign in SIGNS.items() if sign in command), "other")
        total[role] += times.user + times.system
    del total["origin"]
    return total


@contextmanager
def aragog_system(port: int, folder: Path):
    """The standalone system without Flower and the read API, warm."""
    use_environ(port, folder)
    from aragog.settings import load_settings
    from aragog.standalone import system
    from aragog.standalone.supervisor import Supervisor

    settings = load_settings()
    supervisor = Supervisor(folder, system.environment(settings))
    supervisor.acquire()
    try:
        system.start(supervisor, settings, front=("beat",))
        yield settings
    finally:
        supervisor.stop()


def crawl(client, given: list[str]) -> float:
    started = time.monotonic()
    fates = {a.status for a in client.enqueue(given, refresh=True)}
    assert {str(f) for f in fates} == {"accepted"}, fates
    while client.in_flight():
        time.sleep(0.05)
    return time.monotonic() - started


def run_aragog(port: int) -> dict:
    with (
        tempfile.TemporaryDirectory(prefix="arb") as made,
        aragog_system(port, Path(made)) as settings,
    ):
        from aragog.bootstrap.stores import url_store
        from aragog.client import Aragog
        from aragog.workers.preload import preload

        preload()  # what is folded here is folded as a worker does it
        store = url_store(settings)
        with Aragog(settings) as client, closing(store):
            # 404s of hosts of their own: every process and thread has imported and connected by then.
            crawl(client, [f"http://warm{n}.test:{port}/" for n in range(120)])
            store.maintenance.compact_links()
            before, cpu_s = client.counters(), cpu_s_by_role()
            seconds = crawl(client, urls(port))
            while (
                store.maintenance.compact_links().left
            ):  # what no worker has folded yet is counted as well
                pass
            used_s = cpu_s_by_role() - cpu_s
            pages = client.counters().get("stored", 0) - before.get("stored", 0)
    return {"pages": pages, "seconds": seconds, "cpu_s": used_s.total(), "roles": used_s}


def run_scrapy(port: int) -> dict:
    with tempfile.TemporaryDirectory(prefix="arb") as folder:
        (Path(folder) / "urls").write_text("\n".join(urls(port)))
        script = ROOT / "bench" / "crawl" / "scrapy_spider.py"
        argv = [str(SCRAPY), str(script), f"{folder}/urls", str(port), folder]
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
        return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=["aragog", "scrapy"])
    options = parser.parse_args()
    if options.only != "aragog" and not SCRAPY.exists():
        sys.exit("Scrapy is missing: run `make bench`, or scripts/setup bench")
    port = free_port()
    sample = page(*paths()[0], port)
    size, links = len(sample) / 1000, sample.count(b"<a ")
    print(f"{len(paths())} pages of about {size:.0f} KB with about {links} links")
    runners = {"aragog": run_aragog, "scrapy": run_scrapy}
    cost: dict[str, list[float]] = {name: [] for name in runners}
    with origin(port):
        for _ in range(options.rounds):
            for name in [n for n in runners if options.only in (None, n)]:
                found = runners[name](port)
                if found["pages"] != len(paths()):
                    sys.exit(f"{name} stored {found['pages']} of {len(paths())} pages")
                cost[name].append(1000 * found["cpu_s"] / found["pages"])
                rate = found["pages"] / found["seconds"]
                print(
                    f"  {name:7} {rate:6.1f} pages/s {cost[name][-1]:6.2f} CPU ms/page", flush=True
                )
                for role, used_s in sorted(found.get("roles", {}).items(), key=lambda p: -p[1]):
                    print(f"    {role:25} {1000 * used_s / found['pages']:6.2f}")
    middle = {name: statistics.median(found) for name, found in cost.items() if found}
    if len(middle) == 2:
        ratio = middle["aragog"] / middle["scrapy"]
        print(f"median CPU a page: aragog is at {ratio:.2f} of Scrapy's")


if __name__ == "__main__":
    main()
