"""
Aliases on every engine: merging in any order, undoing, provisional aliases, chains and cycles.
"""

from itertools import permutations

import pytest

from aragog.crawl.pipeline.messages import FetchResult, UrlJob
from aragog.crawl.stages.page_updates import failure_update
from aragog.fetch_record.outcome import WITHHELD, FetchRecord
from aragog.settings import Settings
from tests.support.stores import NOW_MS, SAME, alias_page, body, node_id, page

HOUR_MS = 3_600_000
A, B, C, D = (f"http://{x}.example/" for x in "abcd")


def test_alias_data_moves_with_its_timestamps(harness):
    store = harness.store
    store.write_pages(
        [page(A, NOW_MS - 9, fields={"t": b"old"}, content=body("a"), links=[C], due_at_ms=NOW_MS)]
    )
    store.put(B, {"t": b"new"}, at_ms=NOW_MS - 5)
    store.put(A, {"only": b"1"}, at_ms=NOW_MS - 7, provenance={"only": "team"})

    store.aliases.merge(A, B, at_ms=NOW_MS)

    record = store.get(A, info=True)
    assert record.canonical_url == B
    assert record.fields == {"t": b"new", "only": b"1"}
    assert record.info["only"].at_ms == NOW_MS - 7
    assert record.info["only"].provenance == "team"
    assert store.content(B).body == b"a"
    assert [link.url for link in store.links.outlinks(B).items] == [C]
    assert store.aliases.of(B) == [A]
    assert store.schedule.claim_due(NOW_MS + 99, 10, 5) == []
    assert len(harness.bodies()) == 1
    harness.compact()
    assert harness.sources(C) == [B]


@pytest.mark.parametrize("order", [*permutations("ABX"), tuple("ABXABX")])
def test_merging_twice_or_in_any_order_gives_the_same_result(harness, order):
    store = harness.store
    store.put(A, {"f": b"a", "a": b"1"}, at_ms=NOW_MS - 5)
    store.put(B, {"f": b"b", "b": b"1"}, at_ms=NOW_MS - 4)
    store.put(C, {"f": b"c", "c": b"1"}, at_ms=NOW_MS - 6)
    steps = {
        "A": lambda: store.aliases.merge(A, C, at_ms=NOW_MS - 2),
        "B": lambda: store.aliases.merge(B, C, at_ms=NOW_MS - 1),
        "X": lambda: store.aliases.merge(A, D, at_ms=NOW_MS - 3),
    }

    for step in order:
        harness.clock.advance_ms(1)
        steps[step]()

    assert store.resolve(A) == store.resolve(B) == C
    assert set(store.aliases.of(C)) == {A, B}
    assert store.aliases.of(D) == []
    fields = store.get(A).fields
    assert fields["f"] == b"b"
    assert fields["b"] == fields["c"] == b"1"


def test_writes_through_an_alias_go_to_its_canonical_url(harness):
    store = harness.store
    store.aliases.merge(A, B)

    store.put(A, {"f": b"1"})
    store.put_content(A, b"body")
    store.links.add(A, [])
    store.schedule.plan(A, NOW_MS + 5)

    assert store.get(B).fields == {"f": b"1"}
    assert store.content(B).body == b"body"
    assert [due.url for due in store.schedule.claim_due(NOW_MS + 9, 5, 5)] == [B]


def test_links_to_an_alias_count_for_its_canonical_url_until_undone(harness):
    store = harness.store
    store.write_pages([page(C, links=[A, B]), page(D, links=[A])])
    harness.compact()
    store.aliases.merge(A, B)

    merged = store.links.inlinks(B).items
    assert [(link.target, link.url) for link in merged] == [(B, C), (A, C), (A, D)]
    assert harness.sources(A) == [C, C, D]
    assert store.links.count_inlinks(A) == 3
    store.aliases.undo(A)

    assert harness.sources(A) == [C, D]
    assert harness.sources(B) == [C]
    assert store.links.count_inlinks(B) == 1


def test_undoing_an_alias_restores_its_data(harness):
    store = harness.store
    store.write_pages([alias_page(A, B, "1", [C])])
    store.put(B, {"team": b"2"}, at_ms=NOW_MS - 5)
    assert store.get(A).provisional

    store.aliases.undo(A)

    assert store.get(A).canonical_url == A
    assert store.get(A).fields == {"t": b"1"}
    assert store.content(A).body == b"1"
    assert [link.url for link in store.links.outlinks(A).items] == [C]
    assert store.aliases.of(B) == []
    assert store.content(B) is None
    assert store.links.outlinks(B).items == []


BANK, EVIL = "http://bank.host.example/p", "http://evil.host.example/p"
OK = {"status": 200}


