"""The last lines of `make test`."""

import pytest

from tests.support.missing_parts import GO, ROOT, THRIFT, lines, skip_without


def test_a_line_a_part_says_how_many_tests_it_brings_and_what_to_install():
    reasons = [THRIFT.reason, GO.reason, f"{GO.reason}: go could not build it"]

    assert lines(reasons) == [
        "Go: apt install golang (brings 2 tests)",
        "the Thrift compiler: apt install thrift-compiler (brings 1 test)",
    ]


def test_nothing_is_said_of_other_reasons():
    assert lines(["a reason of its own"]) == []


def test_what_ci_installs_may_not_be_missing_there(monkeypatch):
    monkeypatch.setenv("CI", "true")

    with pytest.raises(pytest.fail.Exception, match="apt install golang"):
        skip_without(GO)
    with pytest.raises(pytest.skip.Exception):
        skip_without(ROOT)
