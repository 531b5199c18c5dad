"""The examples in docstrings of the public API print the output shown."""

import doctest
from importlib import import_module

import pytest

EXAMPLES = {
    "urlspelling._explanation": 1,
    "urlspelling._normalization": 3,
    "urlspelling._parser": 1,
    "urlspelling._placeholders": 2,
    "urlspelling.canonical": 3,
    "urlspelling.domain": 3,
    "urlspelling.hosts": 2,
    "urlspelling.link_header": 2,
}
"""The minimum number of examples in each module, so that none disappears unnoticed."""


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_print_the_output_shown(name):
    failed, tried = doctest.testmod(import_module(name))

    assert tried >= EXAMPLES[name]
    assert failed == 0
