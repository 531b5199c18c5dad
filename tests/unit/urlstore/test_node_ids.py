"""Ids of nodes and of posting lists."""

import pytest

from aragog.urlstore.node_ids import list_id, node_id


def test_the_lists_of_a_host_are_neighbors():
    near = [list_id(b"https://a.example/%d" % n) for n in range(50)]
    assert len({its[:4] for its in near}) == 1
    assert len(set(near)) == 50
    assert list_id(b"https://b.example/1")[:4] != near[0][:4]


def test_the_lists_of_many_hosts_are_spread_over_all_first_bytes():
    first = {list_id(b"https://h%d.example/" % n)[0] for n in range(3000)}
    assert len(first) == 256


@pytest.mark.parametrize("url", [b"https://a.example/", b"https://a.example", b"a", b""])
def test_every_name_has_an_id_of_the_length_of_a_nodes(url):
    assert len(list_id(url)) == len(node_id("https://a.example/")) == 16
