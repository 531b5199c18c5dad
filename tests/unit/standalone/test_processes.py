"""Calling a function in a child process."""

import os
import sys

import pytest

from aragog.errors import ConfigError
from aragog.standalone.processes import call_in_child


def imports_a_module():
    sys.modules["only_in_the_child"] = sys


def finds_two_problems():
    raise ConfigError("redis.url: wrong", "data_dir: missing")


def is_killed():
    os.kill(os.getpid(), 9)


def test_imports_of_the_function_end_with_the_child():
    call_in_child(imports_a_module)

    assert "only_in_the_child" not in sys.modules


def test_error_in_the_child_is_raised_in_the_parent():
    with pytest.raises(ConfigError) as caught:
        call_in_child(finds_two_problems)

    assert caught.value.problems == ("redis.url: wrong", "data_dir: missing")


def test_killed_child_is_an_error():
    with pytest.raises(ConfigError, match="could not be checked"):
        call_in_child(is_killed)
