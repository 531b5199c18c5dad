"""UrlStore with content in S3."""

from __future__ import annotations

import dataclasses

import pytest

from aragog.errors import ContentUnavailable, CorruptContent
from aragog.runtime.clock import ManualClock
from aragog.settings import StoreSettings
from aragog.urlstore.content.s3 import S3Content
from aragog.urlstore.store import UrlStore
from tests.support.stores import NOW_MS, body, page
from zengraph.tables.memory import MemoryTables

pytestmark = pytest.mark.s3

A, B = "http://a.example/", "http://b.example/"


@pytest.fixture
def tables():
    return MemoryTables(ManualClock(), masking=True)


@pytest.fixture
def store(tables, s3_content):
    return UrlStore(tables, s3_content, StoreSettings(), ManualClock(NOW_MS))


def test_page_is_one_object_under_its_canonical_url(store, s3_content):
    store.write_pages([page(A, NOW_MS, canonical_url=B, content=body("first"))])
    store.write_pages([page(B, NOW_MS + 5, content=body("second"))])

    assert store.content(A).body == b"second"
    assert list(s3_content.keys("")) == [store.get(B).content_key]


def test_content_of_an_alias_moves_to_its_canonical_url(store, s3_content):
    store.put_content(A, b"of the alias", {"content_type": "text/html"}, at_ms=NOW_MS)

    store.aliases.merge(A, B)

    assert store.content(B).body == b"of the alias"
    assert store.content(B).meta["content_type"] == "text/html"
    assert list(s3_content.keys("")) == [store.get(B).content_key]


def test_nothing_points_to_missing_content_while_s3_is_down(
    tables, own_s3_server, s3_settings, s3_credentials
):
    own_s3_server.create_bucket("pages")
    settings = dataclasses.replace(
        s3_settings, s3_endpoint=own_s3_server.endpoint, s3_bucket="pages", s3_attempts=1
    )
    store = UrlStore(tables, S3Content(settings), StoreSettings(), ManualClock(NOW_MS))
    write = [page(A, NOW_MS, content=body("text"), fields={"title": b"t"})]
    own_s3_server.stop()

    with pytest.raises(ContentUnavailable):
        store.write_pages(write)
    assert store.get(A) is None

    own_s3_server.start()
    store.write_pages(write)
    assert store.content(A).body == b"text"


def test_missing_or_replaced_object_is_reported(store, s3_content):
    store.put_content(A, b"text")
    key = store.get(A).content_key

    s3_content.put(key, b"another", {})
    with pytest.raises(CorruptContent, match="does not match its pointer"):
        store.content(A)

    s3_content.delete(key)
    with pytest.raises(CorruptContent, match="is missing"):
        store.content(A)
