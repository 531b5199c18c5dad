"""
The sides of the benchmark: crawl a page set with aragog, or with a program in `programs/`.

The programs do the work of a Scrapy spider: robots.txt, the page, its title, its links made
absolute, the compressed body on disk.

A side writes into an empty folder that its caller deletes after all sides have run. When ext4
creates a file, it skips inodes deleted in the last five minutes one by one, so a side would pay for
the deleted files of the previous one.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from unittest.mock import patch

import psutil

from bench.crawl import origin
from bench.crawl.page_sets import ROOT, PageSet
from bench.startup import pss_mb

PROGRAMS = ROOT / "bench" / "crawl" / "programs"
PYTHON = ROOT / ".venv-bench" / "bin" / "python"
COLLY = ROOT / ".venv-bench" / "bin" / "colly"
ROLES = ("fetch", "upkeep", "canonicalize", "store")
PROCESS_MARKERS = {
    "nginx": "origin",
    "redis-server": "redis",
    "valkey-server": "redis",
    "aragog.cli serve": "api",
    "workers flower": "flower",
    **{f"workers {role}": role for role in ROLES},
}
"""Maps words in the command line of a process to its kind."""
WARM_UP_HOSTS = [f"warm{number}.test" for number in range(120)]
MAX_LINKS = 1_000
"""The maximum number of links per page that aragog keeps."""


@dataclass(frozen=True)
class Stored:
    """What one side stored for one page."""

    body_hash: str
    title: str | None
    links: tuple[str, ...]
    """Targets in document order."""


@dataclass(frozen=True)
class Crawl:
    """One crawl of a page set."""

    pages: int
    seconds: float
    cpu_s: float
    roles: Counter[str] = field(default_factory=Counter)
    """CPU seconds by kind of process."""
    memory_mb: Counter[str] = field(default_factory=Counter)
    """PSS at the end by kind of process, without the origin and this process. Only for aragog."""
    peak_memory_mb: Counter[str] = field(default_factory=Counter)
    """The same when the total was at its peak."""
    connections: int = 0
    """The number of connections that the origin accepted; 0 if not counted."""
    stored: dict[str, Stored] = field(default_factory=dict)
    """Stored pages by URL, only for the requested URLs."""


def cpu_s_by_role(*, with_origin: bool = False) -> Counter[str]:
    """Return the CPU of this process (as `client`) and its descendants, by role."""
    total = Counter(client=time.process_time())
    for role, child in _descendants():
        with suppress(psutil.NoSuchProcess):
            times = child.cpu_times()
            total[role] += times.user + times.system + times.children_user + times.children_system
    if not with_origin:
        del total["origin"]
    return total


def memory_mb_by_role() -> Counter[str]:
    """Return the PSS of this process's descendants in MB by role, without the origin."""
    total: Counter[str] = Counter()
    for role, child in _descendants():
        with suppress(psutil.NoSuchProcess, ProcessLookupError, FileNotFoundError):
            total[role] += round(pss_mb(child.pid))
    del total["origin"]
    return total


class MemoryPeak:
    """The peak memory of this process's descendants, sampled once a second."""

    def __init__(self) -> None:
        self.mb: Counter[str] = Counter()
        self.cpu_s = 0.0
        """
        The CPU that sampling took in this process, because the kernel adds up each
        process's pages.
        """
        self._next_sample_s = 0.0

    def sample_each_second(self) -> None:
        if time.monotonic() >= self._next_sample_s:
            self.sample()

    def sample(self) -> Counter[str]:
        started_s = time.thread_time()
        memory_mb = memory_mb_by_role()
        self.mb = max(self.mb, memory_mb, key=Counter.total)
        self.cpu_s += time.thread_time() - started_s
        self._next_sample_s = time.monotonic() + 1
        return memory_mb


def _descendants() -> Iterator[tuple[str, psutil.Process]]:
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            command = " ".join(child.cmdline())
            yield (
                next(
                    (role for marker, role in PROCESS_MARKERS.items() if marker in command), "other"
                ),
                child,
            )


@contextmanager
def aragog_system(port: int, folder: Path, frontends: Sequence[str] = ("beat",)) -> Iterator:
    """Run the standalone system, by default without Flower and the API; yields its settings."""
    from aragog.settings import load_settings
    from aragog.standalone import system
    from aragog.standalone.supervisor import Supervisor

    environ = {
        "ARAGOG_DATA_DIR": str(folder),
        "ARAGOG_FETCH__HOST_MAP": f"*.test=127.0.0.1:{port}",
        "ARAGOG_FETCH__ALLOWED_PORTS": f"80,443,{port}",
        "ARAGOG_FETCH__USER_AGENT": "bench (+http://bench.test/)",
        "ARAGOG_SETTINGS": "",
        **{
            f"ARAGOG_SERVING__{name}_PORT": str(origin.free_port())
            for name in ("HTTP", "THRIFT", "FLOWER")
        },
    }
    with patch.dict(os.environ, environ):
        settings = load_settings()
        supervisor = Supervisor(folder, system.environment(settings), system.PRELOAD)
        supervisor.acquire()
        try:
            system.start(supervisor, settings, frontends=frontends)
            yield settings
        finally:
            supervisor.stop()


