"""
Pages that share the record of a URL that was never fetched: what each of them keeps when the
sharing ends.
"""

from itertools import permutations

import pytest

from tests.contract.test_canonical_agreement import DECLARED, P1, P2, P3, fetched, shown, write
from tests.support.faults import every_kill_point, unharmed
from tests.support.stores import NOW_MS, page

ELSEWHERE = "http://m.shop.example/p/1"
LATER_MS = NOW_MS + 10**9


def share(harness, *urls):
    """The first URL sends the record of the declared URL; the others join it."""
    write(
        harness,
        *(
            fetched(url, NOW_MS + place, canonical_url=DECLARED, same="x")
            for place, url in enumerate(urls)
        ),
    )
    assert {shown(harness.store, url) for url in (*urls, DECLARED)} == {f"the page of {urls[0]}"}


def due(harness):
    return {each.url for each in harness.store.schedule.claim_due(LATER_MS, 9, 60)}


@pytest.mark.parametrize("first", [P1, ELSEWHERE])
def test_takedown_of_the_sender_makes_the_joined_page_due(harness, first):
    share(harness, first, P2)

    harness.store.takedowns.take_down(url=first)

    assert harness.store.takedowns.refused([first, P2, DECLARED]) == {first}
    assert not harness.store.get(P2).fields
    assert harness.store.get(DECLARED) is None
    assert P2 in due(harness)
    write(harness, fetched(P2, NOW_MS + 100, canonical_url=DECLARED))
    assert shown(harness.store, P2) == f"the page of {P2}"


@pytest.mark.parametrize("other", [P1, ELSEWHERE])
def test_takedown_of_a_joined_page_leaves_the_record_to_its_sender(harness, other):
    share(harness, P2, other, P3)

    harness.store.takedowns.take_down(url=other)

    assert harness.store.takedowns.refused([other, P2, P3, DECLARED]) == {other}
    assert shown(harness.store, other) is None
    for url in (P2, P3, DECLARED):
        assert shown(harness.store, url) == f"the page of {P2}"


def test_takedown_of_the_senders_host_makes_the_joined_page_due(harness):
    share(harness, ELSEWHERE, P2)

    harness.store.takedowns.take_down(host="m.shop.example")

    assert not harness.store.get(P2).fields
    assert harness.store.takedowns.refused([P2, DECLARED]) == set()
    assert P2 in due(harness)


def test_takedown_of_the_only_page_covers_its_declared_url(harness):
    share(harness, P1)

    harness.store.takedowns.take_down(url=P1)

    assert harness.store.takedowns.refused([P1, DECLARED]) == {P1, DECLARED}


def test_repeated_takedown_that_ended_in_its_first_step_spares_the_other_page(harness):
    share(harness, P1, P2)
    trust = harness.store.takedowns.trust
    trust.withdraw_from(DECLARED, P1, NOW_MS + 50)
    harness.clock.advance_ms(100)

    harness.store.takedowns.take_down(url=P1)
    write(harness, fetched(P2, NOW_MS + 300, canonical_url=DECLARED))

    assert shown(harness.store, P1) is None
    assert shown(harness.store, P2) == f"the page of {P2}"


def test_joined_pages_are_fetched_again_when_the_senders_site_withdraws_it(harness):
    """The withdrawal of a page does not apply to pages that only agreed with it."""
    share(harness, P1, P2)
    withdrawn = page(
        P1, NOW_MS + 50, canonical_url=DECLARED, facts={"outcome": "Reserved"}, withdrawn=True
    )

    write(harness, withdrawn)

    assert shown_fields(harness, P1) == shown_fields(harness, P2) == {}
    assert P2 in due(harness)
    write(harness, fetched(P2, NOW_MS + 100, canonical_url=DECLARED))
    assert shown(harness.store, P2) == f"the page of {P2}"


def shown_fields(harness, url):
    record = harness.store.get(url)
    return record.fields if record else {}


