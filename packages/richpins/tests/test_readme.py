"""The examples of the README print what it says."""

import doctest
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_examples_print_what_the_page_says():
    failed, tried = doctest.testfile(str(README), module_relative=False)

    assert tried >= 10
    assert failed == 0
