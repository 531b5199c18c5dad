"""Crawl with a running system: enqueue the URLs, wait for them, and report."""

from __future__ import annotations

import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from aragog.bootstrap.redis_services import lines_of
from aragog.bootstrap.stores import url_store
from aragog.cli.enqueue import LineSource, require_contact, result_line, summary
from aragog.cli.exit_status import BAD_LINES, DONE, UNUSABLE, WAITING
from aragog.cli.run_changes import RunChanges
from aragog.cli.run_options import RunOptions
from aragog.cli.run_progress import waiting_for, watch
from aragog.cli.run_report import (
    MAX_CANDIDATES,
    best_record,
    card,
    completeness,
    files_text,
    print_outcomes,
    print_problems,
)
from aragog.cli.run_tracker import FinalState, RequeueOptions, RunTracker
from aragog.cli.terminal import note, warn
from aragog.cli.up import addresses
from aragog.client import Aragog
from aragog.crawl.pipeline.crawl_records import CrawlRecord
from aragog.crawl.pipeline.enqueue_results import EnqueueResult, EnqueueStatus
from aragog.crawl.pipeline.messages import PRIORITY_DEFAULT
from aragog.crawl.pipeline.shared_state import SharedState
from aragog.crawl.pipeline.waiting_urls import SLOT
from aragog.crawl.stages.enqueue import CHUNK_SIZE
from aragog.errors import SlowDown
from aragog.settings import Settings
from aragog.urlstore.store import UrlStore
from pinlater.admin import Admin
from pinlater.brokers import kind_of

MAX_INVALID_SHOWN = 10


