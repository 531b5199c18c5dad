"""
Measure `bench.signals` through the whole pipeline: an origin on loopback, Redis, all stages.

    python -m bench.signals_origin [--urls 40] [--days 20] [--site exact] [--files feed]

The site of `bench.signals` is served with ETags. The stages run in this process with a clock that
advances a quarter of an hour at a time, and the origin counts requests: pages, sitemaps, feeds and
robots.txt. A sitemap is enqueued; a feed is found through the `<link>` of the pages, which are
watched. There are three runs: with signals; without, at the same effort; and without, at the effort
that takes about the same number of requests. The second half of the days counts.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rich.console import Console
from rich.table import Table

from aragog.bootstrap.stages import connect
from aragog.crawl.pipeline.messages import FetchBatch, PageBatch, ResultBatch, RobotsBatch
from aragog.crawl.pipeline.routing import Destination, OutgoingMessage
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.crawl.stages.process_stages import ProcessStages
from aragog.pages.sitemaps import SitemapUrl
from aragog.runtime.green_threads import GreenClock
from aragog.settings import (
    ContentSettings,
    FetchSettings,
    PolitenessSettings,
    RefreshSettings,
    Settings,
    StoreSettings,
)
from aragog.settings.servers import RedisSettings
from aragog.standalone.redis_server import RedisServer
from aragog.urlstore.usual_intervals import FEED, SITEMAP
from bench.quick import add_quick
from bench.signals import DAY_MS, FILE_URLS, FILES, KINDS, START_MS, STEP_S, Site, replay_effort
from tests.support.origin import Origin, Request, Wire, answer

HOST = "site.example"
KIND_OF_PATH = {urlsplit(url).path: kind for kind, url in FILE_URLS.items()}
FEED_LINK = f'<link rel="alternate" type="application/atom+xml" href="{FILE_URLS[FEED]}">'
QPS = 10_000.0
"""Requests per second of the domain, high enough that only the schedule is measured."""


class ShiftedClock(GreenClock):
    """The clocks of this machine, set forward by `shift_ms`."""

    def __init__(self) -> None:
        self.shift_ms = 0.0

    def now_ms(self) -> int:
        return super().now_ms() + int(self.shift_ms)


@dataclass
class SentMessages:
    """A sender that keeps its messages."""

    messages: list[OutgoingMessage] = field(default_factory=list)

    def send(self, message: OutgoingMessage) -> None:
        self.messages.append(message)

    def send_all(self, messages: Sequence[OutgoingMessage]) -> None:
        self.messages += messages


class ServedSite:
    """A simulated site over HTTP, with validators, at the crawl's time."""

    def __init__(self, site: Site, clock: ShiftedClock) -> None:
        self.site = site
        self._clock = clock
        self.requests: list[tuple[int, str, int]] = []
        """Time, path and status of each request."""

    def __call__(self, request: Request, _: Wire) -> bytes:
        now_ms, status = self._clock.now_ms(), 200
        body, kind = self._body(request.path, now_ms)
        etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        if request.header("If-None-Match") == etag:
            status, body = 304, b""
        self.requests.append((now_ms, request.path, status))
        return answer(status, body, headers=(("ETag", etag), ("Content-Type", kind)))

    def _body(self, path: str, now_ms: int) -> tuple[bytes, str]:
        if path == "/robots.txt":
            return b"User-agent: *\nAllow: /\n", "text/plain"
        if kind := KIND_OF_PATH.get(path):
            return _file(kind, self.site.entries(kind, now_ms))
        page = self.site.pages[f"http://{HOST}{path}"]
        self.site.advance(page, now_ms)
        title = f"version {page.version}"
        link = FEED_LINK if FEED in self.site.files else ""
        return f"<!doctype html><title>{title}</title>{link}<p>{title}".encode(), "text/html"


def _file(kind: str, entries: Sequence[SitemapUrl]) -> tuple[bytes, str]:
    """Return a sitemap or an Atom feed, and its content type."""
    dated = [(e.url, _date(e.lastmod_ms, e.lastmod_end_ms)) for e in entries]
    if kind == FEED:
        rows = (f'<entry><link href="{u}"/><updated>{d}</updated></entry>' for u, d in dated)
        return f"<feed>{''.join(rows)}</feed>".encode(), "application/atom+xml"
    rows = (f"<url><loc>{u}</loc><lastmod>{d}</lastmod></url>" for u, d in dated)
    return f"<urlset>{''.join(rows)}</urlset>".encode(), "application/xml"


def _date(at_ms: int | None, end_ms: int | None) -> str:
    moment = datetime.fromtimestamp((at_ms or 0) / 1000, UTC)
    return moment.isoformat(timespec="milliseconds") if end_ms is None else f"{moment:%Y-%m-%d}"


