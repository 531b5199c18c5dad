"""Which pages share a canonical URL, on every engine: those whose content agrees with it."""

from itertools import permutations

import pytest

from aragog.urlstore import nodes
from aragog.urlstore.records import Likeness
from aragog.urlstore.writing.alias_merger import ALIAS
from aragog.urlstore.writing.write_planner import CLAIM_MS
from tests.support.stores import NOW_MS, SAME, body, node_id, page
from urlspelling import url_key

LIST, SECOND = "http://shop.example/list", "http://shop.example/list?page=2"
P1, P2, P3 = (f"http://shop.example/p/{n}" for n in (1, 2, 3))
DECLARED = "http://shop.example/p/undefined"
OK = {"status": 200}


def fetched(url, at_ms=NOW_MS, *, text="", canonical_url=None, same=None, **parts):
    """A fetch with its own text, body and link; pages with the same `same` agree."""
    text = text or f"the page of {url}"
    return page(
        url, at_ms, canonical_url=canonical_url or url, fields={"t": text.encode()},
        provenance={"t": "meta"}, content=body(text), links=[f"{url}/link"], facts=OK,
        complete=True, likeness=Likeness(body=same or text),
        provisional=canonical_url not in (None, url),
        canonical_reasons=(f"<link rel=canonical> names {canonical_url}",), **parts,
    )  # fmt: skip


def shown(store, url):
    """What readers get for a URL: field, body and links, all from one page."""
    record, content = store.get(url), store.content(url)
    links = {link.url.removesuffix("/link") for link in store.links.outlinks(url).items}
    if record is None:
        assert content is None
        assert not links
        return None
    text = record.fields["t"].decode()
    assert content.body == record.fields["t"]
    assert links == {text.removeprefix("the page of ")}
    return text


def write(harness, *pages):
    for one in pages:
        harness.clock.advance_ms(10)
        harness.store.write_pages([one])


def test_second_list_page_does_not_replace_the_first(harness):
    write(harness, fetched(LIST), fetched(SECOND, NOW_MS + 5, canonical_url=LIST))

    for url in (LIST, SECOND):
        assert shown(harness.store, url) == f"the page of {url}"
        assert harness.store.resolve(url) == url
    assert harness.store.aliases.of(LIST) == []
    assert any(f"{LIST} was fetched" in why for why in harness.store.aliases.reasons(SECOND))


@pytest.mark.parametrize("other", ["http://m.shop.example/list", "http://www.shop.example/list"])
def test_agreeing_page_is_served_as_the_fetched_one_on_any_host(harness, other):
    write(
        harness,
        fetched(LIST, same="x"),
        fetched(other, NOW_MS + 5, canonical_url=LIST, same="x"),
    )

    assert shown(harness.store, other) == shown(harness.store, LIST) == f"the page of {LIST}"
    assert harness.store.aliases.of(LIST) == [other]
    assert not harness.store.get(other).provisional


def test_page_that_later_agrees_loses_its_own_record(harness):
    write(
        harness,
        fetched(LIST),
        fetched(SECOND, NOW_MS + 5, canonical_url=LIST),
        fetched(SECOND, NOW_MS + 20, canonical_url=LIST, same=f"the page of {LIST}"),
    )

    assert shown(harness.store, SECOND) == shown(harness.store, LIST) == f"the page of {LIST}"
    assert len(harness.bodies()) == 1


def test_alias_that_no_longer_agrees_gets_its_own_record(harness):
    write(
        harness,
        fetched(LIST, same="x"),
        fetched(SECOND, NOW_MS + 5, canonical_url=LIST, same="x"),
        fetched(SECOND, NOW_MS + 20, canonical_url=LIST),
    )

    assert shown(harness.store, SECOND) == f"the page of {SECOND}"
    assert shown(harness.store, LIST) == f"the page of {LIST}"
    assert harness.store.aliases.of(LIST) == []


def test_unfetched_canonical_url_shows_the_first_page_that_names_it(harness):
    write(harness, fetched(P1, canonical_url=DECLARED))

    assert shown(harness.store, DECLARED) == shown(harness.store, P1) == f"the page of {P1}"
    assert harness.store.get(P1).provisional


