"""The examples in docstrings of the public API print the output shown."""

import doctest
from importlib import import_module

import pytest

EXAMPLES = {
    "pinlater.admin": 8,
    "pinlater.cluster": 8,
    "pinlater.job_types": 5,
}
"""The minimum number of examples in each module, so that none disappears unnoticed."""


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_print_the_output_shown(name):
    failed, tried = doctest.testmod(import_module(name))

    assert tried >= EXAMPLES[name]
    assert failed == 0
