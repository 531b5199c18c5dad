"""Run the whole system against the origin, and count its requests."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.crawl.origin import free_port
from bench.traps.site import Answer, Site

COMMAND = [sys.executable, "-m", "aragog.cli", "run", "--depth", "100", "--stop"]
STOP_S = 60
"""The longest time that the system may take to stop."""


@dataclass
class Score:
    """The requests of a crawl to a host."""

    pages: int
    """The number of the host's real pages."""
    fetched: set[str] = field(default_factory=set)
    in_trap: int = 0
    """Requests for pages of traps, and for real pages again under another URL."""
    others: int = 0
    """Requests for robots.txt and for missing pages."""

    @property
    def requests(self) -> int:
        """Return the number of requests for pages."""
        return len(self.fetched) + self.in_trap


@dataclass
class Origin:
    """Serves the sites by their Host header, and scores the requests."""

    sites: dict[str, Site]
    scores: dict[str, Score]
    seen: Counter[str] = field(default_factory=Counter)
    port: int = 0
    exit_status: int | None = None
    """The exit status of `aragog run`, or None if it was stopped."""

    @classmethod
    def of(cls, sites: Sequence[Site]) -> Origin:
        """Return the origin of these sites."""
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
        """Return the response to a request, and count it."""
        score = self.scores[host]
        answer = self.sites[host].answer(target)
        if self.seen[host + target]:
            pass  # a message that is delivered twice is not a trap page
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


def crawl(
    sites: Sequence[Site],
    *,
    qps: float,
    for_s: float,
    meanwhile: Callable[[Origin, int], None] = lambda _web, _pid: None,
) -> Origin:
    """
    Run `aragog run` from the home pages of all sites, and stop it after `for_s`.

    Args:
        sites: the sites to crawl.
        qps: requests per second for each domain.
        for_s: seconds until it is stopped.
        meanwhile: called with the origin and the process id of the run, once it has started.

    Raises:
        RuntimeError: it did not start, or fetched nothing.
    """
    web = Origin.of(sites)
    with tempfile.TemporaryDirectory(prefix="ar") as name, web.running():
        folder = Path(name)
        (folder / "seeds").write_text("".join(f"http://{host}/\n" for host in web.sites))
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [*COMMAND, str(folder / "seeds")],
                cwd=folder, env=_environment(folder, web.port, qps), start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
            try:
                meanwhile(web, process.pid)
                web.exit_status = process.wait(for_s)
            except subprocess.TimeoutExpired:
                process.terminate()
                process.wait(STOP_S)
        if not any(score.fetched for score in web.scores.values()):
            raise RuntimeError((folder / "log").read_text())
    return web


def _environment(folder: Path, port: int, qps: float) -> dict[str, str]:
    return {
        **os.environ,
        "ARAGOG_SETTINGS": "",
        "ARAGOG_DATA_DIR": str(folder / "data"),
        "ARAGOG_FETCH__HOST_MAP": f"*.test=127.0.0.1:{port}",
        "ARAGOG_FETCH__ALLOWED_NETWORKS": "127.0.0.0/8",
        "ARAGOG_FETCH__USER_AGENT": "aragog-bench/1.0 (+http://127.0.0.1/)",
        "ARAGOG_SERVING__HTTP_PORT": str(free_port()),
        "ARAGOG_SERVING__FLOWER_PORT": str(free_port()),
        "ARAGOG_SERVING__THRIFT_PORT": "0",
        "ARAGOG_POLITENESS__QPS": str(qps),
        "ARAGOG_PIPELINE__RECOGNIZE_TRAPS": "true",
    }