def test_joined_pages_keep_their_content_when_the_sender_changes(harness):
    share(harness, P1, P2, P3)
    write(harness, changed := fetched(P1, NOW_MS + 50, text="other", canonical_url=DECLARED))

    sender = harness.store.get(P2).facts["url"]
    assert sender in (P2, P3)
    for url in (P2, P3):
        record, content = harness.store.get(url), harness.store.content(url)
        assert record.fields == {"t": f"the page of {P1}".encode()}
        assert content.body == record.fields["t"]
        assert record.facts["url"] == sender
    for url in (P1, DECLARED):
        assert harness.store.get(url).fields == changed.fields
        assert harness.store.content(url).body == b"other"
    assert any("another page" in why for why in harness.store.aliases.reasons(sender))
    assert sender in due(harness)

    own = fetched(sender, NOW_MS + 100, canonical_url=DECLARED)
    write(harness, own, own)
    assert shown(harness.store, sender) == f"the page of {sender}"


def test_sender_that_changes_back_keeps_its_record(harness):
    share(harness, P1, P2)
    other = fetched(P1, NOW_MS + 50, canonical_url=DECLARED, same="y", text=f"the page of {P3}")
    write(harness, other, other, fetched(P1, NOW_MS + 90, canonical_url=DECLARED, same="x"))

    assert shown(harness.store, P1) == shown(harness.store, DECLARED) == f"the page of {P1}"
    assert shown(harness.store, P2) == f"the page of {P1}"


def test_joined_pages_keep_their_page_when_the_sender_leaves(harness):
    share(harness, P1, P2)

    write(harness, fetched(P1, NOW_MS + 50, text=f"the page of {P3}", same="y"))

    assert harness.store.get(P1).fields == {"t": f"the page of {P3}".encode()}
    assert shown(harness.store, P2) == f"the page of {P1}"


def test_agreeing_change_of_the_sender_applies_to_all(harness):
    share(harness, P1, P2)

    write(harness, fetched(P1, NOW_MS + 50, canonical_url=DECLARED, same="x", text="the page of x"))

    assert harness.store.resolve(P2) == DECLARED
    assert harness.store.get(P2).fields == {"t": b"the page of x"}


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("late_ms", [1, 3])
def test_late_page_of_a_gone_declared_url_has_its_body(harness, order, late_ms):
    pages = [
        fetched(P1, NOW_MS + 2, canonical_url=DECLARED),
        page(DECLARED, NOW_MS + 20, facts={"status": 404, "outcome": "Gone"}, gone=True),
        fetched(DECLARED, NOW_MS + late_ms),
    ]
    write(harness, *(pages[place] for place in order))

    record, content = harness.store.get(DECLARED), harness.store.content(DECLARED)
    assert record.facts["outcome"] == "Gone"
    assert (content and content.body) == record.fields.get("t")
    assert shown(harness.store, P1) == f"the page of {P1}"


def change_of_the_sender(harness):
    write(harness, fetched(P1, NOW_MS + 50, text="other", canonical_url=DECLARED))


def takedown_of_the_sender(harness):
    harness.clock.advance_ms(50)
    harness.store.takedowns.take_down(url=P1)


@pytest.mark.parametrize("step", [change_of_the_sender, takedown_of_the_sender])
def test_step_killed_at_any_write_ends_the_same_when_repeated(step):
    def shared(harness):
        share(harness, P1, P2, P3)

    def seen(harness):
        urls = (P1, P2, P3, DECLARED)
        bodies = [content and content.body for content in map(harness.store.content, urls)]
        refused = harness.store.takedowns.refused(urls)
        return [shown_fields(harness, url) for url in urls], bodies, refused

    expected = seen(unharmed(shared, step))
    points = 0
    for point, harness in every_kill_point(shared, step=step):
        points += 1
        step(harness)
        assert seen(harness) == expected, f"killed before write {point}"
    assert points > 10