class RunResult(NamedTuple):
    """The result of a run."""

    finished: bool
    """False if the run was stopped before all URLs were done."""
    lines: Mapping[EnqueueStatus, int]
    """Number of input lines by status."""

    @property
    def status(self) -> int:
        """The exit status. It does not depend on sites' responses."""
        if not sum(self.lines.values()):
            return UNUSABLE
        if not self.finished:
            return WAITING
        return BAD_LINES if self.lines.get(EnqueueStatus.INVALID) else DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawl:
    """One run of `aragog run` on a running system."""

    settings: Settings
    urls: Iterable[str]
    line_sources: Iterable[LineSource]
    """The sources of URLs, for messages about invalid ones."""
    options: RunOptions
    console: Console

    def run(self, tick: Callable[[], bool]) -> RunResult:
        """
        Crawl until all URLs are done or `tick` returns False. `tick` is called often.

        Raises:
            ConfigError: the settings do not permit fetching one of the URLs.
        """
        with closing(url_store(self.settings)) as store:
            output, refresh = self.options.output, self.options.refresh
            on_stored = partial(output.add, store=store) if output else None
            record = self._start()
            tracker = RunTracker(
                self.settings, store, on_stored, refresh=refresh, crawl=record.number
            )
            with closing(tracker), Aragog(self.settings) as client:
                changes = RunChanges(self.settings, store, record)
                first_urls, lines, enqueued_all = self._enqueue(client, tracker, tick)
                enqueue_again = partial(self._enqueue_again, client, tracker)
                count_causes = self._cause_counter(tracker)
                watch_run = partial(
                    watch,
                    tracker,
                    enqueue_again,
                    self.console,
                    self._wrap_tick(store, tick),
                    count_causes,
                )
                snapshot = watch_run()
                if enqueued_all and self._enqueue_unlinked(changes, client, tracker, tick):
                    snapshot = watch_run(earlier_s=snapshot.elapsed_s)
            if not self.console.is_interactive:
                self.console.print(snapshot.line(), highlight=False, soft_wrap=True)
            summary_text = output.write(store) if output else ""
            if summary_text:
                self.console.print(summary_text, highlight=False, soft_wrap=True)
            self._report(store, tracker, first_urls)
            finished = enqueued_all and tracker.is_done
            if finished and self.options.reports_changes:
                changes.report(self.options.changes)
            if finished:
                changes.finish()
            if closing_note := completeness(output, tracker) if output else files_text(tracker):
                note(closing_note, err=True)
        return RunResult(finished, lines)

    def _enqueue_unlinked(
        self, changes: RunChanges, client: Aragog, tracker: RunTracker, tick: Callable[[], bool]
    ) -> int:
        if not tracker.is_done or not self.options.reports_changes:
            return 0
        wait = partial(_wait_for_capacity, tick, self.console)
        return changes.enqueue_unlinked(client, tracker, wait, priority=self.options.priority)

    def _wrap_tick(self, store: UrlStore, tick: Callable[[], bool]) -> Callable[[], bool]:
        """Return a `tick` that also continues to extract the texts of stored pages."""
        output = self.options.output

        def tick_and_start_texts() -> bool:
            if output:
                output.continue_texts(store)
            return tick()

        return tick_and_start_texts

    def _start(self) -> CrawlRecord:
        registry, name = SharedState.from_settings(self.settings).crawls, self.options.crawl
        options = {"depth": self.options.depth, "priority": self.options.priority}
        if name in registry.read().records:  # omitted options keep their values
            defaults = {"depth": 0, "priority": PRIORITY_DEFAULT}
            options = {n: value for n, value in options.items() if value != defaults[n]}
        return registry.start(name, options)

    def _enqueue(
        self, client: Aragog, tracker: RunTracker, tick: Callable[[], bool]
    ) -> tuple[list[str], Mapping[EnqueueStatus, int], bool]:
        """
        Enqueue the lines. Returns some of their URLs, counts by status, and True if all lines were
        sent.
        """
        by_status: Counter[EnqueueStatus] = Counter()
        first_urls: list[str] = []
        is_complete = False
        results = zip(self._send_lines(client, tracker, tick), self.line_sources, strict=False)
        for number, (result, source) in enumerate(results, 1):
            by_status[result.status] += 1
            self._track(result, source, tracker, shown=by_status[result.status])
            if result.url and len(first_urls) < MAX_CANDIDATES:
                first_urls.append(result.url)
            if number % CHUNK_SIZE == 0 and not tick():
                text = f"stopped after {number} URLs of the list; the rest was not enqueued"
                warn(self.console, text)
                break
        else:
            is_complete = True
        self.console.print(summary(by_status), highlight=False)
        return first_urls, by_status, is_complete

    def _send_lines(
        self, client: Aragog, tracker: RunTracker, tick: Callable[[], bool]
    ) -> Iterable[EnqueueResult]:
        return client.enqueue_all(
            require_contact(self.urls, self.settings),
            **self._options(tracker),
            on_wait=partial(_wait_for_capacity, tick, self.console),
        )

    def _enqueue_again(
        self, client: Aragog, tracker: RunTracker, urls: Sequence[str], options: RequeueOptions
    ) -> Iterable[EnqueueResult]:
        """Enqueue URLs again that were in flight (being processed) for another crawl."""
        return client.enqueue_all(urls, **self._options(tracker) | options._asdict())

    def _options(self, tracker: RunTracker) -> dict[str, Any]:
        options = self.options
        return {
            "priority": options.priority,
            "depth": options.depth,
            "refresh": options.refresh,
            "include": options.include,
            "exclude": options.exclude,
            "request_id": tracker.request_id,
            "crawl": self.options.crawl,
        }

    def _track(
        self, result: EnqueueResult, source: LineSource, tracker: RunTracker, *, shown: int
    ) -> None:
        if result.url and result.reason is None:
            was_in_flight = result.status is EnqueueStatus.WAITING
            tracker.add(result.url, depth=self.options.depth, was_in_flight=was_in_flight)
            return
        tracker.count_rejected()
        if shown <= MAX_INVALID_SHOWN:
            warn(self.console, result_line(result, source))

    def _cause_counter(self, tracker: RunTracker) -> Callable[[], Counter[str]]:
        """
        Return a function that counts URLs by the cause of their wait. Without pinlater, it counts
        nothing.
        """
        broker = self.settings.resolved().broker
        if kind_of(broker.url) != "pinlater":
            return Counter
        admin, lines = Admin.connect(broker.url, broker.shards), lines_of(self.settings)

        def count_causes() -> Counter[str]:
            counts = waiting_for(admin, lines, tracker.request_id)
            other_count = counts.total() - counts[SLOT]
            counts[SLOT] = max(0, min(counts[SLOT], tracker.in_flight - other_count))
            return counts

        return count_causes

    def _report(self, store: UrlStore, tracker: RunTracker, first_urls: Sequence[str]) -> None:
        console, name = self.console, program()
        count = tracker.final_states[FinalState.REFUSED] + tracker.final_states[FinalState.FAILED]
        print_problems(list(tracker.problems.values()), count, self.settings, console)
        print_outcomes(tracker.outcomes, console)
        if not tracker.is_done:
            held_text = f" and {tracker.held} links are held" if tracker.held else ""
            waiting = f"{tracker.in_flight} URLs are still waiting{held_text}"
            warn(console, f"{waiting}; `{name} up` continues with them")
        example_url = _show_best_page(store, first_urls, console) or next(iter(first_urls), "URL")
        console.print(addresses(self.settings), markup=False, highlight=False, soft_wrap=True)
        hint = f"look:    {name} show '{example_url}'"
        console.print(hint, highlight=False, markup=False, soft_wrap=True)


def _show_best_page(store: UrlStore, urls: Sequence[str], console: Console) -> str | None:
    """
    On a terminal, show the title, type and other values of one page. Returns the page's URL, or
    None if none is shown.
    """
    if not console.is_terminal or console.quiet:
        return None
    record = best_record(store, urls)
    if record is None:
        return None
    console.print(card(store, record))
    return record.canonical_url


def _wait_for_capacity(tick: Callable[[], bool], console: Console, refusal: SlowDown) -> None:
    """Report that the broker is full. Raises `refusal` if the run was stopped meanwhile."""
    if not tick():
        raise refusal
    warn(console, f"waiting: {refusal}")


def program() -> str:
    """Return the command for this program: its name if it is on the PATH, else its path."""
    if shutil.which("aragog"):
        return "aragog"
    script = Path(sys.argv[0])
    return os.path.relpath(script) if script.name == "aragog" else "python -m aragog.cli"
