"""A page written after a later attempt: the store ends up as if both came in order."""

from itertools import permutations

import pytest

from tests.contract.test_canonical_agreement import LIST, fetched, shown
from tests.support.stores import NOW_MS, page

FIRST, SECOND = fetched(LIST, NOW_MS, text="first"), fetched(LIST, NOW_MS + 6, text="second")
FAILED = page(
    LIST, NOW_MS + 10, facts={"outcome": "Unreachable", "reason": "no answer", "attempts": 5}
)


def facts_after(harness, *pages):
    for one in pages:
        harness.clock.advance_ms(10)
        harness.store.write_pages([one])
    return harness.store.get(LIST).facts


@pytest.mark.parametrize("order", list(permutations([FIRST, SECOND, FAILED])))
def test_facts_are_those_of_the_last_page_and_attempt_in_any_order(harness, order):
    facts = facts_after(harness, *order, *order)

    assert facts["fetched_at_ms"] == NOW_MS + 6
    assert facts["attempted_at_ms"] == NOW_MS + 10
    assert (facts["outcome"], facts["reason"]) == ("Unreachable", "no answer")
    assert harness.store.content(LIST).body == b"second"
    assert harness.store.get(LIST).fields == {"t": b"second"}


def test_later_page_replaces_the_facts_of_a_failed_attempt(harness):
    last = fetched(LIST, NOW_MS + 20, text=f"the page of {LIST}")
    facts = facts_after(harness, FAILED, SECOND, last)

    assert "reason" not in facts
    assert facts["fetched_at_ms"] == NOW_MS + 20
    assert shown(harness.store, LIST) == f"the page of {LIST}"