def test_second_page_joins_an_unfetched_canonical_url_if_it_agrees(harness):
    write(
        harness,
        fetched(P1, canonical_url=DECLARED, same="x"),
        fetched(P2, NOW_MS + 5, canonical_url=DECLARED, same="x"),
    )

    assert {shown(harness.store, url) for url in (P1, P2, DECLARED)} == {f"the page of {P1}"}
    assert sorted(harness.store.aliases.of(DECLARED)) == [P1, P2]


@pytest.mark.parametrize("together", [True, False])
def test_first_disagreement_ends_trust_in_an_unfetched_canonical_url(harness, together):
    pages = [
        fetched(P1, canonical_url=DECLARED, due_at_ms=NOW_MS + 99),
        fetched(P2, NOW_MS + 5, canonical_url=DECLARED),
        fetched(P3, NOW_MS + 6, canonical_url=DECLARED, same=f"the page of {P1}"),
    ]
    if together:
        harness.clock.advance_ms(10)
        written = harness.store.write_pages(pages)
        assert [one.unconfirmed for one in written] == [None, DECLARED, DECLARED]
    else:
        write(harness, *pages)

    for url in (P1, P2, P3):
        assert shown(harness.store, url) == f"the page of {url}"
        assert not harness.store.get(url).provisional
        assert any("not trusted" in why for why in harness.store.aliases.reasons(url))
    assert harness.store.get(DECLARED) is None
    assert list(harness.store.aliases.of(DECLARED)) == []
    # Nobody asked for the declared URL, so it is not due either.
    due = {due.url for due in harness.store.schedule.claim_due(NOW_MS + 10**9, 9, 60)}
    assert DECLARED not in due


def test_joined_pages_keep_a_page_when_trust_ends(harness):
    write(
        harness,
        fetched(P1, canonical_url=DECLARED, same="x"),
        fetched(P2, NOW_MS + 5, canonical_url=DECLARED, same="x"),
        fetched(P3, NOW_MS + 6, canonical_url=DECLARED),
    )

    assert shown(harness.store, P1) == shown(harness.store, P2) == f"the page of {P1}"
    assert harness.store.resolve(P2) == P1
    assert shown(harness.store, P3) == f"the page of {P3}"
    assert any(P3 in why for why in harness.store.aliases.reasons(P2))


@pytest.mark.parametrize("agrees", [True, False])
def test_declared_url_decides_once_it_is_fetched(harness, agrees):
    same = f"the page of {P1}" if agrees else None
    write(
        harness,
        fetched(P1, canonical_url=DECLARED),
        fetched(P2, NOW_MS + 5, canonical_url=DECLARED),
        fetched(DECLARED, NOW_MS + 20, same=same),
    )
    assert shown(harness.store, DECLARED) == f"the page of {DECLARED}"
    assert shown(harness.store, P1) == f"the page of {P1}"

    write(
        harness,
        fetched(P1, NOW_MS + 40, canonical_url=DECLARED),
        fetched(P2, NOW_MS + 41, canonical_url=DECLARED),
    )

    assert shown(harness.store, DECLARED) == f"the page of {DECLARED}"
    assert shown(harness.store, P1) == f"the page of {DECLARED if agrees else P1}"
    assert shown(harness.store, P2) == f"the page of {P2}"


@pytest.mark.parametrize("agrees", [True, False])
def test_fetching_a_provisional_canonical_url_confirms_or_ends_trust(harness, agrees):
    write(
        harness,
        fetched(P1, canonical_url=DECLARED, same="x"),
        fetched(P2, NOW_MS + 5, canonical_url=DECLARED, same="x"),
        fetched(DECLARED, NOW_MS + 20, same="x" if agrees else "y"),
    )

    assert shown(harness.store, DECLARED) == f"the page of {DECLARED}"
    kept = f"the page of {DECLARED if agrees else P1}"
    assert shown(harness.store, P1) == shown(harness.store, P2) == kept
    assert not harness.store.get(P1).provisional


