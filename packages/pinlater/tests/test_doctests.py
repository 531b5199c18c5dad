"""The examples in docstrings of the public API print what they say."""

import doctest
from importlib import import_module

import pytest

EXAMPLES = {
    "pinlater.admin": 8,
    "pinlater.cluster": 6,
    "pinlater.job_types": 5,
}
"""The least number of examples in each module, so that none is lost unseen."""


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_print_what_they_say(name):
    failed, tried = doctest.testmod(import_module(name))

    assert tried >= EXAMPLES[name]
    assert failed == 0
