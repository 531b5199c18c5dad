"""Ids of nodes and of posting lists."""

import pytest

from aragog.urlstore.node_ids import UrlNaming, list_id
from tests.support.stores import node_id
from urlspelling import url_key


def test_lists_of_a_host_are_neighbors():
    near = [list_id(b"https://a.example/%d" % n) for n in range(50)]
    assert len({key[:4] for key in near}) == 1
    assert len(set(near)) == 50
    assert list_id(b"https://b.example/1")[:4] != near[0][:4]


def test_lists_of_many_hosts_are_spread_over_all_first_bytes():
    first = {list_id(b"https://h%d.example/" % n)[0] for n in range(3000)}
    assert len(first) == 256


@pytest.mark.parametrize("url", [b"https://a.example/", b"https://a.example", b"a", b""])
def test_every_list_id_is_as_long_as_a_node_id(url):
    assert len(list_id(url)) == len(node_id("https://a.example/")) == 16


def test_nodes_of_a_host_are_adjacent_in_each_bucket_and_hosts_are_spread():
    ids = [node_id(f"https://a.example/{n}") for n in range(500)]
    assert len(set(ids)) == 500
    assert {key[0] & 15 for key in ids} == set(range(16))
    assert len({(key[0] & 0xF0, key[1:4]) for key in ids}) == 1
    assert len({node_id(f"https://h{n}.example/")[0] for n in range(3000)}) == 256


def test_store_with_the_first_naming_uses_hashes_of_whole_urls():
    old = UrlNaming(lambda: False)
    assert old.node_id("https://a.example/1") == url_key("https://a.example/1")
    assert old.list_id(b"https://a.example/1") == list_id(b"https://a.example/1")
