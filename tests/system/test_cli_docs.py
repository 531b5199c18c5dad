"""What docs/producers.md and examples/ print is what they say; docs/cli.md: test_demo_crawl.py."""

import doctest

import pytest

from tests.support.documented import ROOT, agrees, examples, run
from tests.support.producer import producer_home

pytestmark = [pytest.mark.redis, pytest.mark.slow]


def test_every_command_has_its_place_on_a_page():
    from aragog.cli import COMMANDS

    text = "".join(page.read_text() for page in (ROOT / "docs").glob("*.md"))

    assert [name for name in COMMANDS if f"aragog {name}" not in text] == []


def test_the_producers_page_does_what_it_says(monkeypatch):
    with producer_home() as home:
        monkeypatch.setenv("ARAGOG_DATA_DIR", str(home.folder))

        found = doctest.testfile(str(ROOT / "docs" / "producers.md"), module_relative=False)

    assert found.attempted > 5
    assert not found.failed


def test_the_examples_print_what_they_say():
    with producer_home() as home:
        for command, wanted in examples("examples/README.md"):
            assert agrees(wanted, run(command, home.environ))
