"""The examples of the README, as a reader would type them."""

import doctest
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def test_the_examples_of_the_readme_print_what_it_shows():
    text = README.read_text().replace("```\n", "\n").replace("```pycon\n", "\n")

    examples = doctest.DocTestParser().get_doctest(
        text, {}, "README.md", str(README), 0
    )
    shown = []
    result = doctest.DocTestRunner().run(examples, out=shown.append)

    assert result.attempted > 20
    assert result.failed == 0, "".join(shown)
