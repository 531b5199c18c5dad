"""A page written after a later attempt: the store ends up as if both came in order."""

from itertools import permutations

import pytest

from tests.contract.test_canonical_agreement import LIST, fetched, shown
from tests.support.stores import NOW_MS, page

FIRST, SECOND = fetched(LIST, NOW_MS, text="first"), fetched(LIST, NOW_MS + 6, text="second")
FAILED = page(
    LIST, NOW_MS + 10, facts={"outcome": "Unreachable", "reason": "no answer", "attempts": 5}
)


def facts_after(a_stand, *pages):
    for one in pages:
        a_stand.clock.advance_ms(10)
        a_stand.store.write_pages([one])
    return a_stand.store.get(LIST).facts


@pytest.mark.parametrize("order", list(permutations([FIRST, SECOND, FAILED])))
def test_facts_are_those_of_the_last_page_and_attempt_in_any_order(a_stand, order):
    facts = facts_after(a_stand, *order, *order)

    assert facts["fetched_at_ms"] == NOW_MS + 6
    assert facts["attempted_at_ms"] == NOW_MS + 10
    assert (facts["outcome"], facts["reason"]) == ("Unreachable", "no answer")
    assert a_stand.store.content(LIST).body == b"second"
    assert a_stand.store.get(LIST).fields == {"t": b"second"}


def test_later_page_replaces_the_facts_of_a_failed_attempt(a_stand):
    last = fetched(LIST, NOW_MS + 20, text=f"the page of {LIST}")
    facts = facts_after(a_stand, FAILED, SECOND, last)

    assert "reason" not in facts
    assert facts["fetched_at_ms"] == NOW_MS + 20
    assert shown(a_stand.store, LIST) == f"the page of {LIST}"
