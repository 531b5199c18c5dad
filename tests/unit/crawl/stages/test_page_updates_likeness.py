"""Similarity data of pages passes from canonicalize to store, also between versions."""

import orjson

from aragog.crawl.stages.page_updates import PageUpdate, from_blob, to_blob
from aragog.urlstore.records import Likeness
from tests.support.stores import page

URL = "http://a.example/"


def test_likeness_of_a_page_reaches_the_store():
    likeness = Likeness("0123456789abcdef", "sketch==")
    sent = page(URL, likeness=likeness, facts={"status": 200})

    (read,) = from_blob(to_blob([PageUpdate(sent)]))

    assert read.write.likeness == likeness
    assert read.write.facts == {"status": 200}


def test_blob_without_likeness_and_with_newer_fields_is_accepted():
    head, _, links = to_blob([PageUpdate(page(URL, links=["http://a.example/x"]))]).partition(b"\n")
    (wire,) = orjson.loads(head)
    assert "likeness" not in wire  # the previous version would fail on it

    (read,) = from_blob(orjson.dumps([{**wire, "of_a_later_version": 1}]) + b"\n" + links)

    assert read.write.likeness is None
    assert [link.target for link in read.write.links] == ["http://a.example/x"]