def test_gone_target_gets_no_alias(harness):
    gone = page(DECLARED, facts={"status": 404, "outcome": "Gone"}, gone=True)
    write(harness, gone, fetched(P1, NOW_MS + 5, canonical_url=DECLARED))

    assert harness.store.resolve(P1) == P1
    assert shown(harness.store, P1) == f"the page of {P1}"


@pytest.mark.parametrize("agrees", [True, False])
def test_redirecting_target_leads_to_the_last_url_of_its_chain(harness, agrees):
    moved = fetched(DECLARED, final_url=LIST, text=f"the page of {LIST}", same="x")
    moved = page(
        DECLARED, final_url=LIST, canonical_url=LIST, fields=moved.fields, content=moved.content,
        links=[f"{LIST}/link"], facts=OK, likeness=moved.likeness,
    )  # fmt: skip
    other = fetched(P1, NOW_MS + 5, canonical_url=DECLARED, same="x" if agrees else "y")
    write(harness, moved, other)

    assert harness.store.resolve(P1) == (LIST if agrees else P1)
    assert shown(harness.store, P1) == f"the page of {LIST if agrees else P1}"
    assert shown(harness.store, DECLARED) == f"the page of {LIST}"


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_no_page_is_served_as_a_different_one_in_any_order(harness, order):
    pages = [
        fetched(P1, NOW_MS + 1, canonical_url=DECLARED),
        fetched(P2, NOW_MS + 2, canonical_url=DECLARED),
        fetched(P3, NOW_MS + 3, canonical_url=P1),
        fetched(DECLARED, NOW_MS + 4),
    ]
    chosen = [pages[n] for n in order]
    write(harness, *chosen, *chosen)

    for url in (P1, P2, P3, DECLARED):
        assert shown(harness.store, url) == f"the page of {url}"
    harness.clock.advance_ms(3_600_000)
    harness.store.maintenance.repair(grace_s=0.001)
    for url in (P1, P2, P3, DECLARED):
        assert shown(harness.store, url) == f"the page of {url}"


def test_aliases_of_older_versions_stay_until_they_can_be_compared(harness):
    """A page stored without a likeness is neither joined nor separated by a guess."""
    old = page(LIST, fields={"t": b"list"}, content=body("list"), facts=OK)
    harness.store.write_pages([old])
    harness.store.aliases.merge(SECOND, LIST, at_ms=NOW_MS)

    write(
        harness,
        fetched(SECOND, NOW_MS + 5, canonical_url=LIST),
        fetched(P1, NOW_MS + 6, canonical_url=LIST),
    )

    assert harness.store.resolve(SECOND) == LIST
    assert harness.store.get(LIST).fields == {"t": b"list"}
    assert shown(harness.store, P1) == f"the page of {P1}"


def test_watches_stay_with_their_pages_when_trust_ends(harness):
    write(harness, fetched(P1, canonical_url=DECLARED))
    harness.store.schedule.watch(P1, "team")

    write(harness, fetched(P2, NOW_MS + 20, canonical_url=DECLARED))

    assert harness.store.schedule.watchers(P1) == ["team"]
    assert harness.store.schedule.watchers(P2) == harness.store.schedule.watchers(DECLARED) == []


def test_watches_of_an_alias_leave_with_it_when_it_no_longer_agrees(harness):
    write(
        harness,
        fetched(LIST, same="x"),
        fetched(SECOND, NOW_MS + 5, canonical_url=LIST, same="x"),
    )
    for url, owner in ((LIST, "lists"), (SECOND, "seconds")):
        harness.store.schedule.watch(url, owner)

    write(harness, fetched(SECOND, NOW_MS + 30, canonical_url=LIST))

    assert harness.store.schedule.watchers(LIST) == ["lists"]
    assert harness.store.schedule.watchers(SECOND) == ["seconds"]
    assert shown(harness.store, SECOND) == f"the page of {SECOND}"
    assert harness.store.zen.get_edge(node_id(SECOND), ALIAS, node_id(LIST)) is None


