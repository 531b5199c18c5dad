"""`traceparent` as text."""

import pytest

from aragog.observability.tracing.context import is_sampled, log_ids, read

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def test_context_round_trips():
    text = f"00-{TRACE}-{SPAN}-01"
    context = read(text)

    assert context == (TRACE, SPAN, True)
    assert context.traceparent == text
    assert is_sampled(text)
    assert log_ids(text) == {"trace_id": TRACE, "span_id": SPAN}


def test_unsampled_context_has_no_ids_in_logs():
    assert not is_sampled(f"00-{TRACE}-{SPAN}-00")
    assert log_ids(f"00-{TRACE}-{SPAN}-00") == {}


def test_later_version_is_parsed_as_far_as_known():
    assert read(f"01-{TRACE}-{SPAN}-01-more") == (TRACE, SPAN, True)


@pytest.mark.parametrize(
    "text",
    ["", "00", f"ff-{TRACE}-{SPAN}-01", f"00-{'0' * 32}-{SPAN}-01", f"00-{TRACE}-{'0' * 16}-01",
     f"00-{TRACE.upper()}-{SPAN}-01", f"00-{TRACE}-{SPAN}-1", f"00-{TRACE}-{SPAN}-01\n"],
)  # fmt: skip
def test_invalid_context_is_ignored(text):
    assert read(text) is None
    assert not is_sampled(text)