@pytest.mark.parametrize("canonical_from_the_start", [True, False])
def test_page_that_agrees_with_its_canonical_url_only_becomes_an_alias(
    harness, canonical_from_the_start
):
    store = harness.store
    store.write_pages(
        [
            page(
                BANK,
                fields={"t": b"bank"},
                content=body("bank"),
                links=[C],
                facts=OK,
                complete=True,
                likeness=SAME,
            )
        ]
    )
    names = BANK if canonical_from_the_start else EVIL
    for at_ms in (NOW_MS + 5, NOW_MS + 9):
        harness.clock.advance_ms(10)
        evil = page(
            EVIL, at_ms, canonical_url=names, fields={"t": b"evil", "more": b"evil"},
            provenance={"t": "meta", "more": "meta"}, content=body("evil"), links=[D], complete=True,
            due_at_ms=at_ms, likeness=SAME,
        )  # fmt: skip
        store.write_pages([evil])
        names = BANK

    record = store.get(EVIL)
    assert (record.url, record.canonical_url) == (EVIL, BANK)
    assert record.fields == {"t": b"bank"}
    assert record.facts["fetched_at_ms"] == NOW_MS
    assert store.content(BANK).body == b"bank"
    assert [link.url for link in store.links.outlinks(BANK).items] == [C]
    assert store.aliases.of(BANK) == [EVIL]
    assert len(harness.bodies()) == 1
    harness.compact()
    assert harness.sources(D) == []
    assert store.schedule.claim_due(NOW_MS + 99, 10, 5) == []


def test_team_fields_of_an_alias_on_another_host_move_without_its_page(harness):
    store = harness.store
    bank = page(BANK, fields={"t": b"bank"}, content=body("bank"), facts=OK, likeness=SAME)
    store.write_pages([bank])
    store.write_pages([page(EVIL, NOW_MS + 1, fields={"t": b"evil"}, provenance={"t": "meta"})])
    store.put(EVIL, {"team.note": b"1"}, at_ms=NOW_MS + 2)
    harness.clock.advance_ms(10)

    evil = page(EVIL, NOW_MS + 5, canonical_url=BANK, fields={"t": b"evil"}, likeness=SAME)
    store.write_pages([evil])

    assert store.get(EVIL).fields == {"t": b"bank", "team.note": b"1"}


@pytest.mark.parametrize("newer_page_at_home", [True, False])
def test_undone_alias_is_its_own_page_and_is_fetched_soon(harness, newer_page_at_home):
    """
    If its canonical URL held a later page by then, it had no record and was never fetched again.
    """
    store = harness.store
    first = page(A, canonical_url=B, provisional=True, fields={"t": b"1"}, likeness=SAME)
    store.write_pages([first])
    if newer_page_at_home:
        newer = page(
            B, NOW_MS + 5, fields={"t": b"2"}, due_at_ms=NOW_MS + 99, likeness=SAME, facts=OK
        )
        store.write_pages([newer])
    harness.clock.advance_ms(10)

    store.aliases.undo(A)

    assert store.get(A).url == store.get(A).canonical_url == A
    assert store.get(A).facts["url"] == A
    assert A in [due.url for due in store.schedule.claim_due(NOW_MS + HOUR_MS, 10, 60)]
    assert store.pages.urls_of_host("a.example").items == [A]
    if newer_page_at_home:
        assert store.get(A).fields == {}
        assert store.get(B).fields == {"t": b"2"}
    harness.clock.advance_ms(HOUR_MS)
    assert store.maintenance.repair(grace_s=0.001).repaired == {}


def test_undone_alias_without_watchers_is_not_fetched(harness):
    store = harness.store
    store.write_pages([page(A, canonical_url=B, fields={"t": b"1"})])
    store.schedule.watch(A, "team")
    store.schedule.unwatch(A, "team")
    harness.clock.advance_ms(10)

    store.aliases.undo(A)

    assert [due.url for due in store.schedule.claim_due(NOW_MS + HOUR_MS, 10, 60)] == []


def test_older_evidence_does_not_restore_an_undone_alias(harness):
    store = harness.store
    batch = [page(A, NOW_MS - 5, canonical_url=B, fields={"t": b"1"})]
    store.write_pages(batch)
    store.aliases.undo(A)

    store.write_pages(batch)

    assert store.resolve(A) == A
    assert store.aliases.of(B) == []


def test_fetching_the_canonical_url_confirms_a_provisional_alias(harness):
    store = harness.store
    first = page(A, canonical_url=B, provisional=True, fields={"t": b"1"}, likeness=SAME)
    store.write_pages([first])
    assert store.get(A).provisional

    store.write_pages([page(B, NOW_MS + 5, fields={"t": b"2"}, facts=OK, likeness=SAME)])

    assert store.resolve(A) == B
    assert not store.get(A).provisional


