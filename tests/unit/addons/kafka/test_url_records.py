"""Parsing of topic records."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.addons.kafka.url_records import MAX_BYTES, TopicUrl, group_by_arguments, read_record
from aragog.api.operations.enqueue_options import EnqueueArguments
from aragog.errors import BadInput

USUAL = EnqueueArguments(priority=7, depth=1)


def test_plain_text_is_a_url_with_default_options():
    assert read_record(b" http://a.example/\n", USUAL) == TopicUrl("http://a.example/", USUAL)
    assert read_record(b'{"url": "http://a.example/"}', USUAL).arguments == USUAL


def test_object_overrides_the_default_options():
    record = read_record(b'{"url": "http://a.example/", "priority": 0, "include": ["*x*"]}', USUAL)

    assert record.arguments == EnqueueArguments(priority=0, depth=1, include=("*x*",))


@pytest.mark.parametrize(
    ("value", "reason"),
    [(None, "is empty"), (b"", "is empty"), (b"\xff", "is not UTF-8"), (b"{", "is not JSON"),
     (b'{"url": 5}', "url must be a string"), (b"{}", "url must be a string"),
     (b'{"url": "http://a/", "prio": 1}', "is not an enqueue option"),
     (b'{"url": "http://a/", "priority": 10}', "priority"),
     (b'{"url": "http://a/", "priority": "high"}', "priority"),
     (b"x" * (MAX_BYTES + 1), "longer than 64 KiB")],
)  # fmt: skip
def test_malformed_record_is_refused_with_a_reason(value, reason):
    with pytest.raises(BadInput, match=reason):
        read_record(value, USUAL)


@given(st.binary(max_size=200) | st.binary(max_size=60).map(lambda b: b'{"url":"a",' + b + b"}"))
def test_no_record_raises_anything_else(value):
    try:
        assert isinstance(read_record(value, USUAL), TopicUrl)
    except BadInput as error:
        assert str(error)  # noqa: PT017 - any record may be refused


def test_records_with_equal_options_share_one_call():
    other = EnqueueArguments(priority=0)
    records = [TopicUrl("1", USUAL), TopicUrl("2", other), TopicUrl("3", USUAL)]

    one, two, three = records
    assert group_by_arguments(records) == [(USUAL, [one, three]), (other, [two])]
