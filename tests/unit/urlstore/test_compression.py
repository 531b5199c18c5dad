import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.errors import CorruptContent
from aragog.urlstore import zstd
from aragog.urlstore.compression import (
    body_hash,
    compress,
    content_hash,
    decompress,
    object_bytes,
    stored_hash,
)
from aragog.urlstore.records import ContentWrite


@given(st.binary(max_size=2000))
def test_content_round_trips(body):
    assert decompress(compress(body)) == body
    assert compress(body) == compress(body)


@pytest.mark.parametrize("data", [b"", b"plain", compress(b"x" * 99)[:-3]])
def test_damaged_content_is_reported_as_corrupt(data):
    with pytest.raises(CorruptContent):
        decompress(data)


@given(st.binary(max_size=2000))
def test_stored_object_has_the_same_bytes_as_in_earlier_versions(body):
    """Its hash shows whether a page changed and which pages are the same."""
    earlier = zstd.compress(body, 3)
    assert object_bytes(compress(body)) == object_bytes(earlier) == earlier
    assert stored_hash(ContentWrite(compress(body))) == content_hash(earlier)


@given(st.binary(max_size=2000), st.integers(1, 20))
def test_truncated_frame_is_not_accepted_as_checked(body, cut):
    frame = compress(body)
    assert zstd.is_checked(frame)
    assert not zstd.is_checked(frame[:-cut])
    assert not zstd.is_checked(frame + frame)
    assert not zstd.is_checked(zstd.compress(body, 3))


def test_known_body_hash_is_not_recomputed():
    assert body_hash(ContentWrite(b"no body", digest="a hash")) == "a hash"
