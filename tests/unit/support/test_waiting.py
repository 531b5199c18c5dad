"""The wait helper of the tests reports what it waited for."""

import pytest

from tests.support.waiting import wait_until


def test_true_value_is_returned_immediately():
    values = iter([0, "", [7]])

    assert wait_until(lambda: next(values)) == [7]


def test_timeout_is_reported_with_its_place_and_last_value():
    with pytest.raises(AssertionError, match=r"(?s)0 after 0.01 s at .*test_waiting.py:\d+\nlog"):
        wait_until(lambda: 0, 0.01, otherwise=lambda: "log")
