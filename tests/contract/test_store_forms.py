"""Stores of earlier formats, which derive other ids from URLs: in use, and copied to a new store."""

import pytest

from aragog.errors import BadInput
from aragog.runtime.clock import ManualClock
from aragog.settings import StoreSettings
from aragog.transfer.copy import NewIds, copy_tables
from aragog.urlstore.hosts import Hosts
from aragog.urlstore.node_ids import UrlNaming
from aragog.urlstore.nodes import CLAIM
from aragog.urlstore.store import UrlStore
from tests.support.stores import NOW_MS, alias_page, body, node_id, page, store_harness
from urlspelling import url_key
from zengraph.tables import FORMAT, PARTS, TABLES, TOGETHER
from zengraph.tables.memory import MemoryTables

A, B, OTHER = "https://a.example/1", "https://a.example/2", "https://b.example/"
MOVED, ALIAS, SENT = "https://a.example/old", "https://c.example/copy", "https://d.example/to"
NEVER = "https://a.example/never"
SETTINGS = StoreSettings(indexed=("color",), unique=("sku",))
OWN_NODE = bytes(range(16))
URLS = (A, B, MOVED, ALIAS, SENT, NEVER)


class InFormat:
    """Tables of an engine that report an earlier format."""

    def __init__(self, tables, form):
        self._tables, self.format = tables, lambda: form

    def __getattr__(self, name):
        return getattr(self._tables, name)

    def __getitem__(self, name):
        return self._tables[name]


def ids_of(form):
    """Returns the ids of nodes in a format."""
    return UrlNaming(lambda: form).node_id


def old_store(form, tables=None):
    """A store of an earlier format with every kind of row."""
    its = store_harness(tables or MemoryTables(ManualClock(), form=form), SETTINGS)
    store = its.store
    store.write_pages(
        [
            page(A, links=[B, OTHER, A], due_at_ms=NOW_MS + 1, content=body("a")),
            page(B, links=[OTHER], due_at_ms=NOW_MS + 2, fields={"title": b"b"}),
            page(MOVED, final_url=B, canonical_url=B),
            alias_page(ALIAS, SENT, "text", [A]),
        ]
    )
    store.put(A, {"color": b"red", "sku": b"7"})
    store.put(B, {"color": b"red"})
    store.schedule.watch(A, "team")
    store.schedule.watch(NEVER, "team")
    store.schedule.plan(NEVER, NOW_MS + 3)
    store.zen.put_node(OWN_NODE, {"name": b"own"})
    store.zen.put_edge(OWN_NODE, 16, ids_of(form)(A), properties={"p": b"1"})
    its.compact()
    return its


def seen(its, id_of):
    """What readers find in a store, without page ids."""
    store, own = its.store, its.store.zen
    names = {id_of(url): url for url in (A, B, OTHER, MOVED, ALIAS, SENT, NEVER)}
    urls = (A, B, MOVED, ALIAS, SENT, OTHER)
    return {
        "records": [store.get(url, info=True) for url in urls],
        "content": [store.content(A).body, store.content(ALIAS).body],
        "outlinks": [[link.url for link in store.links.outlinks(url).items] for url in (A, B)],
        "inlinks": [its.sources(url) for url in (A, B, OTHER)],
        "aliases": [sorted(store.aliases.of(url)) for url in (B, SENT)],
        "watchers": [store.schedule.watchers(url) for url in (A, NEVER)],
        "hosts": sorted(Hosts(own).of_host("a.example")),
        "sent": [sent.url for sent in Hosts(own).sent_by_url(ALIAS)],
        "red": sorted(names[key] for key in own.lookup("color", b"red")[0]),
        "sku": names[own.lookup_unique("sku", b"7")],
        "edge": own.get_edge(OWN_NODE, 16, id_of(A)).properties,
        "own": own.get_node(OWN_NODE),
        "due": [due.url for due in store.schedule.claim_due(NOW_MS + 9, 10, lease_s=60)],
    }


@pytest.mark.parametrize("form", range(1, FORMAT))
def test_store_of_an_earlier_format_keeps_its_ids(form):
    its, id_of = old_store(form), ids_of(form)

    assert its.store.get(A).fields == {"color": b"red", "sku": b"7"}
    assert its.store.zen.node_id(A) == id_of(A) != node_id(A)
    assert {id_of(A), id_of(B)} <= {key for key, _ in its.tables["n"].scan(b"", None)}
    assert its.store.link_edges.edges(id_of(B), b"o").items[0].other == id_of(OTHER)
    assert its.store.maintenance.repair(grace_s=0.001).repaired == {}


