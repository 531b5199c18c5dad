"""
The contract of every content store.

    class TestMyContent(ContentStoreContract):
        @pytest.fixture
        def content(self): ...  # an empty content store
"""

from __future__ import annotations

import hashlib
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.errors import BadInput
from aragog.testing import examples
from aragog.urlstore.content_port import ContentPut, ContentStore

META = {"url": "https://example.com/é", "content_type": "text/html; charset=utf-8", "empty": ""}


def key(text: object) -> str:
    """Return a key that a content store accepts."""
    return hashlib.sha256(str(text).encode()).hexdigest()


class ContentStoreContract:
    """
    The contract of a content store.

    Fixtures of the subclass:
        content: an empty content store.
    """

    def test_get_returns_what_was_put(self, content: ContentStore) -> None:
        content.put(key(1), b"body", META)

        assert content.get(key(1)) == (b"body", META)

    def test_get_of_an_unknown_key_returns_none(self, content: ContentStore) -> None:
        assert content.get(key("absent")) is None

    def test_body_and_metadata_may_be_empty(self, content: ContentStore) -> None:
        content.put(key(1), b"", {})

        assert content.get(key(1)) == (b"", {})

    def test_a_second_put_replaces_body_and_metadata(self, content: ContentStore) -> None:
        content.put(key(1), b"a long body", META)
        content.put(key(1), b"b", {"n": "2"})

        assert content.get(key(1)) == (b"b", {"n": "2"})

    def test_put_is_idempotent(self, content: ContentStore) -> None:
        content.put(key(1), b"x", META)
        content.put(key(1), b"x", META)

        assert content.get(key(1)) == (b"x", META)
        assert list(content.keys("")) == [key(1)]

    def test_put_many_is_idempotent(self, content: ContentStore) -> None:
        puts = [ContentPut(key(n), b"body %d" % n, {"n": str(n)}) for n in range(40)]

        for batch in ([], puts[:1], puts, puts):
            content.put_many(batch)

        assert list(content.keys()) == sorted(put.key for put in puts)
        assert all(content.get(put.key) == (put.body, put.meta) for put in puts)

    def test_put_many_reports_an_invalid_key(self, content: ContentStore) -> None:
        puts = [
            ContentPut(key(1), b"1", {}),
            ContentPut("no hash", b"", {}),
            ContentPut(key(3), b"3", {}),
        ]

        with pytest.raises(BadInput):
            content.put_many(puts)

        assert content.get(key(1)) == (b"1", {})

    def test_delete_is_idempotent(self, content: ContentStore) -> None:
        content.put(key(1), b"x", META)

        content.delete(key(1))
        content.delete(key(1))

        assert content.get(key(1)) is None
        assert list(content.keys("")) == []

    def test_keys_are_sorted_and_filtered_by_prefix(self, content: ContentStore) -> None:
        all_keys = sorted(key(number) for number in range(40))
        for stored_key in all_keys:
            content.put(stored_key, b"x", {})

        assert list(content.keys("")) == all_keys
        for prefix in ("0", all_keys[7][:2], all_keys[7][:9], all_keys[7]):
            assert list(content.keys(prefix)) == [k for k in all_keys if k.startswith(prefix)]

    @pytest.mark.parametrize(
        "bad",
        ["", "abc", "../../etc/passwd", key(1).upper(), key(1) + "0", key(1)[:63] + "\n", "é" * 64],
    )
    def test_an_invalid_key_is_rejected(self, content: ContentStore, bad: str) -> None:
        with pytest.raises(BadInput, match="64 lower-case hex digits"):
            content.put(bad, b"x", {})
        with pytest.raises(BadInput):
            content.get(bad)
        with pytest.raises(BadInput):
            content.delete(bad)

    def test_an_invalid_prefix_is_rejected(self, content: ContentStore) -> None:
        with pytest.raises(BadInput):
            list(content.keys("../"))

    def test_a_body_of_12_mib_is_stored(self, content: ContentStore) -> None:
        body = b"0123456789abcdef" * (12 * 65536)
        content.put(key(1), body, META)

        assert content.get(key(1)) == (body, META)

    def test_metadata_of_60_kib_is_stored(self, content: ContentStore) -> None:
        meta = {f"header-{n}": "é" * 1000 for n in range(30)}
        content.put(key(1), b"body", meta)

        assert content.get(key(1)) == (b"body", meta)

    @examples(20)
    @given(
        body=st.binary(max_size=2000),
        meta=st.dictionaries(st.text(max_size=20), st.text(max_size=200), max_size=5),
    )
    def test_any_body_and_metadata_are_returned_unchanged(
        self, content: ContentStore, body: bytes, meta: dict[str, str]
    ) -> None:
        content.put(key(1), body, meta)

        assert content.get(key(1)) == (body, meta)

    def test_readers_see_complete_objects_during_writes(self, content: ContentStore) -> None:
        def write(number: int) -> None:
            for _ in range(10):
                content.put(key(1), str(number).encode() * 50_000, {"n": str(number)})

        write(0)
        writers = [threading.Thread(target=write, args=(n,)) for n in range(1, 4)]
        for writer in writers:
            writer.start()
        while any(writer.is_alive() for writer in writers):
            stored = content.get(key(1))
            assert stored is not None
            body, meta = stored
            assert body == meta["n"].encode() * 50_000
        for writer in writers:
            writer.join()
        assert list(content.keys("")) == [key(1)]
