"""
Pauses, cancels and ends crawls for `bench.crawl_faults`, and measures when their last request came
and whether the other crawls continue.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

from aragog.bootstrap.crawls import crawl_control
from aragog.bootstrap.redis_services import lines_of
from aragog.crawl.pipeline.routing import Queue
from aragog.crawl.politeness.lines import Lines
from aragog.settings import load_settings
from bench.crawl_system import Clock, Origin, wait_for
from pinlater.admin import Admin

MAX_STOP_S = 10.0
"""It takes about 2 s on an idle machine: each process checks once a second, and slots are 1.5 s."""
PAUSED_S = 15.0
"""Longer than `MAX_STOP_S`, so that a late request is seen before the crawls are resumed."""
MAX_RESUME_S = 600.0
"""The claim of a killed process ends after 10 s, plus time for a busy machine."""
DEADLINE_S = 20.0
"""From setting a deadline until it passes: enough time to set it for each crawl."""
RATE_S = 5.0
MIN_RATE = 1.0
"""Requests per second that must come before crawls are stopped; otherwise nothing would be shown."""
SHARED_EVERY = 10
"""The previous crawl also wants every tenth URL of a crawl."""


class Stops:
    """
    Stops crawls, and finds the requests that only these crawls wanted.

    Args:
        web: the origin, which has seen all requests.
        names: all crawls, in the order of their numbers.
        options: the options of the run.
        log: prints what happened.
    """

    def __init__(
        self, web: Origin, names: Sequence[str], options: argparse.Namespace, log: Clock
    ) -> None:
        self._web, self._names, self._log = web, names, log
        self._shared_urls = options.urls // options.crawls // SHARED_EVERY
        self._stopped: list[tuple[str, Sequence[str], float]] = []
        """Crawls that were stopped for good: how, which ones, and when."""
        self._late: list[str] = []
        self._stalled: list[str] = []
        """Stops during which no request came for the other crawls."""

    def pause(self, names: Sequence[str]) -> None:
        """Pause crawls for `PAUSED_S`, then resume them and wait for their next request."""
        control = crawl_control(load_settings())
        self._stop("paused", names, control.pause, PAUSED_S)
        requests, resumed_s = self.requests(names), time.monotonic()
        for name in names:
            control.resume(name)
        wait_for(lambda: self.requests(names) > requests, MAX_RESUME_S)
        self._log(
            f"resumed: the first request came after {time.monotonic() - resumed_s:.1f} s, "
            f"{self._waiting(names):,} URLs are waiting"
        )

    def cancel(self, names: Sequence[str]) -> None:
        """Cancel crawls, then wait until the cancellation must have taken effect."""
        control = crawl_control(load_settings())
        stopped_s = self._stop("cancelled", names, control.cancel, MAX_STOP_S)
        self._stopped.append(("cancelled", names, stopped_s))

    def end_by_deadline(self, names: Sequence[str]) -> None:
        """Set a deadline for crawls, then wait until it must have taken effect."""
        control, rate = crawl_control(load_settings()), self._rate(names)
        deadline_s, until_ms = time.monotonic() + DEADLINE_S, int((time.time() + DEADLINE_S) * 1000)
        for name in names:
            control.start(name, {"until_ms": until_ms})
        time.sleep(max(0.0, deadline_s - time.monotonic() - 1))
        waiting = self._waiting(names)
        time.sleep(max(0.0, deadline_s - time.monotonic()))
        self._wait_and_log("ended by a deadline", names, waiting, rate, deadline_s, MAX_STOP_S)
        self._stopped.append(("ended", names, deadline_s))

    def _stop(
        self, what: str, names: Sequence[str], stop: Callable[[str], object], wait_s: float
    ) -> float:
        """Stop each crawl, wait, and print the result. Returns when the crawls were stopped."""
        rate, waiting = self._rate(names), self._waiting(names)
        started_s = time.monotonic()
        for name in names:
            stop(name)
        return self._wait_and_log(what, names, waiting, rate, started_s, wait_s)

    def _wait_and_log(
        self,
        what: str,
        names: Sequence[str],
        waiting: int,
        rate: float,
        started_s: float,
        wait_s: float,
    ) -> float:
        """Wait, then print when the last request came. Returns when the crawls were stopped."""
        stopped_s, others = time.monotonic(), self._running_except(names)
        requests = self.requests(others)
        self._log(f"{what}: their URLs and those of others wait in {_stages()}")
        time.sleep(max(0.0, stopped_s + wait_s - time.monotonic()))
        requests = self.requests(others) - requests
        # URLs that are only in jobs on the dead server must wait for it.
        if not requests and self._waiting(others) and _lines().total():
            self._stalled.append(f"no other crawl was requested after crawls were {what}")
        late_s = [self._last_request_s(name, names) - stopped_s for name in names]
        if what == "paused":
            self._add_late(what, names, stopped_s)
        self._log(
            f"{what}: {waiting:,} URLs of {len(names)} crawls in {stopped_s - started_s:.2f} s; "
            f"the last request for one came {max(0.0, *late_s):.1f} s later ({rate:.1f}/s before)"
        )
        if others:
            self._log(f"{requests / wait_s:.1f}/s for {len(others)} other crawls meanwhile")
        return stopped_s

    def _rate(self, names: Sequence[str]) -> float:
        """Wait for requests that only these crawls want. Returns how many come per second."""
        rate, waited_until_s = 0.0, time.monotonic() + MAX_RESUME_S / 5
        while rate < MIN_RATE and self._waiting(names) and time.monotonic() < waited_until_s:
            requests = self.requests(names)
            time.sleep(RATE_S)
            rate = (self.requests(names) - requests) / RATE_S
        return rate

    def _running_except(self, names: Sequence[str]) -> list[str]:
        stopped = {*names, *(name for _, others, _ in self._stopped for name in others)}
        return [name for name in self._names if name not in stopped]

    def _waiting(self, names: Sequence[str]) -> int:
        control = crawl_control(load_settings())
        return sum(control.status(name).counts.waiting for name in names)

    def requests(self, names: Sequence[str]) -> int:
        """Return the number of requests that only crawls with these names wanted."""
        return sum(
            count for path, count in dict(self._web.seen).items() if self._is_exclusive(path, names)
        )

    def _is_exclusive(self, path: str, names: Sequence[str]) -> bool:
        """Return True if only crawls with these names want the path."""
        _, owner, number = path.split("/")
        sharer = f"c{(int(owner[1:]) - 1) % len(self._names)}"
        return owner in names and (int(number) >= self._shared_urls or sharer in names)

    def _last_request_s(self, name: str, names: Sequence[str]) -> float:
        prefix, requests = f"/{name}/", dict(self._web.last_s).items()
        return max(
            (at_s for p, at_s in requests if p.startswith(prefix) and self._is_exclusive(p, names)),
            default=0.0,
        )

    def _add_late(self, what: str, names: Sequence[str], stopped_s: float) -> None:
        for name in names:
            late_s = self._last_request_s(name, names) - stopped_s
            if late_s > MAX_STOP_S:
                self._late.append(f"{name} was requested {late_s:.1f} s after it was {what}")

    def violations(self) -> list[str]:
        """
        Return stopped crawls whose exclusive URLs were requested too late, and stops that
        also stopped other crawls.
        """
        for what, names, stopped_s in self._stopped:
            self._add_late(what, names, stopped_s)
        return [*self._late, *self._stalled]


def _stages() -> str:
    """Return how many URLs wait in lines, and how many messages in each stage's queue."""
    settings, lines = load_settings().resolved(), _lines()
    texts = [
        f"lines ({lines.total():,} URLs, {lines.waiting_for_rules():,} of them for robots.txt)"
    ]
    admin = Admin.connect(settings.broker.url, settings.broker.shards)
    for queue in (Queue.FETCH, Queue.ROBOTS, Queue.CANONICALIZE, Queue.STORE):
        sizes = admin.status(queue).sizes
        texts.append(f"{queue} ({sizes.pending + sizes.running:,} messages)")
    return ", ".join(texts)


def _lines() -> Lines:
    return lines_of(load_settings().resolved())
