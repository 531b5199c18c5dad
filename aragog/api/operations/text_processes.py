"""
Extract pages' main text in a limited number of separate processes, with a deadline per page.

Pages may be hostile. If a page exceeds its limits (`pipeline.page_max_cpu_s`,
`pipeline.page_max_memory_bytes`), at most the extracting process ends. The work on a page also
stops at its deadline, or when the last caller stops waiting.

Callers that want the text of the same bytes share one extraction, and a page that exceeded its
limits is refused for a while. So a hostile page costs the same, no matter how often it is
requested.

The next page comes from the site that used the least time in the last minute. Sites that used more
than `SLOW_SITE_S` must leave one process to the others. Even many hostile pages from one site delay
another site's page by at most one extraction.

A process takes 0.5 s to start and is then kept. It ends when its input is closed, so it never
outlives the process that started it.
"""

from __future__ import annotations

import hashlib
import json
import os
import select
import subprocess
import sys
import threading
import time
import weakref
from collections import OrderedDict, deque
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, BinaryIO, cast

import orjson

from aragog.errors import TransientError, Unsupported
from aragog.settings import PipelineSettings

MAX_PROCESSES = 2
DEADLINE_S = 10.0
"""Time limit for a page's text, including the wait for a process."""
MAX_WAITING = 256
MAX_WAITING_BYTES = 64 << 20
"""Maximum total size of waiting bodies. Above this or `MAX_WAITING`, callers must retry."""
REFUSAL_TTL_S = 600.0
"""How long a page that exceeded its limits is refused without another attempt."""
_MAX_REFUSED = 1_000
SLOW_SITE_S = 2.0
"""A site whose pages took more than this in total counts as slow. A page takes about 25 ms."""
SITE_TTL_S = 60.0
"""A site's used time is reset this long after its most recent page."""
_MAX_SITES = 1_000
CRASHED = "the page crashed the process that extracted its text"
_CHECK_INTERVAL_S = 0.1
"""How often a run checks whether a caller is still waiting."""
_IDLE_TIMEOUT_S = 60.0
"""An idle thread ends after this time."""
_LENGTH_BYTES = 8


class PageTextUnavailable(Unsupported):
    """The text cannot be extracted because the page exceeds its limits."""


class TextsBusy(TransientError):
    """Too many other pages are being processed; the same call may work later."""


@dataclass(slots=True, eq=False)
class TextRun:
    """The extraction of one page's text, shared by all callers that want it."""

    key: bytes
    header: Mapping[str, Any]
    body: bytes
    deadline_s: float
    done: Future[bool] = field(default_factory=Future)
    result: dict[str, Any] = field(default_factory=dict)
    """Contains `text`. Without a text, it contains `error`, or `busy` if a retry may work."""
    callers: int = 0
    site: str = ""
    """The registered domain of the page."""
    counts_as_slow: bool = False
    """True if the run occupies one of the processes that slow sites may use."""

    @property
    def abandoned(self) -> bool:
        return self.callers <= 0


class TextProcesses:
    """
    Extracts the main text of pages. Thread-safe. Close it, or let it end with the process.

    Args:
        settings: the text finder and the limits for each page.
        deadline_s: time limit for a page, from the request on.
        max_waiting: how many pages may wait for a process.
        slow_site_s: a site whose pages took more than this in the last minute may not use the last
            process.
    """

    def __init__(
        self,
        settings: PipelineSettings,
        deadline_s: float = DEADLINE_S,
        max_waiting: int = MAX_WAITING,
        slow_site_s: float = SLOW_SITE_S,
    ) -> None:
        self._shared = _SharedState(settings, max_waiting, slow_site_s)
        self._deadline_s = deadline_s
        self._finalizer = weakref.finalize(self, self._shared.close)

    def start(self, header: Mapping[str, Any], body: bytes) -> TextRun:
        """
        Start extracting a page's text, or join the callers that are waiting for it.

        Always call `end` afterwards.

        Raises:
            PageTextUnavailable: the page exceeded its limits a short time ago.
            TextsBusy: too many pages are waiting.
        """
        return self._shared.start(header, body, time.monotonic() + self._deadline_s)

    def end(self, run: TextRun) -> None:
        """Stop waiting for a run, and stop the run if no other caller waits for it."""
        self._shared.end(run)

    def close(self) -> None:
        self._finalizer()


