"""Every kind of damage is reported by name, repaired once, and read correctly afterward."""

import pytest

from aragog.urlstore import nodes
from aragog.urlstore.compression import content_key
from aragog.urlstore.due_index import due_put
from aragog.urlstore.hosts import host_put
from aragog.urlstore.writing.alias_merger import alias_puts
from tests.support.stores import NOW_MS, SAME, body, node_id, page, stand
from zengraph.tables.memory import MemoryTables

PAGE, ALIAS, LINKING = (f"http://{x}.example/" for x in ("page", "alias", "linking"))
LATER_MS = NOW_MS + 86_400_000
DUE_MS = NOW_MS + 1_000


def drop(a_stand, table, key, columns=None):
    a_stand.tables[table].delete(key, columns, at_ms=NOW_MS + 9)


def lose_the_due_row(a_stand):
    drop(a_stand, "d", due_put(a_stand.store.zen, PAGE, DUE_MS, 0)[1])


def leave_a_due_row(a_stand):
    a_stand.tables.write([due_put(a_stand.store.zen, PAGE, DUE_MS + 5, NOW_MS)])


def lose_the_host_row(a_stand):
    drop(a_stand, "h", host_put(a_stand.store.zen, PAGE, 0)[1])


def leave_a_host_row(a_stand):
    a_stand.tables.write([host_put(a_stand.store.zen, "http://nobody.example/", NOW_MS)])


def lose_the_alias_edge(a_stand):
    drop(a_stand, "e", alias_puts(a_stand.store.zen, ALIAS, PAGE, 0)[0][1])


def lose_the_alias_mark(a_stand):
    drop(a_stand, "n", node_id(PAGE), [nodes.ALIASED])


def leave_an_alias_edge(a_stand):
    a_stand.tables.write(alias_puts(a_stand.store.zen, LINKING, PAGE, NOW_MS)[:1])


def lose_the_content(a_stand):
    a_stand.content.delete(content_key(PAGE))


def damage_the_content(a_stand):
    a_stand.content.put(content_key(PAGE), b"something else", {})


def leave_content(a_stand):
    a_stand.content.put(content_key("http://nobody.example/"), b"waste", {})


DAMAGES = {
    lose_the_due_row: ["due row missing"],
    leave_a_due_row: ["due row without its node"],
    lose_the_host_row: ["host row missing"],
    leave_a_host_row: ["host row without its node"],
    lose_the_alias_edge: ["alias edge missing"],
    lose_the_alias_mark: ["alias mark missing"],
    leave_an_alias_edge: ["alias edge without its pointer"],
    lose_the_content: ["content missing or damaged"],
    # Damaged content loses its pointer, so the object is deleted too.
    damage_the_content: ["content missing or damaged", "content that nothing points to"],
    leave_content: ["content that nothing points to"],
}


@pytest.fixture
def a_stand():
    a_stand = stand(MemoryTables())
    a_stand.store.write_pages(
        [
            page(
                PAGE, fields={"t": b"1"}, content=body("the page"), due_at_ms=DUE_MS, likeness=SAME
            ),
            page(ALIAS, canonical_url=PAGE, fields={"t": b"1"}, due_at_ms=DUE_MS, likeness=SAME),
            page(LINKING, links=[ALIAS]),
        ]
    )
    a_stand.compact()
    a_stand.clock.advance_ms(3_600_000)
    return a_stand


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damage_is_reported_and_repaired_once(a_stand, damage):
    damage(a_stand)

    reported = a_stand.store.maintenance.repair(grace_s=1).repaired

    assert reported == dict.fromkeys(DAMAGES[damage], 1)
    assert a_stand.store.maintenance.repair(grace_s=1).repaired == {}
    assert a_stand.store.aliases.of(PAGE) == [ALIAS]
    assert a_stand.sources(PAGE) == [LINKING]
    assert a_stand.store.pages.urls_of_host("page.example").items == [PAGE]
    assert [due.url for due in a_stand.store.schedule.claim_due(LATER_MS, 10, 60)] == [PAGE]


@pytest.mark.parametrize("damage", [lose_the_content, damage_the_content])
def test_wrong_content_is_not_served_and_its_page_is_due(a_stand, damage):
    damage(a_stand)

    a_stand.store.maintenance.repair(grace_s=1)

    assert a_stand.store.content(PAGE) is None
    assert a_stand.store.get(PAGE).due_at_ms <= a_stand.clock.now_ms()


def test_orphaned_content_is_left_to_a_later_repair_without_waiting(a_stand):
    leave_content(a_stand)
    lines = []
    before_ms = a_stand.clock.now_ms()

    report = a_stand.store.maintenance.repair(wait=False, report=lines.append)

    assert report.repaired == {}
    assert a_stand.clock.now_ms() == before_ms
    assert "1 stored bodies belong to no page" in lines[0]
    assert a_stand.store.maintenance.repair(grace_s=1).repaired == {
        "content that nothing points to": 1
    }


def test_progress_of_pages_and_contents_is_a_fraction(a_stand):
    for number in range(600):
        a_stand.store.put_content(f"http://many.example/{number}", b"x", {})
    shares = {}

    a_stand.store.maintenance.repair(
        lambda name, rows, share: shares.setdefault(name, []).append(share), wait=False
    )

    for name in ("n", "content"):
        assert shares[name] == sorted(shares[name])
        assert 0 < shares[name][0] < shares[name][-1] < 1
    assert shares["h"] == [None, None]


def test_recent_rows_are_left_to_their_writer(a_stand):
    leave_an_alias_edge(a_stand)
    leave_a_host_row(a_stand)

    assert a_stand.store.maintenance.repair(grace_s=2 * 3600).repaired == {}


def test_intact_store_needs_no_repair(a_stand):
    report = a_stand.store.maintenance.repair(grace_s=1)

    assert report.repaired == {}
    assert report.walked["n"] >= 3


def test_repair_announces_a_wait_before_it_starts(a_stand):
    a_stand.content.put("ab" * 32, b"x", {})
    lines = []

    def report(line):
        lines.append((line, a_stand.clock.now_ms()))

    started_ms = a_stand.clock.now_ms()
    a_stand.store.maintenance.repair(report=report, grace_s=60)

    ((line, at_ms),) = lines
    assert line.startswith("1 stored bodies belong to no page: waiting 60 s")
    assert at_ms == started_ms
    assert "ab" * 32 not in a_stand.content.keys("")
