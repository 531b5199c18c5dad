"""Ids of nodes and of posting lists."""

from collections import Counter
from itertools import pairwise

import pytest

from aragog.urlstore.node_ids import UrlNaming, folder_of, list_id
from tests.support.stores import node_id
from urlspelling import url_key
from zengraph.tables import TOGETHER


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


def bucket_of(key):
    return key[0] & 15


def ids_of_folder(count=500, folder="news", host="a.example"):
    return [node_id(f"https://{host}/{folder}/{n}") for n in range(count)]


def test_nodes_of_a_host_are_adjacent_in_each_bucket_and_hosts_are_spread():
    ids = [key for n in range(64) for key in ids_of_folder(20, f"f{n}")]
    assert len(set(ids)) == 64 * 20
    assert {bucket_of(key) for key in ids} == set(range(16))
    assert len({(key[0] & 0xF0, key[1:4]) for key in ids}) == 1
    assert len({node_id(f"https://h{n}.example/")[0] for n in range(3000)}) == 256


def test_host_with_many_folders_is_spread_evenly_over_all_buckets():
    ids = [key for n in range(500) for key in ids_of_folder(20, f"f{n}")]
    counts = Counter(map(bucket_of, ids))
    assert max(counts.values()) < 1.3 * len(ids) / 16
    assert min(counts.values()) > 0.7 * len(ids) / 16


def test_folder_is_in_four_buckets_evenly():
    counts = Counter(map(bucket_of, ids_of_folder(2000)))
    assert len(counts) == 4
    assert max(counts.values()) < 600


def test_pages_of_a_folder_are_next_to_each_other_in_each_bucket():
    pages = {key: n for n in range(100) for key in ids_of_folder(20, f"f{n}")}
    ids = sorted(pages)
    runs = 1 + sum(pages[one] != pages[other] for one, other in pairwise(ids))
    # Each folder is in four buckets. Folders with the same bucket and byte are mixed.
    assert runs < 500
    hashed = sorted(pages, key=lambda key: key[-9:])
    assert sum(pages[one] != pages[other] for one, other in pairwise(hashed)) > 1800


def test_pages_of_a_flat_folder_lie_in_the_order_of_their_first_characters():
    keys = [(bucket_of(key), key[4:7], n) for n, key in enumerate(ids_of_folder(1000))]
    for bucket in {bucket for bucket, _, _ in keys}:
        numbers = [str(n)[:3] for b, _, n in sorted(keys) if b == bucket]
        assert numbers == sorted(numbers)


def test_ids_differ_although_everything_before_the_hash_is_the_same():
    ids = [node_id(f"https://a.example/abc{n}") for n in range(10_000)]
    assert len({key[:7] for key in ids}) == 4
    assert len({key[7:] for key in ids}) == len(ids)


@pytest.mark.parametrize(
    ("url", "folder", "rest"),
    [
        ("https://a.example/", "https://a.example", ""),
        ("https://a.example/x/y.html", "https://a.example/x", "y.html"),
        ("https://a.example/x/", "https://a.example/x", ""),
        ("https://a.example/list?color=red&page=2", "https://a.example/list?color=red&page=", "2"),
        ("https://a.example/go?to=https://b.example/c", "https://a.example/go?to=",
         "https://b.example/c"),
        ("https://a.example/list?red", "https://a.example/list?", "red"),
        ("https://a.example/?", "https://a.example/?", ""),
        ("", "", ""),
    ],
)  # fmt: skip
def test_folder_ends_before_the_last_segment_or_value(url, folder, rest):
    assert folder_of(url.encode()) == (folder.encode(), rest.encode())


def test_pages_of_a_list_are_neighbors():
    assert len({node_id(f"https://a.example/list?page=1{n}")[1:5] for n in range(10)}) == 1


def test_naming_of_the_first_format_uses_hashes_of_whole_urls():
    old = UrlNaming(lambda: 1)
    assert old.node_id("https://a.example/1") == url_key("https://a.example/1")
    assert old.list_id(b"https://a.example/1") == list_id(b"https://a.example/1")


def test_naming_of_the_second_format_ignores_folders():
    old = UrlNaming(lambda: TOGETHER)
    ids = [old.node_id(f"https://a.example/news/{n}") for n in range(500)]
    assert {bucket_of(key) for key in ids} == set(range(16))
    assert all(key[4:] == url_key(f"https://a.example/news/{n}")[4:] for n, key in enumerate(ids))
    assert old.list_id(b"https://a.example/1") == list_id(b"https://a.example/1")


@pytest.mark.parametrize("url", ["https://a.example/%F0", "https://a.example/\udc80", "x", ""])
def test_every_node_id_has_sixteen_bytes(url):
    assert len(node_id(url)) == 16


@pytest.mark.parametrize("form", [1, 2, 3])
def test_batch_has_the_ids_of_its_urls_whatever_is_cached(form):
    urls = [f"https://h{n % 5}.example/f{n % 7}/{n}?x={n}" for n in range(60)]
    ids = [UrlNaming(lambda: form).id_of(url.encode()) for url in urls]
    naming = UrlNaming(lambda: form, max_cached=100)
    assert naming.node_ids(urls[:20]) == ids[:20]
    assert naming.node_ids([*urls, urls[0]]) == [*ids, ids[0]]
    others = [f"https://other.example/{n}" for n in range(90)]
    assert naming.node_ids([*others, *urls]) == [*map(naming.node_id, others), *ids]
    assert [naming.node_id(url) for url in urls] == ids
    assert naming.node_ids([]) == []