class _SharedState:
    """
    The state of `TextProcesses`, in its own object so that threads do not keep `TextProcesses`
    alive.
    """

    def __init__(self, settings: PipelineSettings, max_waiting: int, slow_site_s: float) -> None:
        self._settings = settings
        self._slow_site_s = slow_site_s
        self._max_waiting = max_waiting
        self._condition = threading.Condition()
        self._waiting: deque[TextRun] = deque()
        self._runs: dict[bytes, TextRun] = {}
        self._refused_pages: OrderedDict[bytes, tuple[float, str]] = OrderedDict()
        self._used_by_site: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """For each site, the time that its pages took, and when its last page was finished."""
        self._slow_count = 0
        """How many processes are working on slow sites' pages."""
        self._thread_count = 0
        self._is_closed = False

    def start(self, header: Mapping[str, Any], body: bytes, deadline_s: float) -> TextRun:
        key = _page_key(header, body)
        with self._condition:
            site = _site(str(header["url"]))
            self._check_capacity(key, site)
            run = self._runs.get(key)
            if run is None:
                run = self._runs[key] = TextRun(key, header, body, deadline_s, site=site)
                self._waiting.append(run)
                self._start_thread_or_notify()
            run.callers += 1
            return run

    def _check_capacity(self, key: bytes, site: str) -> None:
        refused_until_s, reason = self._refused_pages.get(key, (0.0, ""))
        if refused_until_s > time.monotonic():
            raise PageTextUnavailable(reason)
        if key not in self._runs and (
            len(self._waiting) >= self._max_waiting
            or sum(len(run.body) for run in self._waiting) >= MAX_WAITING_BYTES
        ):
            raise TextsBusy("main text", f"{len(self._waiting)} others are waiting; retry later")
        site_count = sum(run.site == site for run in self._waiting)
        if key not in self._runs and 2 * site_count >= self._max_waiting > 1:
            raise TextsBusy(
                "main text", f"{site_count} others from {site} are waiting; retry later"
            )

    def _start_thread_or_notify(self) -> None:
        if self._thread_count < MAX_PROCESSES and self._thread_count < len(self._runs):
            self._thread_count += 1
            threading.Thread(target=self._work, name="main-text", daemon=True).start()
        self._condition.notify()

    def end(self, run: TextRun) -> None:
        with self._condition:
            run.callers -= 1
            if run.abandoned and self._runs.get(run.key) is run:
                del self._runs[run.key]

    def close(self) -> None:
        with self._condition:
            self._is_closed = True
            for run in self._runs.values():
                run.callers = 0
            self._condition.notify_all()
            self._condition.wait_for(lambda: not self._thread_count, timeout=5)

    def _work(self) -> None:
        process: TextProcess | None = None
        try:
            while (run := self._next_run()) is not None:
                process = process or TextProcess(self._settings)
                started_s = time.monotonic()
                result = process.extract(run)
                self._record_duration(run, time.monotonic() - started_s)
                self._store_result(run, result)
                if not process.is_usable:
                    process.close()
                    process = None
        finally:
            if process is not None:
                process.close()
            with self._condition:
                self._thread_count -= 1
                self._condition.notify_all()

    def _next_run(self) -> TextRun | None:
        with self._condition:
            while not self._is_closed:
                self._drop_expired()
                if (run := self._choose_run()) is not None:
                    self._waiting.remove(run)
                    run.counts_as_slow = self._is_slow(run.site)
                    self._slow_count += run.counts_as_slow
                    return run
                if not self._condition.wait(_IDLE_TIMEOUT_S) and not self._waiting:
                    return None
            return None

    def _drop_expired(self) -> None:
        """Remove runs from the queue if no caller is waiting or the deadline has passed."""
        now_s = time.monotonic()
        for run in [run for run in self._waiting if run.abandoned or run.deadline_s <= now_s]:
            self._waiting.remove(run)
            if not run.abandoned:
                self._set_result(run, {"busy": "other pages took too long; retry later"})

    def _choose_run(self) -> TextRun | None:
        """Return the next run, or None. Slow sites' runs may not use the last process."""
        is_reserved = self._slow_count >= max(1, MAX_PROCESSES - 1)
        eligible = [run for run in self._waiting if not (is_reserved and self._is_slow(run.site))]
        # If several sites used the same time, this takes the first run in the queue.
        return min(eligible, key=lambda run: self._recent_use_s(run.site), default=None)

    def _recent_use_s(self, site: str) -> float:
        duration_s, ended_s = self._used_by_site.get(site, (0.0, 0.0))
        return duration_s if ended_s > time.monotonic() - SITE_TTL_S else 0.0

    def _is_slow(self, site: str) -> bool:
        return self._recent_use_s(site) > self._slow_site_s

    def _record_duration(self, run: TextRun, duration_s: float) -> None:
        with self._condition:
            self._slow_count -= run.counts_as_slow
            self._used_by_site[run.site] = (
                self._recent_use_s(run.site) + duration_s,
                time.monotonic(),
            )
            self._used_by_site.move_to_end(run.site)
            while len(self._used_by_site) > _MAX_SITES:
                self._used_by_site.popitem(last=False)
            self._condition.notify_all()

    def _store_result(self, run: TextRun, result: dict[str, Any]) -> None:
        with self._condition:
            if result.get("error", CRASHED) != CRASHED and not run.abandoned:
                self._refused_pages[run.key] = (time.monotonic() + REFUSAL_TTL_S, result["error"])
                while len(self._refused_pages) > _MAX_REFUSED:
                    self._refused_pages.popitem(last=False)
            self._set_result(run, result)

    def _set_result(self, run: TextRun, result: dict[str, Any]) -> None:
        run.result = result
        if self._runs.get(run.key) is run:
            del self._runs[run.key]
        run.body = b""
        if not run.done.done():
            run.done.set_result(True)