@pytest.mark.parametrize("form", range(1, FORMAT))
def test_engines_read_and_write_earlier_formats(tables, form):
    its, expected, id_of = old_store(form, InFormat(tables, form)), old_store(form), ids_of(form)

    found, in_memory = seen(its, id_of), seen(expected, id_of)
    records = [parts.pop("records")[:-1] for parts in (found, in_memory)]  # versions are random
    assert [one.fields for one in records[0]] == [one.fields for one in records[1]]
    assert found == in_memory
    assert {id_of(A), id_of(B)} <= {key for key, _ in tables["n"].scan(b"", None)}


def test_formats_have_the_ids_that_were_stored():
    url = "https://shop.example:8443/lamps/page-12?color=red&page=2"
    assert url_key(url) == ids_of(1)(url)
    assert [ids_of(form)(url).hex() for form in range(1, FORMAT + 1)] == [
        "5d70a8e6a660037feecc7a5380143177",
        "3dec72c1a660037feecc7a5380143177",
        "33ec72c1d919007feecc7a5380143177",
    ]
    assert PARTS == FORMAT == 3, "add the ids of the new format"


@pytest.mark.parametrize("form", range(1, FORMAT))
def test_copy_in_a_new_store_has_new_ids_and_reads_the_same(tables, form):
    its, id_of = old_store(form), ids_of(form)
    copy_tables(its.tables, tables)
    copied = store_harness(tables, SETTINGS)
    copied.content = its.content
    copied.store = UrlStore(tables, its.content, SETTINGS, copied.clock)

    assert tables.format() == FORMAT
    before, after = seen(its, id_of), seen(copied, node_id)
    for part, value in before.items():
        assert after[part] == value, part
    old = {id_of(url) for url in URLS}
    assert old.isdisjoint(key for key, _ in tables["n"].scan(b"", None))
    copied.clock.advance_ms(3_600_000)
    report = copied.store.maintenance.repair(grace_s=0.001)
    assert report.repaired == {}


def test_copy_has_the_rows_of_a_store_that_began_in_its_format():
    copies = []
    for form in range(1, FORMAT + 1):
        target = MemoryTables(ManualClock())
        copy_tables(old_store(form).tables, target)
        names = set(TABLES) - {"j", "l", "f"}  # these have names of changes, which are random
        copies.append({name: {key for key, _ in target[name].scan(b"", None)} for name in names})

    assert copies[0] == copies[1] == copies[2]


def test_copy_from_the_first_format_to_the_second():
    its, target = old_store(1), MemoryTables(ManualClock(), form=TOGETHER)
    copy_tables(its.tables, target)
    copied = UrlStore(target, its.content, SETTINGS, its.clock)

    assert copied.get(A).fields == its.store.get(A).fields
    assert copied.zen.lookup_unique("sku", b"7") == ids_of(TOGETHER)(A)
    assert {key for key, _ in target["n"].scan(b"", None)} >= {ids_of(TOGETHER)(A)}


@pytest.mark.parametrize("form", range(1, FORMAT))
def test_every_row_of_a_page_gets_its_new_id(form):
    its, id_of = old_store(form), ids_of(form)
    ids, old = NewIds(its.tables, FORMAT), {id_of(url) for url in URLS}

    for name in set(TABLES) - {"j", "l", "f"}:
        rows = ids.rekey_rows(name, list(its.tables[name].scan(b"", None)))
        for key, row in rows:
            # The process that claimed a URL is named by its hash in every store.
            texts = [key, *(cell.value for column, cell in row.items() if column != CLAIM)]
            found = [one for one in old for text in texts if one in text]
            assert not found, (name, key)


def test_copying_to_an_older_form_is_refused():
    its = store_harness(MemoryTables(ManualClock()))
    its.store.write_pages([page(A)])

    for form in range(1, FORMAT):
        with pytest.raises(BadInput, match="copy to a new store"):
            copy_tables(its.tables, MemoryTables(ManualClock(), form=form))