def test_likeness_agrees_with_itself_unless_it_is_empty():
    assert SAME.agrees(SAME)
    assert not Likeness().agrees(Likeness())


def test_only_one_of_two_simultaneous_first_writers_gets_the_canonical_url(harness):
    """The other keeps its own record for now and may join when it is fetched again."""
    leases = harness.store.zen.nodes.leases(nodes.CLAIM, CLAIM_MS, harness.clock)
    assert leases.take(node_id(DECLARED), None, url_key(P2))

    write(harness, fetched(P1, canonical_url=DECLARED))
    assert harness.store.resolve(P1) == P1
    assert shown(harness.store, P1) == f"the page of {P1}"
    assert harness.store.get(DECLARED) is None

    write(harness, fetched(P2, NOW_MS + 5, canonical_url=DECLARED))
    assert shown(harness.store, DECLARED) == f"the page of {P2}"


def test_claim_of_a_lost_process_expires(harness):
    leases = harness.store.zen.nodes.leases(nodes.CLAIM, CLAIM_MS, harness.clock)
    leases.take(node_id(DECLARED), None, url_key(P2))
    harness.clock.advance_ms(CLAIM_MS + 1)

    write(harness, fetched(P1, NOW_MS + CLAIM_MS, canonical_url=DECLARED))

    assert shown(harness.store, DECLARED) == shown(harness.store, P1) == f"the page of {P1}"


def test_older_fetch_of_an_alias_does_not_mix_into_its_page(harness):
    write(
        harness,
        fetched(LIST, same="x"),
        fetched(SECOND, NOW_MS + 20, canonical_url=LIST, same="x"),
        fetched(SECOND, NOW_MS + 10, same="older"),
    )

    assert shown(harness.store, SECOND) == shown(harness.store, LIST) == f"the page of {LIST}"


@pytest.mark.parametrize("same", ["x", "y"])
def test_joined_page_keeps_a_page_when_its_canonical_url_names_another(harness, same):
    write(
        harness,
        fetched(P1, canonical_url=P2, same="x"),
        fetched(P2, NOW_MS + 5, same="x"),
        fetched(P2, NOW_MS + 20, canonical_url=P3, same=same),
    )

    for url in (P1, P2, P3):
        assert shown(harness.store, url) == f"the page of {P2}"
        assert harness.store.resolve(url) == P3


@pytest.mark.parametrize("gone", [True, False])
def test_joined_pages_are_refetched_when_their_canonical_url_changes(harness, gone):
    """Without their own schedule, they would be served as a page that they differ from."""
    later = (
        page(LIST, NOW_MS + 20, facts={"status": 404, "outcome": "Gone"}, gone=True)
        if gone
        else fetched(LIST, NOW_MS + 20, same="y")
    )
    write(
        harness,
        fetched(LIST, same="x"),
        fetched(SECOND, NOW_MS + 5, canonical_url=LIST, same="x"),
        fetched(P1, NOW_MS + 6, canonical_url=LIST, same="x"),
        later,
    )
    due = harness.store.schedule.claim_due(NOW_MS + 10**9, 9, 60)
    assert {one.url for one in due} >= {SECOND, P1}

    failed = page(P1, NOW_MS + 39, facts={"status": 500, "outcome": "Unreachable"})
    write(harness, fetched(SECOND, NOW_MS + 40, canonical_url=LIST, same="x"), failed)

    assert shown(harness.store, SECOND) == f"the page of {SECOND}"
    due = harness.store.schedule.claim_due(NOW_MS + 10**10, 9, 60)
    assert P1 not in {one.url for one in due}


def test_page_that_still_agrees_makes_no_alias_due(harness):
    write(
        harness,
        fetched(LIST, same="x"),
        fetched(SECOND, NOW_MS + 5, canonical_url=LIST, same="x"),
        fetched(LIST, NOW_MS + 20, same="x", text="the page of " + LIST),
    )

    assert SECOND not in {d.url for d in harness.store.schedule.claim_due(NOW_MS + 10**9, 9, 60)}