@pytest.mark.parametrize("dead", [True, False])
def test_provisional_alias_is_undone_if_its_canonical_url_fails(harness, dead):
    store = harness.store
    store.write_pages(
        [page(A, canonical_url=B, provisional=True, fields={"t": b"1"}, content=body("x"))]
    )
    harness.clock.advance_ms(10)

    if dead:
        fetched = page(B, NOW_MS + 5, facts={"status": 404, "outcome": "Gone"}, gone=True)
    else:
        fetched = page(B, NOW_MS + 5, final_url=C, canonical_url=C, fields={"t": b"3"})
    store.write_pages([fetched])

    assert store.resolve(A) == A
    assert store.get(A).fields == {"t": b"1"}
    assert store.content(A).body == b"x"
    assert store.resolve(B) == (B if dead else C)


@pytest.mark.parametrize("status", [401, 402, 403, 451])
def test_provisional_alias_stays_if_its_canonical_url_is_withheld(harness, status):
    store = harness.store
    store.write_pages(
        [page(A, canonical_url=B, provisional=True, fields={"t": b"1"}, content=body("x"))]
    )
    kind = WITHHELD[status]
    fetch = FetchRecord(url=B, final_url=B, outcome=kind, status=status, fetched_at_ms=NOW_MS + 5)
    harness.clock.advance_ms(10)

    update = failure_update(FetchResult(job=UrlJob(url=B), fetch=fetch), Settings())
    store.write_pages([update.write])

    assert store.resolve(A) == B
    assert store.get(A).fields == {"t": b"1"}
    assert store.get(B).facts["outcome"] == kind
    assert store.content(A).body == b"x"


def test_confirmed_alias_survives_a_failure_of_its_canonical_url(harness):
    store = harness.store
    store.write_pages([page(A, canonical_url=B, fields={"t": b"1"})])

    store.write_pages([page(B, NOW_MS + 5, facts={"status": 404}, gone=True)])

    assert store.resolve(A) == B


def test_failed_fetch_does_not_change_aliases(harness):
    store = harness.store
    store.write_pages([page(A, canonical_url=B, fields={"t": b"1"})])

    store.write_pages([page(A, NOW_MS + 5, facts={"outcome": "Unreachable"})])

    assert store.resolve(A) == B
    assert store.get(A).fields == {"t": b"1"}


def test_page_that_declares_itself_canonical_is_no_longer_an_alias(harness):
    store = harness.store
    store.write_pages([page(A, canonical_url=B, fields={"t": b"1"})])

    store.write_pages([page(A, NOW_MS + 5, fields={"t": b"2"})])

    assert store.get(A).canonical_url == A
    assert store.get(A).fields == {"t": b"2"}
    assert store.aliases.of(B) == []


def test_chains_of_aliases_are_followed(harness):
    store = harness.store
    store.put(D, {"f": b"1"})
    for alias, home in [(A, B), (B, C), (C, D)]:
        store.aliases.merge(alias, home)

    assert store.resolve(A) == D
    assert store.get(A).fields == {"f": b"1"}
    assert sorted(store.aliases.of(D)) == [A, B, C]


def test_every_url_of_a_cycle_has_the_same_canonical_url(harness):
    store = harness.store
    store.put(A, {"f": b"1"})
    store.aliases.merge(A, B, at_ms=NOW_MS)
    store.aliases.merge(B, A, at_ms=NOW_MS)

    homes = {store.resolve(A), store.resolve(B)}

    assert len(homes) == 1
    assert store.get(A).fields == store.get(B).fields == {"f": b"1"}


def test_redirect_sources_become_aliases_of_the_page(harness):
    store = harness.store
    store.write_pages([page(A, final_url=C, also=(B,), canonical_url=D, fields={"t": b"1"})])

    assert sorted(store.aliases.of(D)) == [A, B, C]
    assert store.get(B).fields == {"t": b"1"}


def test_temporary_redirect_to_a_canonical_url_keeps_its_aliases(harness):
    store = harness.store
    store.write_pages([page(A, NOW_MS, canonical_url=B, provisional=True, fields={"t": b"1"})])

    store.write_pages([page(C, NOW_MS + 5, final_url=B, canonical_url=C, fields={"t": b"2"})])

    assert store.resolve(A) == B
    assert store.get(A).fields == {"t": b"1"}


def test_graph_shows_an_alias_and_its_canonical_url(harness):
    harness.store.write_pages([page(A, final_url=A, canonical_url=B, fields={"title": b"x"})])

    nodes = harness.store.zen.get_nodes([node_id(A), node_id(B)])
    assert nodes[node_id(A)] == {"canonical_url": B.encode()}
    assert nodes[node_id(B)]["title"] == b"x"
    assert harness.store.zen.get_node(node_id(A), ["canonical_url"]) == {
        "canonical_url": B.encode()
    }