def _site(url: str) -> str:
    from urlspelling.domain import registered_domain  # noqa: PLC0415 - not in child processes

    return registered_domain(url)


def _page_key(header: Mapping[str, Any], body: bytes) -> bytes:
    digest = hashlib.blake2b(json.dumps(header, sort_keys=True).encode(), digest_size=16)
    digest.update(body)
    return digest.digest()


class TextProcess:
    """A process that extracts the text of pages, one after the other."""

    def __init__(self, settings: PipelineSettings) -> None:
        limits = (settings.page_max_cpu_s, settings.page_max_memory_bytes)
        command = [sys.executable, "-m", __name__, settings.text_finder, *map(str, limits)]
        # Discard stderr: errors are part of the results, and libraries' warnings do not belong in
        # the server's log.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a draining server still uses it after Ctrl-C
        )
        self.is_usable = True

    def extract(self, run: TextRun) -> dict[str, Any]:
        """Return a page's text, or the reason why it cannot be extracted."""
        assert self._process.stdin is not None  # noqa: S101 - a pipe, see above
        started_s = time.monotonic()
        try:
            _send_page(cast("BinaryIO", self._process.stdin), run.header, run.body)
            return self._read_result(run)
        except (BrokenPipeError, EOFError):
            self.is_usable = False
            return {"error": CRASHED}  # the page's limits or another process killed it
        except TimeoutError:
            self.is_usable = False
            return {"error": f"took more than {time.monotonic() - started_s:.1f} s"}

    def _read_result(self, run: TextRun) -> dict[str, Any]:
        assert self._process.stdout is not None  # noqa: S101 - a pipe, see above
        source = self._process.stdout.fileno()
        size = int.from_bytes(_read_bytes(source, _LENGTH_BYTES, run))
        result: dict[str, Any] = orjson.loads(_read_bytes(source, size, run))
        return result

    def close(self) -> None:
        """Stop the process, even while it is processing a page."""
        self._process.kill()
        self._process.communicate()


def _send_page(sink: BinaryIO, header: Mapping[str, Any], body: bytes) -> None:
    head = json.dumps({**header, "body_bytes": len(body)}).encode()
    sink.write(len(head).to_bytes(_LENGTH_BYTES) + head + body)
    sink.flush()


def _read_bytes(source: int, size: int, run: TextRun) -> bytes:
    """
    Read `size` bytes from a pipe.

    Raises EOFError at the pipe's end, and TimeoutError at the run's deadline or once no caller is
    waiting.
    """
    data, readable = bytearray(), select.poll()  # a server's file descriptors may exceed 1,024
    readable.register(source, select.POLLIN)
    while len(data) < size:
        remaining_s = run.deadline_s - time.monotonic()
        if remaining_s <= 0 or run.abandoned:
            raise TimeoutError
        if not readable.poll(1e3 * min(remaining_s, _CHECK_INTERVAL_S)):
            continue
        chunk = os.read(source, min(size - len(data), 1 << 20))
        if not chunk:
            raise EOFError
        data += chunk
    return bytes(data)


def _serve(finder: str, max_cpu_s: float, max_memory_bytes: int) -> None:
    from aragog.crawl.stages.page_limits import make_expendable  # noqa: PLC0415 - only in the process

    make_expendable()
    # Keep libraries' output out of the results.
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while length := source.read(_LENGTH_BYTES):
        header = json.loads(source.read(int.from_bytes(length)))
        body = source.read(header["body_bytes"])
        try:
            result = {"text": _extract_text(finder, header, body, max_cpu_s, max_memory_bytes)}
        except MemoryError:
            result = {"error": f"took more than {max_memory_bytes} bytes of memory"}
        except Exception as error:  # noqa: BLE001 - a page must not end the process
            result = {"error": f"{type(error).__name__}: {error}"[:500]}
        reply = orjson.dumps(result)
        sink.write(len(reply).to_bytes(_LENGTH_BYTES) + reply)
        sink.flush()


def _extract_text(
    finder: str, header: Mapping[str, Any], body: bytes, max_cpu_s: float, max_memory_bytes: int
) -> str:
    from aragog.crawl.stages.page_limits import PageTooExpensive, limit_resources  # noqa: PLC0415
    from aragog.pages import main_text  # noqa: PLC0415 - parsers, only in the process
    from richpins import documents  # noqa: PLC0415 - parsers, only in the process

    loaded = main_text.load(finder)
    try:
        with limit_resources(max_cpu_s, max_memory_bytes):
            page = documents.parse(body, url=header["url"], content_type=header["content_type"])
            return loaded.find(page, header["form"]).encode("utf-8", "replace").decode()
    except PageTooExpensive as error:
        raise ValueError(error.reason) from None


if __name__ == "__main__":
    _serve(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))
