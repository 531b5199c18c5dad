"""Commands are encoded as redis-py encodes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.connection import Encoder, PythonRespSerializer
from redis.exceptions import DataError

from pinlater.redis.packer import Packer

VALUES = st.one_of(
    st.text(alphabet=st.characters(exclude_categories=["Cs"])),
    st.binary(),
    st.binary().map(bytearray),
    st.binary().map(memoryview),
    st.integers(),
    st.floats(),
)


@given(st.sampled_from(["GET", "CONFIG GET", b"EVALSHA", b"SCRIPT LOAD"]), st.lists(VALUES))
def test_commands_have_the_bytes_of_redis_py(name, values):
    theirs = PythonRespSerializer(6000, Encoder("utf-8", "strict", False).encode)

    assert b"".join(Packer().pack(name, *values)) == b"".join(theirs.pack(name, *values))


def test_long_command_is_sent_in_parts():
    whole = Packer().pack("MSET", "a", b"x" * 60, "b", b"y" * 60, "c", b"z" * 200)
    parts = Packer(100).pack("MSET", "a", b"x" * 60, "b", b"y" * 60, "c", b"z" * 200)

    assert len(whole) == 1
    assert len(parts) == 3
    assert b"".join(parts) == whole[0]


@pytest.mark.parametrize("value", [True, None, ["a"]])
def test_argument_without_an_encoding_is_refused(value):
    with pytest.raises(DataError, match=type(value).__name__):
        Packer().pack("SET", "a", value)
