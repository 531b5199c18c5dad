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
def test_compressed_content_is_read_back(body):
    assert decompress(compress(body)) == body
    assert compress(body) == compress(body)


@pytest.mark.parametrize("data", [b"", b"plain", compress(b"x" * 99)[:-3]])
def test_damaged_content_is_corrupt(data):
    with pytest.raises(CorruptContent):
        decompress(data)


@given(st.binary(max_size=2000))
def test_an_object_has_the_bytes_that_earlier_versions_put(body):
    """Its hash tells whether a page changed, and which pages are the same."""
    earlier = zstd.compress(body, 3)
    assert object_bytes(compress(body)) == object_bytes(earlier) == earlier
    assert stored_hash(ContentWrite(compress(body))) == content_hash(earlier)


@given(st.binary(max_size=2000), st.integers(1, 20))
def test_a_frame_that_is_cut_off_is_not_taken_as_it_is(body, cut):
    frame = compress(body)
    assert zstd.is_checked(frame)
    assert not zstd.is_checked(frame[:-cut])
    assert not zstd.is_checked(frame + frame)
    assert not zstd.is_checked(zstd.compress(body, 3))


def test_a_known_hash_of_a_body_is_not_computed_again():
    assert body_hash(ContentWrite(b"no body", digest="a hash")) == "a hash"