class VirtualCrawl:
    """All stages of one process and an origin. `step` sets the clock forward."""

    def __init__(self, settings: Settings, clock: ShiftedClock) -> None:
        self.sent = SentMessages()
        self.clock = clock
        self.pipeline: ProcessStages = connect(settings, self.sent, clock=clock)

    def enqueue(self, urls: Sequence[str], **options: Any) -> None:
        """Enqueue URLs and deliver the resulting messages."""
        for _ in self.pipeline.enqueuer.enqueue(urls, EnqueueOptions(**options)):
            pass
        self.deliver()

    def step(self, seconds: float) -> None:
        """Set the clock forward, run the tick, and deliver what is due."""
        self.clock.shift_ms += seconds * 1000
        self.pipeline.refresh.run()
        self.deliver()

    def deliver(self) -> None:
        """Deliver all messages in order, until no URL waits."""
        deadline_s = self.clock.monotonic_s() + 60
        while self.sent.messages or self.pipeline.release.lines.total():
            if self.clock.monotonic_s() > deadline_s:
                raise TimeoutError(f"{len(self.sent.messages)} messages are left")
            self.pipeline.release.run()
            if not self.sent.messages:
                self.clock.sleep_s(0.002)
                continue
            message = self.sent.messages.pop(0)
            self.clock.sleep_s((message.delay_ms or 0) / 1000)
            self.sent.messages += self._deliver(message)

    def _deliver(self, message: OutgoingMessage) -> list[OutgoingMessage]:
        wire, pipeline = message.message.wire(), self.pipeline
        match message.destination:
            case Destination.FETCH:
                return pipeline.fetch.run(FetchBatch.read(wire))
            case Destination.ROBOTS:
                return pipeline.robots.run(RobotsBatch.read(wire))
            case Destination.CANONICALIZE:
                return pipeline.canonicalize.run(ResultBatch.read(wire))
            case Destination.STORE:
                return pipeline.store.run(PageBatch.read(wire))
        return []

    def close(self) -> None:
        self.pipeline.close()


@contextmanager
def virtual_crawl(
    origin: Origin, redis_url: str, folder: Path, clock: ShiftedClock, refresh: RefreshSettings
) -> Iterator[VirtualCrawl]:
    """Run a crawl of everything under `.example`, which the origin serves."""
    settings = Settings(
        data_dir=folder,
        redis=RedisSettings(url=redis_url),
        politeness=PolitenessSettings(qps=QPS),
        store=StoreSettings(engine="memory"),
        content=ContentSettings(layout="objects"),  # a pack would wait for more pages
        refresh=refresh,
        fetch=FetchSettings(
            user_agent="aragog-bench/1.0 (+http://127.0.0.1/)",
            host_map={"*.example": origin.address},
            allowed_networks=("127.0.0.0/8",),
        ),
    )
    with closing(VirtualCrawl(settings, clock)) as crawl:
        yield crawl


@dataclass(frozen=True, slots=True)
class OriginRun:
    """The results of a run in the second half of its days."""

    fresh: float
    requests: int
    for_files: int
    confirmed: int
    """Requests that were answered with 304."""


def run(options: argparse.Namespace, refresh: RefreshSettings) -> OriginRun:
    """Keep a served site fresh for a number of days."""
    clock = ShiftedClock()
    start_ms, days = clock.now_ms(), options.days
    site = _site(options, start_ms)
    served = ServedSite(site, clock)
    with (
        tempfile.TemporaryDirectory(prefix="ar") as folder,
        RedisServer(Path(folder) / "redis") as redis_server,
        Origin({"/*": served, "/robots.txt": served}) as origin,
        virtual_crawl(origin, redis_server.url, Path(folder), clock, refresh) as crawl,
    ):
        crawl.enqueue([*site.pages])
        if SITEMAP in site.files:
            crawl.enqueue([FILE_URLS[SITEMAP]], sitemap=True, refresh=True, depth=1)
        if FEED in site.files:
            for url in site.pages:
                crawl.pipeline.store.store.schedule.watch(url, "bench", at_ms=clock.now_ms())
        stale, samples = 0.0, 0
        while clock.now_ms() < start_ms + days * DAY_MS:
            crawl.step(STEP_S)
            if clock.now_ms() >= start_ms + days * DAY_MS / 2:
                stale += _stale_share(served, crawl)
                samples += 1
    count_from_ms = start_ms + days * DAY_MS / 2
    counted = [(path, status) for at_ms, path, status in served.requests if at_ms >= count_from_ms]
    return OriginRun(
        1 - stale / samples,
        len(counted),
        sum(1 for path, _ in counted if path in KIND_OF_PATH),
        sum(1 for _, status in counted if status == 304),
    )


def _site(options: argparse.Namespace, start_ms: int = START_MS) -> Site:
    world, files = "published shares", FILES[options.files]
    return Site(options.site, world, options.urls, options.seed, start_ms, files)


def _stale_share(served: ServedSite, crawl: VirtualCrawl) -> float:
    """Return the share of the pages whose stored title differs from the site's current one."""
    pages, store = served.site.pages, crawl.pipeline.store.store
    records = store.get_many(list(pages), ["page.title"])
    now_ms = crawl.clock.now_ms()
    stale = 0
    for page, record in zip(pages.values(), records, strict=True):
        served.site.advance(page, now_ms)
        title = record.fields.get("page.title") if record else None
        stale += title != f'"version {page.version}"'.encode()
    return stale / len(pages)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urls", type=int, default=40)
    parser.add_argument("--days", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--site", choices=KINDS, default="exact")
    parser.add_argument("--files", choices=list(FILES), default=SITEMAP)
    add_quick(parser, urls=6, days=2.0)
    options = parser.parse_args()
    table = Table(
        title=f"{options.files}, dates {options.site}: {options.urls} URLs, {options.days:g} days"
    )
    for name in ("", "effort", "requests", "for files", "304", "fresh"):
        table.add_column(name, justify="left" if not name else "right")

    def row(name: str, refresh: RefreshSettings) -> OriginRun:
        result = run(options, refresh)
        table.add_row(
            name, f"{refresh.effort:.2f}", f"{result.requests:,}", f"{result.for_files:,}",
            f"{result.confirmed:,}", f"{result.fresh:.3f}",
        )  # fmt: skip
        return result

    defaults = RefreshSettings()
    with_signals = row("with signals", defaults)
    row("without, same effort", replace(defaults, signals=False))
    site = _site(options)
    effort = replay_effort(site, options.days, with_signals.requests, random.Random(1))[0]
    row("without, as many requests", replace(defaults, signals=False, effort=effort))
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
