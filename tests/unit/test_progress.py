"""What the progress display of a crawl says."""

import io
from collections import Counter

import pytest
from rich.console import Console

from aragog.pipeline.statistics import counters
from aragog.standalone.progress import Bar, Snapshot, watch
from aragog.standalone.waiting import RETRY, SLOT, TURN, cause


def drawn(snapshot):
    console = Console(width=120, record=True, file=None, quiet=False, force_terminal=False)
    with console.capture() as captured:
        console.print(Bar().show(snapshot))
    return captured.get()


def test_what_is_done_of_the_total_grows_with_the_links_that_were_found():
    counts = {counters.ENQUEUED: 70, counters.STORED: 40, counters.FAILED: 5}
    snapshot = Snapshot(counts, in_flight=25, elapsed_s=10.0, older=3)

    assert (snapshot.done, snapshot.total, snapshot.rate) == (48, 73, 4.8)
    text = drawn(snapshot)
    assert "48/73" in text
    assert "4.8/s" in text
    assert "40 stored, 5 failed" in text


def test_counters_that_redis_lost_show_no_negative_number():
    assert Snapshot({}, in_flight=9, elapsed_s=1.0).done == 0


def test_what_waits_is_shown_by_its_cause():
    causes = Counter({SLOT: 4, RETRY: 2, "robots.txt": 1})

    assert Snapshot({}, 10, 1.0, causes=causes).waiting() == (
        "2 wait for a retry, 4 wait for a slot, 1 wait for robots.txt, 3 in work"
    )


def test_a_url_waits_for_its_slot_its_retry_or_a_worker():
    assert cause({"url": "http://a/", "slot_at_ms": 5, "attempt": 1}) == SLOT
    assert cause({"url": "http://a/", "attempt": 1}) == RETRY
    assert cause({"url": "http://a/"}) == TURN
    assert cause("http://a/") == TURN


class Client:
    """A producer that answers with the next of some numbers of URLs in flight."""

    def __init__(self, in_flight):
        self._in_flight = iter(in_flight)

    def in_flight(self):
        return next(self._in_flight)

    def counters(self):
        return {}


@pytest.mark.parametrize(("term", "draws"), [("xterm", True), ("dumb", False)])
def test_a_terminal_that_cannot_draw_gets_lines_instead_of_a_bar(term, draws):
    console = Console(file=io.StringIO(), force_terminal=True, _environ={"TERM": term}, width=200)

    last = watch(Client([2, 1, 0]), {}, console, lambda: True)

    assert last.in_flight == 0
    assert ("━" in console.file.getvalue()) is draws
