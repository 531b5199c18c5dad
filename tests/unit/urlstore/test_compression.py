import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.errors import CorruptContent
from aragog.urlstore.compression import compress, decompress


@given(st.binary(max_size=2000))
def test_compressed_content_is_read_back(body):
    assert decompress(compress(body)) == body
    assert compress(body) == compress(body)


@pytest.mark.parametrize("data", [b"", b"plain", compress(b"x" * 99)[:-3]])
def test_damaged_content_is_corrupt(data):
    with pytest.raises(CorruptContent):
        decompress(data)
