"""Run the standalone system against the origin, and count what it asked for."""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aragog.bootstrap.crawls import crawl_control
from aragog.client import Aragog
from aragog.settings import load_settings
from bench.crawls import System
from bench.traps.site import Answer, Site

CRAWL = "traps"
MOST_DEPTH = 100
QUIET_S = 5.0
"""The crawl is over when nothing has waited for so long, and no request came."""


@dataclass
class Score:
    """What a crawl asked a host for."""

    pages: int
    """Real pages of the host."""
    fetched: set[str] = field(default_factory=set)
    in_trap: int = 0
    """Pages of traps, and real pages again under another URL."""
    others: int = 0
    """Requests for robots.txt, and what is not found."""

    @property
    def requests(self) -> int:
        """Requests for pages."""
        return len(self.fetched) + self.in_trap


@dataclass
class Origin:
    """Serves the sites by their Host header, and scores what is asked for."""

    sites: dict[str, Site]
    scores: dict[str, Score]
    seen: Counter[str] = field(default_factory=Counter)
    last_s: float = 0.0
    port: int = 0

    @classmethod
    def of(cls, sites: Sequence[Site]) -> Origin:
        """The origin of these sites."""
        return cls(
            {site.host: site for site in sites},
            {site.host: Score(len(site.pages)) for site in sites},
        )

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode("latin-1"):
                target = head.split(" ", 2)[1]
                host = next(
                    line.partition(":")[2].strip().partition(":")[0]
                    for line in head.split("\r\n")
                    if line.lower().startswith("host:")
                )
                writer.write(self._answer(host, target))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def answer(self, host: str, target: str) -> Answer:
        """The answer to a request, which is counted."""
        score, self.last_s = self.scores[host], time.monotonic()
        answer = self.sites[host].answer(target)
        if self.seen[host + target]:
            pass  # a message that is delivered twice is no page of a trap
        elif answer.page in self.sites[host].pages - score.fetched:
            score.fetched.add(answer.page)
        elif answer.page in score.fetched or answer.in_trap:
            score.in_trap += 1
        else:
            score.others += 1
        self.seen[host + target] += 1
        return answer

    def _answer(self, host: str, target: str) -> bytes:
        answer = self.answer(host, target)
        body = answer.body.encode()
        return (
            f"HTTP/1.1 {answer.status} X\r\nContent-Type: text/html; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        ).encode() + body

    @contextmanager
    def running(self) -> Iterator[None]:
        """Serve in a thread, on a free port."""
        loop = asyncio.new_event_loop()
        server = loop.run_until_complete(asyncio.start_server(self.serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        yield
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)


def crawl(sites: Sequence[Site], *, qps: float, for_s: float, most_of_host: int) -> Origin:
    """Crawl all sites from their home pages until nothing waits, at most so long."""
    web = Origin.of(sites)
    os.environ["ARAGOG_POLITENESS__QPS"] = str(qps)
    os.environ["ARAGOG_PIPELINE__RECOGNIZE_TRAPS"] = "true"
    with tempfile.TemporaryDirectory(prefix="ar") as folder, web.running():
        system = System(Path(folder), web.port)
        system.start()
        try:
            _crawl(web, for_s, most_of_host)
        finally:
            system.stop()
    return web


def _crawl(web: Origin, for_s: float, most_of_host: int) -> None:
    settings = load_settings()
    control = crawl_control(settings)
    control.start(CRAWL, {"depth": MOST_DEPTH, "max_urls_per_host": most_of_host})
    with Aragog(settings) as client:
        seeds = [f"http://{host}/" for host in web.sites]
        for result in client.enqueue_all(seeds, crawl=CRAWL, depth=MOST_DEPTH):
            assert result.status == "accepted", result
    web.last_s, until_s = time.monotonic(), time.monotonic() + for_s
    while time.monotonic() < until_s:
        time.sleep(1)
        is_quiet = time.monotonic() - web.last_s > QUIET_S
        if is_quiet and not control.status(CRAWL).counts.waiting:
            return
