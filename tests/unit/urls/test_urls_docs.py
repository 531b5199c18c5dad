"""The pages about URLs print what they say."""

import doctest
import re
from pathlib import Path

import pytest

from aragog.errors import InvalidUrl
from aragog.urls import normalize
from aragog.urls.query import site_rules

DOCS = Path(__file__).resolve().parents[3] / "docs"


@pytest.mark.parametrize("name", ["urls.md", "canonical.md"])
def test_the_examples_of_a_page_are_true(name):
    blocks = "\n".join(re.findall(r"```pycon\n(.*?)```", (DOCS / name).read_text(), re.DOTALL))
    test = doctest.DocTestParser().get_doctest(blocks, {}, name, name, 0)

    assert test.examples
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


def rows(heading):
    table = (DOCS / "urls.md").read_text().partition(heading)[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("|")][2:]
    return [
        [cell.strip() for cell in line.replace("\\|", "\0").strip("|").split("|")] for line in lines
    ]


def code(cell):
    return cell.strip("`").strip('"').replace("\\t", "\t").replace("\0", "|")


@pytest.mark.parametrize(("step", "before", "after"), rows("## The steps"))
def test_each_step_does_what_its_row_says(step, before, after):
    if after == "`InvalidUrl`":
        with pytest.raises(InvalidUrl):
            normalize(code(before))
    else:
        assert normalize(code(before)) == code(after), step


def test_the_example_of_a_site_file_is_one():
    (example,) = re.findall(r"```toml\n(.*?)```", (DOCS / "urls.md").read_text(), re.DOTALL)

    youtube, shop = site_rules(example, "docs/urls.md")

    assert (youtube.drop, shop.keep, shop.sort) == ({"si", "feature"}, {"utm_source"}, False)
