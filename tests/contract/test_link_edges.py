"""Page links, read as edges of the graph."""

import pytest

from aragog.urlstore.link_edges import LINK
from tests.support.stores import NOW_MS, node_id, page
from zengraph import IN, OUT
from zengraph.errors import InvalidArgument

A, B, C = "http://a.example/", "http://b.example/", "http://c.example/"


def listed(links, url, direction):
    found, cursor = [], None
    while True:
        part = links.edges(node_id(url), direction, 1, cursor)
        found += part.items
        if (cursor := part.cursor) is None:
            return found


def test_links_of_a_page_are_edges_of_its_node(harness):
    store, links = harness.store, harness.store.link_edges
    store.write_pages([page(A, links=[C, B]), page(B, links=[C]), page(C)])
    harness.compact()

    out, into = listed(links, A, OUT), listed(links, C, IN)

    assert [(edge.other, edge.score) for edge in out] == [(node_id(C), 0), (node_id(B), 1)]
    assert out[0].properties == {"url": C.encode(), "text": b"text", "rel": b""}
    assert [(edge.other, edge.score) for edge in into] == [
        (node_id(A), NOW_MS),
        (node_id(B), NOW_MS),
    ]
    assert links.count(node_id(A), OUT) == 2
    assert links.count(node_id(C), IN) == 2
    assert listed(links, "http://unknown.example/", IN) == []


def test_links_cannot_be_written_as_single_edges(harness):
    with pytest.raises(InvalidArgument, match="not stored here"):
        harness.store.zen.put_edge(node_id(A), LINK, node_id(B))
