"""The last lines of `make test`."""

import pytest

from tests.support.missing_parts import GO, ROOT, THRIFT, lines, skip_without


def test_each_missing_part_gets_a_line_with_its_tests_and_package():
    reasons = [THRIFT.reason, GO.reason, f"{GO.reason}: go could not build it"]

    assert lines(reasons) == [
        "Go: apt install golang (brings 2 tests)",
        "the Thrift compiler: apt install thrift-compiler (brings 1 test)",
    ]


def test_other_reasons_get_no_line():
    assert lines(["a reason of its own"]) == []


def test_missing_part_fails_in_ci(monkeypatch):
    monkeypatch.setenv("CI", "true")

    with pytest.raises(pytest.fail.Exception, match="apt install golang"):
        skip_without(GO)
    with pytest.raises(pytest.skip.Exception):
        skip_without(ROOT)
