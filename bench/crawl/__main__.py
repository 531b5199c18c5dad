"""
`make bench`: 500 pages on 250 hosts of loopback, by aragog's whole path and by a Scrapy spider of
the same duties, interleaved. CPU is that of all processes of each together (aragog: redis-server,
workers, beat), from the first URL to the last page stored, without start-up.

    python -m bench.crawl [--rounds 3] [--only aragog|scrapy]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import psutil

from bench.crawl.pages import page, paths

ROOT = Path(__file__).resolve().parents[2]
SCRAPY = ROOT / ".venv-bench" / "bin" / "python"


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


def tree_cpu_s(root: psutil.Process) -> float:
    """CPU of a process's descendants, without its own."""
    total = 0.0
    for child in root.children(recursive=True):
        try:
            times = child.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


@contextmanager
def aragog_system(port: int, folder: Path):
    """The standalone system without Flower and the read API, warm."""
    os.environ.update(
        {
            "ARAGOG_DATA_DIR": str(folder),
            "ARAGOG_FETCH__HOST_MAP": f"*.test=127.0.0.1:{port}",
            "ARAGOG_FETCH__ALLOWED_PORTS": f"80,443,{port}",
            "ARAGOG_FETCH__USER_AGENT": "bench (+http://bench.test/)",
            "ARAGOG_SETTINGS": "",
        }
    )
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
    fates = {a.fate for a in client.enqueue(given, refresh=True)}
    assert {str(f) for f in fates} == {"accepted"}, fates
    while client.waiting():
        time.sleep(0.05)
    return time.monotonic() - started


def run_aragog(port: int) -> dict:
    with tempfile.TemporaryDirectory(prefix="arb") as folder:
        with aragog_system(port, Path(folder)) as settings:
            from aragog.client import Aragog

            me = psutil.Process()
            with Aragog(settings) as client:
                crawl(
                    client, [f"http://warm.test:{port}/{n}" for n in range(60)]
                )  # 404s: processes wake
                before, cpu, own = client.tally(), tree_cpu_s(me), time.process_time()
                seconds = crawl(client, urls(port))
                cpu_s = tree_cpu_s(me) - cpu + time.process_time() - own
                after = client.tally()
            stored = after.get("stored", 0) - before.get("stored", 0)
    return {"pages": stored, "seconds": seconds, "cpu_s": cpu_s}


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
    print(
        f"{len(paths())} pages of {len(sample) / 1000:.0f} KB with {sample.count(b'href=') - 1} links"
    )
    runners = {"aragog": run_aragog, "scrapy": run_scrapy}
    found: dict[str, list[dict]] = {name: [] for name in runners}
    with origin(port):
        for _ in range(options.rounds):
            for name, runner in runners.items():
                if options.only in (None, name):
                    result = runner(port)
                    found[name].append(result)
                    rate, cost = (
                        result["pages"] / result["seconds"],
                        1000 * result["cpu_s"] / max(1, result["pages"]),
                    )
                    print(
                        f"  {name:7} {result['pages']:4} pages  {rate:6.1f} pages/s  {cost:6.2f} CPU ms/page",
                        flush=True,
                    )
    best = {
        name: min(1000 * r["cpu_s"] / max(1, r["pages"]) for r in results)
        for name, results in found.items()
        if results
    }
    if len(best) == 2:
        print(
            f"best: aragog {best['aragog']:.2f}, scrapy {best['scrapy']:.2f} CPU ms/page: {best['aragog'] / best['scrapy']:.2f} of Scrapy's"
        )


if __name__ == "__main__":
    main()
