"""The paged list of all domains: each once, for any hosts and overrides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.dashboard.domains import DomainList
from aragog.errors import BadInput
from aragog.urlstore.hosts import host_put
from tests.support.stores import NOW_MS, store_harness
from urlspelling.domain import registered_domain, reversed_host
from zengraph.tables.memory import MemoryTables


def listed(
    hosts, known=(), key_of=registered_domain, divided=lambda key: False, per_host=1, **more
):
    store = store_harness(MemoryTables()).store
    store.zen.mutate(
        [
            host_put(store.zen, f"http://{host}/{n}", NOW_MS)
            for host in hosts
            for n in range(per_host)
        ]
    )
    return DomainList(store.pages.hosts, key_of, known, divided, **more)


def pages(domain_list, ranked=(), search=""):
    cursor, all_pages = None, []
    for _ in range(1000):
        page = domain_list.page(list(ranked), search, cursor)
        all_pages.append(page.domains)
        cursor = page.cursor
        if cursor is None:
            return all_pages
    raise AssertionError("the list has no end")


def names(*args, **more):
    return [name for page in pages(*args, **more) for name in page]


HOSTS = ["www.b.com", "b.com", "b-c.com", "a.org", "x.b-c.com", "1.2.3.4", "b-a.com", "shop.c.com"]
ONCE = ["1.2.3.4", "b.com", "b-a.com", "b-c.com", "c.com", "a.org"]


def test_every_domain_is_listed_once_ordered_by_reversed_labels():
    assert names(listed(HOSTS, per_host=100)) == ONCE


def test_pages_repeat_and_omit_nothing():
    assert names(listed(HOSTS, known=["c.com", "new.com"], page_size=1)) == [
        "1.2.3.4", "b.com", "b-a.com", "b-c.com", "c.com", "new.com", "a.org",
    ]  # fmt: skip


label = st.text(st.sampled_from("ab-"), min_size=1, max_size=3).filter(
    lambda text: not text.startswith("-") and not text.endswith("-")
)
host = st.builds(lambda labels: ".".join([*labels, "com"]), st.lists(label, min_size=1, max_size=3))


@given(st.sets(host, max_size=12), st.sets(host, max_size=3), st.sets(host, max_size=3))
def test_any_hosts_are_listed_once_on_pages_of_any_size(hosts, known, apart):
    """`apart` are hosts with separate rates by an override."""

    def key_of(name):
        return name if name in apart else registered_domain(name)

    def divided(key):
        return any(name.endswith(f".{key}") for name in apart)

    keys = {key_of(name) for name in hosts} | {key_of(name) for name in known}
    for size in (1, 2, 50):
        domain_list = listed(hosts, map(key_of, known), key_of, divided, page_size=size)
        assert sorted(names(domain_list)) == sorted(keys)


def test_ranked_domains_come_first_and_are_not_repeated():
    domains = names(listed(HOSTS, known=["z.com"], page_size=1), ranked=["z.com", "b-c.com"])

    assert domains == ["z.com", "b-c.com", "1.2.3.4", "b.com", "b-a.com", "c.com", "a.org"]


def test_search_finds_any_part_of_a_name():
    assert names(listed(HOSTS, page_size=1), search="-") == ["b-a.com", "b-c.com"]
    assert names(listed(HOSTS), ranked=["a.org", "b.com"], search="org") == ["a.org"]


def test_search_over_many_domains_can_be_continued():
    domain_pages = pages(listed(HOSTS, max_read=2), search="a.org")

    assert domain_pages == [[], ["a.org"], []]


def test_domain_with_many_urls_costs_no_more_than_one_with_a_few():
    """The walk skips the URLs of a domain instead of reading them."""
    tables = MemoryTables()
    store = store_harness(tables).store
    store.zen.mutate([host_put(store.zen, f"http://a.com/{n}", NOW_MS) for n in range(5000)])
    store.zen.mutate([host_put(store.zen, "http://b.com/", NOW_MS)])
    rows_read, scan = [], tables["h"].scan

    def counted(*args, **more):
        for row in scan(*args, **more):
            rows_read.append(row[0])
            yield row

    tables["h"].scan = counted
    domain_list = DomainList(store.pages.hosts, registered_domain, (), lambda key: False)

    assert names(domain_list) == ["a.com", "b.com"]
    assert len(rows_read) <= 16 * 2 * 20


@pytest.mark.parametrize("cursor", ["x", "ranked:x", "ranked:-1", "ranked:9999999999", "ranked:"])
def test_invalid_cursor_is_refused(cursor):
    with pytest.raises(BadInput, match="is not a valid cursor for this list"):
        listed([]).page([], "", cursor)


def test_domains_are_ordered_by_reversed_labels():
    assert [reversed_host(name) for name in ONCE] == sorted(reversed_host(name) for name in ONCE)
