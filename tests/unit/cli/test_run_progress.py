"""The progress display of a run."""

import io
from collections import Counter

import pytest
from rich.console import Console

from aragog.cli.run_progress import Bar, Snapshot, watch
from aragog.cli.run_tracker import FinalState
from aragog.crawl.pipeline.waiting_urls import RETRY, SLOT, TURN, find_cause


def rendered(snapshot):
    console = Console(width=120, record=True, file=None, quiet=False, force_terminal=False)
    with console.capture() as captured:
        console.print(Bar().show(snapshot))
    return captured.get()


def test_total_grows_with_the_links_found():
    final_states = {FinalState.STORED: 43, FinalState.FAILED: 5}
    snapshot = Snapshot(total=73, in_flight=25, final_states=final_states, elapsed_s=10.0)

    assert (snapshot.done, snapshot.rate) == (48, 4.8)
    text = rendered(snapshot)
    assert "48/73" in text
    assert "4.8/s" in text
    assert "43 stored, 5 failed" in text


def test_waiting_urls_are_shown_by_cause():
    causes = Counter({SLOT: 4, RETRY: 2, "robots.txt": 1})

    assert Snapshot(10, 10, {}, 1.0, causes).waiting() == (
        "2 waiting for a retry, 4 waiting for a slot, 1 waiting for robots.txt, 3 in progress"
    )


def test_url_waits_for_a_slot_a_retry_or_a_worker():
    assert find_cause({"url": "http://a/", "slot_at_ms": 5, "attempt": 1}) == SLOT
    assert find_cause({"url": "http://a/", "attempt": 1}) == RETRY
    assert find_cause({"url": "http://a/"}) == TURN


class Tracker:
    """A run whose number of URLs in flight takes these values in turn."""

    def __init__(self, *in_flight):
        self._following = list(in_flight)
        self.total = self.in_flight = in_flight[0]
        self.final_states = Counter()
        self.held = 0

    @property
    def is_done(self):
        return not self.in_flight

    def update(self, _ask):
        self.in_flight = self._following.pop(0)


@pytest.mark.parametrize(("term", "draws"), [("xterm", True), ("dumb", False)])
def test_dumb_terminal_gets_lines_instead_of_a_bar(term, draws):
    console = Console(file=io.StringIO(), force_terminal=True, _environ={"TERM": term}, width=200)

    last = watch(Tracker(2, 1, 0), list, console, lambda: True)

    assert last.in_flight == 0
    assert ("━" in console.file.getvalue()) is draws


def test_lines_show_what_urls_wait_for():
    """Regression: a log showed `1 waiting` for minutes, and the reason appeared only on terminals."""
    console = Console(file=io.StringIO(), width=200)

    watch(
        Tracker(3, 2, 0),
        list,
        console,
        lambda: True,
        lambda: Counter({RETRY: 1, SLOT: 0}),
        line_every_s=0,
    )

    first, *_, last = console.file.getvalue().splitlines()
    assert " 3 waiting (1 waiting for a retry, 2 in progress), 0 stored" in first
    assert " 0 waiting, 0 stored" in last
