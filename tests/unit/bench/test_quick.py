"""The option `--quick` of the measurements."""

import argparse

import pytest

from bench.quick import add_quick


@pytest.fixture
def parser():
    made = argparse.ArgumentParser()
    made.add_argument("seconds", nargs="?", type=float, default=1.0)
    made.add_argument("--urls", type=int, default=1000)
    add_quick(made, seconds=0.1, urls=10)
    return made


def test_quick_replaces_defaults_of_options_and_arguments(parser):
    assert vars(parser.parse_args(["--quick"])) == {"quick": True, "seconds": 0.1, "urls": 10}


def test_explicit_values_override_quick(parser):
    given = parser.parse_args(["--quick", "0.5", "--urls", "20"])

    assert (given.seconds, given.urls) == (0.5, 20)


def test_defaults_apply_without_quick(parser):
    assert vars(parser.parse_args([])) == {"quick": False, "seconds": 1.0, "urls": 1000}
