from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinlater import job_body
from pinlater.errors import InvalidArgument, InvalidMessage
from pinlater.job_body import JSON, OCTETS, JobBody

TYPES = st.from_regex(r"[a-z]{1,9}/[a-z.+-]{1,90}(; ?[a-z]=[a-z0-9]{1,9})?", fullmatch=True)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc"), inner),
    max_leaves=5,
)  # fmt: skip


@given(st.binary(max_size=500), TYPES)
def test_any_bytes_round_trip_with_their_content_type(data, content_type):
    stored = job_body.encode(JobBody(data, content_type))

    assert job_body.is_plain(stored)
    assert job_body.decode(stored) == JobBody(data, content_type)


def test_celery_message_is_distinguished_from_a_plain_body():
    envelope = b'{"body": "W10=", "headers": {}}'

    assert not job_body.is_plain(envelope)
    with pytest.raises(InvalidMessage, match="version"):
        job_body.decode(envelope)


@given(st.binary(max_size=500))
def test_no_bytes_crash_the_decoder(stored):
    try:
        job_body.decode(stored)
    except InvalidMessage:
        return
    assert stored[:1] == b"\x01"


@pytest.mark.parametrize("content_type", ["", " a/b", "a\nb", "ä/b", "a" * 201])
def test_content_type_must_be_one_line_of_ascii(content_type):
    with pytest.raises(InvalidArgument, match="content_type"):
        job_body.encode(JobBody(b"", content_type))


@given(st.lists(VALUES, max_size=4))
def test_positional_arguments_become_an_array(values):
    assert job_body.arguments(job_body.of_arguments(values, {})) == (values, {})


@given(st.dictionaries(st.text("xyz", min_size=1), VALUES, min_size=1, max_size=4))
def test_named_arguments_become_an_object(values):
    assert job_body.arguments(job_body.of_arguments([], values)) == ([], values)


def test_single_bytes_argument_becomes_the_body():
    assert job_body.of_arguments([b"\x00\xff"], {}) == JobBody(b"\x00\xff", OCTETS)
    assert job_body.arguments(JobBody(b"\x00", "image/png")) == ([b"\x00"], {})


def test_json_of_other_programs_may_be_any_value():
    for content_type in (JSON, "Application/JSON; charset=utf-8", "application/vnd.shop+json"):
        assert job_body.arguments(JobBody(b"7", content_type)) == ([7], {})


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[" * 100_000])
def test_malformed_json_body_is_refused(data):
    with pytest.raises(InvalidMessage, match="is not JSON"):
        job_body.arguments(JobBody(data, JSON))


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ([datetime(2026, 1, 1, tzinfo=UTC)], {}),
        ([b"a", b"b"], {}),
        ([1], {"a": 2}),
        ([float("nan")], {}),
    ],
)
def test_arguments_that_other_languages_cannot_read_are_refused(args, kwargs):
    with pytest.raises(InvalidArgument, match="job: "):
        job_body.of_arguments(args, kwargs)
