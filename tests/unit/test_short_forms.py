"""What `.ci/run` runs in a short form: every target of the Makefile, every measurement."""

import re
import runpy

from bench.__main__ import COMMANDS
from tests.support.documented import PAGES, ROOT

TARGETS = runpy.run_path(str(ROOT / "scripts" / "try_targets.py"))


def test_every_target_of_the_makefile_is_run():
    assert TARGETS["targets"]() == TARGETS["tried"]() | TARGETS["WHOLE"]


def test_ci_runs_what_it_runs_whole_and_the_others_in_short():
    commands = (ROOT / ".ci" / "run").read_text()
    recipe = re.search(r"^check: (.*?)  ##", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]

    assert {"lint", "types", "layers", "test"} == set(recipe.split())
    for command in (
        "bare_machine.py",
        "make setup",
        "make docs",
        "make lint types layers",
        "make test",
        "try_targets.py",
    ):
        assert command in commands
    assert "python -m bench" in commands


def test_every_measurement_that_a_page_names_is_run():
    texts = [(ROOT / page).read_text() for page in PAGES]
    named = {name for text in texts for name in re.findall(r"python -m bench\.(\w+)", text)}

    assert named == {command.split()[0] for command in COMMANDS}
