"""Killed between any two writes and run again: no item is duplicated, lost, or kept after its page."""

import pytest

from aragog.urlstore.items import ItemIndex
from tests.contract.test_items import DESKS, LAMPS, cards, fetched, listed
from tests.support.faults import every_kill_point, unharmed
from tests.support.stores import NOW_MS


def before(harness):
    harness.store.write_pages(
        [
            fetched(LAMPS, stored=cards(("1", "5"), ("2", "6"))),
            fetched(DESKS, stored=cards(("2", "6"), ("9", "9"))),
        ]
    )
    harness.clock.advance_ms(100_000)


def refetch(harness):
    harness.store.write_pages(
        [fetched(LAMPS, NOW_MS + 50_000, stored=cards(("2", "7"), ("3", "8")))]
    )


def take_down(harness):
    harness.store.takedowns.take_down(url=LAMPS)


def extract_again(harness):
    again = {"items.cards": cards(("3", "8"))}
    harness.store.fields.replace(LAMPS, again, {}, at_ms=NOW_MS)


def merge(harness):
    harness.store.aliases.merge(LAMPS, DESKS, at_ms=NOW_MS + 60_000)


STEPS = (refetch, take_down, extract_again, merge)


def settled(harness):
    """What is listed before and after a repair, and the entries of the index."""
    shown = listed(harness)
    harness.clock.advance_ms(3_600_000)
    harness.store.maintenance.repair(grace_s=1)
    index = ItemIndex(harness.store.zen)
    return shown, listed(harness), sorted(entry for entry, _ in index.walk())


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_items_are_the_same_after_a_kill_and_a_rerun(step):
    expected = settled(unharmed(before, step))
    assert expected[0] == expected[1]

    points = 0
    for point, harness in every_kill_point(before, step=step):
        points += 1
        step(harness)
        assert settled(harness) == expected, f"killed before write {point}"
    assert points > 1
