"""The examples of the README print the output shown."""

import doctest
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_examples_print_the_output_shown():
    failed, tried = doctest.testfile(str(README), module_relative=False)

    assert tried >= 10
    assert failed == 0