def run_aragog(
    pages: PageSet, port: int, folder: Path, compared: int = 0, frontends: Sequence[str] = ("beat",)
) -> Crawl:
    """
    Crawl with the warmed-up standalone system. `compared` is the number of pages to
    read back.
    """
    urls = pages.urls(port)
    with aragog_system(port, folder, frontends) as settings:
        from aragog.bootstrap.stores import url_store
        from aragog.client import Aragog
        from aragog.workers.preload import preload

        preload()  # so that compaction here runs as it does in a worker
        store = url_store(settings)
        with Aragog(settings) as client, closing(store):
            # 404s of separate hosts, so that every process and thread has imported modules and
            # connected.
            _crawl(client, [f"{pages.scheme}://{host}:{port}/404" for host in WARM_UP_HOSTS])
            store.maintenance.compact_links()
            before, cpu_s = client.counters(), cpu_s_by_role()
            peak = MemoryPeak()
            connections = -origin.accepted(port)
            seconds = _crawl(client, urls, peak.sample_each_second)
            connections += origin.accepted(port) - 1  # minus this one
            memory_mb = peak.sample()
            # Links that no worker has compacted yet count as well.
            while (report := store.maintenance.compact_links()).left:
                if not report.journal_rows:
                    time.sleep(0.02)  # a worker is compacting it
            used_s = cpu_s_by_role() - cpu_s
            used_s["client"] -= peak.cpu_s
            count = client.counters().get("stored", 0) - before.get("stored", 0)
            stored = {url: _stored(store, url) for url in urls[:compared]}
    memory = (memory_mb, peak.mb)
    return Crawl(count, seconds, used_s.total(), used_s, *memory, connections, stored)


def _crawl(client, addresses: list[str], sample: Callable[[], None] = lambda: None) -> float:
    started = time.monotonic()
    statuses = {str(a.status) for a in client.enqueue(addresses, refresh=True)}
    assert statuses == {"accepted"}, statuses
    while client.in_flight():
        sample()
        time.sleep(0.05)
    return time.monotonic() - started


def _stored(store, url: str) -> Stored:
    content = store.content(url)
    title = json.loads(store.get(url).fields.get("page.title", b"null"))
    links = store.links.outlinks(url, limit=MAX_LINKS)
    body_hash = hashlib.sha256(content.body).hexdigest()
    return Stored(body_hash, title, tuple(link.url for link in links.items))


def run_program(
    argv: Sequence[Path | str], pages: PageSet, port: int, folder: Path, compared: int = 0
) -> Crawl:
    """Crawl with a program that takes a file of URLs, the origin's port and an output folder."""
    urls = pages.urls(port)
    (folder / "urls").write_text("\n".join(urls))
    command = [*map(str, argv), str(folder / "urls"), str(port), str(folder)]
    connections = -origin.accepted(port)
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    connections += origin.accepted(port) - 1  # minus this one
    if process.returncode:
        sys.exit(f"{command} failed:\n{process.stderr[-2000:]}")
    stored = dict(_stored_by_program(folder, set(urls[:compared])))
    figures = json.loads(process.stdout.splitlines()[-1])
    return Crawl(**figures, connections=connections, stored=stored)


def _stored_by_program(folder: Path, urls: set[str]) -> Iterator[tuple[str, Stored]]:
    for line in (folder / "pages.jsonl").read_text().splitlines() if urls else ():
        page = json.loads(line)
        if page["url"] in urls:
            key = hashlib.sha256(page["url"].encode()).hexdigest()
            body_hash = hashlib.sha256(gzip.decompress((folder / f"{key}.gz").read_bytes()))
            yield page["url"], Stored(body_hash.hexdigest(), page["title"], tuple(page["links"]))


Side = Callable[[PageSet, int, Path, int], Crawl]
SIDES: dict[str, Side] = {
    "aragog": run_aragog,
    "Python": partial(run_program, (PYTHON, PROGRAMS / "fast_python.py")),
    "colly": partial(run_program, (COLLY,)),
    "Scrapy": partial(run_program, (PYTHON, PROGRAMS / "scrapy_spider.py")),
}


def installed() -> list[str]:
    """Return the sides that can run here (without Go, all but colly). Exits if only aragog can."""
    if not PYTHON.exists():
        sys.exit("Scrapy is not installed: run `make bench`, or scripts/setup bench")
    return [side for side in SIDES if side != "colly" or COLLY.exists()]
