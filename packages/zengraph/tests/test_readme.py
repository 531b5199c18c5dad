"""The examples of the README, as a reader would type them."""

import doctest
import textwrap
from pathlib import Path

import pytest

from zengraph.tables.memory import MemoryTables
from zengraph.testing.cell_table import CellTableContract

README = Path(__file__).resolve().parents[1] / "README.md"


def test_readme_examples_print_the_output_shown():
    text = README.read_text().replace("```\n", "\n").replace("```pycon\n", "\n")

    examples = doctest.DocTestParser().get_doctest(text, {}, "README.md", str(README), 0)
    shown = []
    result = doctest.DocTestRunner().run(examples, out=shown.append)

    assert result.attempted > 20
    assert result.failed == 0, "".join(shown)


def test_engine_contract_example_of_the_readme_works():
    _, _, rest = README.read_text().partition("```python\n")
    names = {"pytest": pytest, "MyTables": MemoryTables}

    exec(textwrap.dedent(rest.partition("```")[0]), names)

    contract = names["TestMyTables"]
    assert issubclass(contract, CellTableContract)
    assert contract().make_tables.__wrapped__(contract()) is MemoryTables
