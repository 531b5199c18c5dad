"""Every kind of damage is reported by name, repaired once, and read correctly afterward."""

import pytest

from aragog.urlstore import nodes
from aragog.urlstore.compression import content_key
from aragog.urlstore.due_index import due_put
from aragog.urlstore.hosts import host_put
from aragog.urlstore.writing.alias_merger import alias_puts
from tests.support.stores import NOW_MS, SAME, body, node_id, page, store_harness
from zengraph.tables.memory import MemoryTables

PAGE, ALIAS, LINKING = (f"http://{x}.example/" for x in ("page", "alias", "linking"))
LATER_MS = NOW_MS + 86_400_000
DUE_MS = NOW_MS + 1_000


def drop(harness, table, key, columns=None):
    harness.tables[table].delete(key, columns, at_ms=NOW_MS + 9)


def lose_the_due_row(harness):
    drop(harness, "d", due_put(harness.store.zen, PAGE, DUE_MS, 0)[1])


def leave_a_due_row(harness):
    harness.tables.write([due_put(harness.store.zen, PAGE, DUE_MS + 5, NOW_MS)])


def lose_the_host_row(harness):
    drop(harness, "h", host_put(harness.store.zen, PAGE, 0)[1])


def leave_a_host_row(harness):
    harness.tables.write([host_put(harness.store.zen, "http://nobody.example/", NOW_MS)])


def lose_the_alias_edge(harness):
    drop(harness, "e", alias_puts(harness.store.zen, ALIAS, PAGE, 0)[0][1])


def lose_the_alias_mark(harness):
    drop(harness, "n", node_id(PAGE), [nodes.ALIASED])


def leave_an_alias_edge(harness):
    harness.tables.write(alias_puts(harness.store.zen, LINKING, PAGE, NOW_MS)[:1])


def lose_the_content(harness):
    harness.content.delete(content_key(PAGE))


def damage_the_content(harness):
    harness.content.put(content_key(PAGE), b"something else", {})


def leave_content(harness):
    harness.content.put(content_key("http://nobody.example/"), b"waste", {})


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
def harness():
    harness = store_harness(MemoryTables())
    harness.store.write_pages(
        [
            page(
                PAGE, fields={"t": b"1"}, content=body("the page"), due_at_ms=DUE_MS, likeness=SAME
            ),
            page(ALIAS, canonical_url=PAGE, fields={"t": b"1"}, due_at_ms=DUE_MS, likeness=SAME),
            page(LINKING, links=[ALIAS]),
        ]
    )
    harness.compact()
    harness.clock.advance_ms(3_600_000)
    return harness


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damage_is_reported_and_repaired_once(harness, damage):
    damage(harness)

    reported = harness.store.maintenance.repair(grace_s=1).repaired

    assert reported == dict.fromkeys(DAMAGES[damage], 1)
    assert harness.store.maintenance.repair(grace_s=1).repaired == {}
    assert harness.store.aliases.of(PAGE) == [ALIAS]
    assert harness.sources(PAGE) == [LINKING]
    assert harness.store.pages.urls_of_host("page.example").items == [PAGE]
    assert [due.url for due in harness.store.schedule.claim_due(LATER_MS, 10, 60)] == [PAGE]


@pytest.mark.parametrize("damage", [lose_the_content, damage_the_content])
def test_wrong_content_is_not_served_and_its_page_is_due(harness, damage):
    damage(harness)

    harness.store.maintenance.repair(grace_s=1)

    assert harness.store.content(PAGE) is None
    assert harness.store.get(PAGE).due_at_ms <= harness.clock.now_ms()


def test_orphaned_content_is_left_to_a_later_repair_without_waiting(harness):
    leave_content(harness)
    lines = []
    before_ms = harness.clock.now_ms()

    report = harness.store.maintenance.repair(wait=False, report=lines.append)

    assert report.repaired == {}
    assert harness.clock.now_ms() == before_ms
    assert "1 stored bodies belong to no page" in lines[0]
    assert harness.store.maintenance.repair(grace_s=1).repaired == {
        "content that nothing points to": 1
    }


def test_progress_of_pages_and_contents_is_a_fraction(harness):
    for number in range(600):
        harness.store.put_content(f"http://many.example/{number}", b"x", {})
    shares = {}

    harness.store.maintenance.repair(
        lambda name, rows, share: shares.setdefault(name, []).append(share), wait=False
    )

    for name in ("n", "content"):
        assert shares[name] == sorted(shares[name])
        assert 0 < shares[name][0] < shares[name][-1] < 1
    assert shares["h"] == [None, None]


def test_recent_rows_are_left_to_their_writer(harness):
    leave_an_alias_edge(harness)
    leave_a_host_row(harness)

    assert harness.store.maintenance.repair(grace_s=2 * 3600).repaired == {}


def test_intact_store_needs_no_repair(harness):
    report = harness.store.maintenance.repair(grace_s=1)

    assert report.repaired == {}
    assert report.walked["n"] >= 3


def test_repair_announces_a_wait_before_it_starts(harness):
    harness.content.put("ab" * 32, b"x", {})
    lines = []

    def report(line):
        lines.append((line, harness.clock.now_ms()))

    started_ms = harness.clock.now_ms()
    harness.store.maintenance.repair(report=report, grace_s=60)

    ((line, at_ms),) = lines
    assert line.startswith("1 stored bodies belong to no page: waiting 60 s")
    assert at_ms == started_ms
    assert "ab" * 32 not in harness.content.keys("")
