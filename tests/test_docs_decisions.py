"""Decisions in docs/adr/ state figures of the code as it is."""

from pathlib import Path

import pytest

from aragog.api import hedging
from aragog.api.http.routes import changes
from aragog.dashboard import domain_list, domains
from aragog.pages.markup_limits import _MAX_EQUAL, _MAX_REOPENED
from aragog.pages.structured_data import words
from aragog.pinlater import consumer, gates
from aragog.pipeline import crawl_log, lanes, metric_totals, spool_room
from aragog.pipeline.spool import SpoolBounds
from aragog.politeness import limiter, overrides, permits, robots_cache
from aragog.politeness.slots import STATE
from aragog.settings import Settings
from aragog.urlstore import crawl_budget, feed
from aragog.workers import roles
from aragog.zen import compaction
from aragog.zen.codec import BUCKETS
from aragog.zen.inlinks import groups
from aragog.zen.link_records import ListLimits

ADR = Path(__file__).resolve().parent.parent / "docs" / "adr"
LISTS = ListLimits()
SPOOL = SpoolBounds(32)

FIGURES = {
    1: [f"keeps {STATE.size} bytes for each domain"],
    11: [f"The default stays {Settings().store.sqlite_shards},"],
    54: [f"a DFA of {len(words._WORDS)} words", f"more than {words.MAX_PLACES} places"],
    64: [
        f"together at {100 * hedging.EXTRA_SHARE:g} %",
        f"past which {90 * hedging.EXTRA_SHARE:g} %",
    ],
    72: [f"in {BUCKETS} buckets", f"({domains.MOST_RANKED:,} a node)"],
    73: [f"written {crawl_log.SETTLED_MS // 1000} s after its end"],
    78: [f"{'four' if groups.HOST_BYTES == 4 else '?'} bytes of a hash of the host"],
    79: [
        f"exceeds {LISTS.group_lines} lines",
        f"A list longer than {LISTS.inline_lines} lines leaves its group",
    ],
    87: [f"{spool_room.MOST_BATCHES} at first, finally 1", f"are nice ({roles.YIELDING})"],
    94: [
        f"the claims of the next {gates.ASK_EVERY_S} s",
        f"at most {spool_room.MOST_BATCHES / gates.ASK_EVERY_S:g} batches a second",
    ],
}
IN_WORDS = [
    (1, permits.ALLOWANCE_US, 250_000, "more than a quarter of a second"),
    (10, compaction.GRACE_MS, 600_000, "after ten minutes"),
    (31, feed.SETTLE_MS, 2_000, "two seconds behind the clock"),
    (31, (BUCKETS, changes.LOOK_S), (16, 0.5), "sixteen short scans each half second"),
    (32, crawl_budget.HOPELESS_AGES, 6, "once in six of the domain's usual intervals"),
    (34, lanes.AHEAD_S, 10, "within ten seconds"),
    (62, robots_cache.LOOK_AGAIN_S, 5, "own memory for five seconds"),
    (64, hedging.DOWN_AFTER_S, 1, "of the primary for a second"),
    (71, limiter.STOPPED_AGAIN_S, 300, "every five minutes"),
    (71, overrides.CHECK_EVERY_S, 1, "once a second"),
    (72, domain_list.MOST_READ_S, 1, "reads for a second at most"),
    (74, metric_totals.SHIP_EVERY_S, 5, "every five seconds"),
    (76, consumer.LOOK_EVERY_S, 1, "looks once a second"),
    (86, (_MAX_EQUAL, _MAX_REOPENED), (3, 10**6), "at most three of each spelling"),
    (87, (SPOOL.high_bytes, SPOOL.low_bytes), (12, 11), "at 3/8 of the spool and resume 1/32"),
    (87, SPOOL.claimed_bytes, 16, "may fill it to 1/2"),
]


def text_of(number):
    """A decision with every run of white space as one space."""
    (path,) = ADR.glob(f"{number:04}-*.md")
    return " ".join(path.read_text().split())


@pytest.mark.parametrize(
    ("number", "statement"), [(number, each) for number, some in FIGURES.items() for each in some]
)
def test_a_figure_of_a_decision_is_that_of_the_code(number, statement):
    assert statement in text_of(number)


@pytest.mark.parametrize(("number", "constant", "value", "statement"), IN_WORDS)
def test_a_number_in_words_is_that_of_the_code(number, constant, value, statement):
    assert constant == value
    assert statement in text_of(number)


@pytest.mark.parametrize("path", sorted(ADR.glob("*.md")), ids=lambda path: path.name[:4])
def test_a_decision_begins_with_its_number(path):
    assert path.read_text().startswith(f"# {int(path.name[:4])}. ")
