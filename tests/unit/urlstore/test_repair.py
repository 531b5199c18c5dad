"""Each thing that repair repairs: damaged by hand, reported by name, read correctly, and repaired once."""

import pytest

from aragog.urlstore.aliases.merger import alias_puts
from aragog.urlstore.content.keys import content_key
from aragog.urlstore.pages import nodes
from aragog.urlstore.pages.hosts import host_put
from aragog.urlstore.schedule.due_index import due_put
from aragog.zen.node_ids import node_id
from aragog.zen.tables.memory import MemoryTables
from tests.support.stores import NOW_MS, body, page, stand

PAGE, ALIAS, LINKING = (f"http://{x}.example/" for x in ("page", "alias", "linking"))
LATER_MS = NOW_MS + 86_400_000
DUE_MS = NOW_MS + 1_000


def drop(here, table, key, columns=None):
    here.tables[table].delete(key, columns, at_ms=NOW_MS + 9)


def lose_the_due_row(here):
    drop(here, "d", due_put(PAGE, DUE_MS, 0)[1])


def leave_a_due_row(here):
    here.tables.write([due_put(PAGE, DUE_MS + 5, NOW_MS)])


def lose_the_host_row(here):
    drop(here, "h", host_put(PAGE, 0)[1])


def leave_a_host_row(here):
    here.tables.write([host_put("http://nobody.example/", NOW_MS)])


def lose_the_alias_edge(here):
    drop(here, "e", alias_puts(ALIAS, PAGE, 0)[0][1])


def lose_the_word_of_aliases(here):
    drop(here, "n", node_id(PAGE), [nodes.ALIASED])


def leave_an_alias_edge(here):
    here.tables.write(alias_puts(LINKING, PAGE, NOW_MS)[:1])


def lose_the_content(here):
    here.content.delete(content_key(PAGE))


def damage_the_content(here):
    here.content.put(content_key(PAGE), b"something else", {})


def leave_content(here):
    here.content.put(content_key("http://nobody.example/"), b"waste", {})


DAMAGES = {
    lose_the_due_row: ["due row missing"],
    leave_a_due_row: ["due row without its node"],
    lose_the_host_row: ["host row missing"],
    leave_a_host_row: ["host row without its node"],
    lose_the_alias_edge: ["alias edge missing"],
    lose_the_word_of_aliases: ["word of aliases missing"],
    leave_an_alias_edge: ["alias edge without its pointer"],
    lose_the_content: ["content missing or damaged"],
    # What is damaged has no pointer any more, so the object goes, too.
    damage_the_content: ["content missing or damaged", "content that nothing points to"],
    leave_content: ["content that nothing points to"],
}


@pytest.fixture
def here():
    made = stand(MemoryTables())
    made.store.write_pages(
        [
            page(PAGE, fields={"t": b"1"}, content=body("the page"), due_at_ms=DUE_MS),
            page(ALIAS, canonical_url=PAGE, fields={"t": b"1"}, due_at_ms=DUE_MS),
            page(LINKING, links=[ALIAS]),
        ]
    )
    made.compact()
    made.clock.advance_ms(3_600_000)
    return made


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_it_is_mended_reported_by_name_and_mended_once(here, damage):
    damage(here)

    reported = here.store.maintenance.repair(grace_s=1).repaired

    assert reported == dict.fromkeys(DAMAGES[damage], 1)
    assert here.store.maintenance.repair(grace_s=1).repaired == {}
    assert here.store.aliases.of(PAGE) == [ALIAS]
    assert here.sources(PAGE) == [LINKING]
    assert here.store.pages.urls_of_host("page.example").items == [PAGE]
    assert [due.url for due in here.store.schedule.claim_due(LATER_MS, 10, 60)] == [PAGE]


@pytest.mark.parametrize("damage", [lose_the_content, damage_the_content])
def test_content_that_is_wrong_is_not_served_and_its_page_is_due(here, damage):
    damage(here)

    here.store.maintenance.repair(grace_s=1)

    assert here.store.content(PAGE) is None
    assert here.store.get(PAGE).due_at_ms <= here.clock.now_ms()


def test_what_is_young_is_left_to_its_writer(here):
    leave_an_alias_edge(here)
    leave_a_host_row(here)

    assert here.store.maintenance.repair(grace_s=2 * 3600).repaired == {}


def test_a_store_that_nothing_happened_to_needs_nothing(here):
    report = here.store.maintenance.repair(grace_s=1)

    assert report.repaired == {}
    assert report.walked["n"] >= 3
