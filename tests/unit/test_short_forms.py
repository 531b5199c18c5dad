"""What `.ci/run` runs in a short form: every target of the Makefile and every measurement."""

import re
import runpy

from bench.__main__ import COMMANDS
from tests.support.documented import PAGES, ROOT

TARGETS = runpy.run_path(str(ROOT / "scripts" / "try_targets.py"))


def test_every_makefile_target_is_run():
    assert TARGETS["targets"]() == TARGETS["covered_targets"]() | TARGETS["RUN_BY_CI"]


def test_ci_runs_the_full_targets_and_the_short_forms():
    commands = (ROOT / ".ci" / "run").read_text()
    recipe = re.search(r"^check: (.*?)  ##", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]

    assert {"lint", "types", "layers", "test"} == set(recipe.split())
    for command in (
        "bare_machine.py --short",
        "make setup",
        "make -j 2 --output-sync docs lint types layers",
        "make test",
        "try_targets.py",
    ):
        assert command in commands
    assert "python -m bench" in commands


def test_ci_runs_the_targets_that_it_does_not_try_in_a_short_form():
    bare_machine = runpy.run_path(str(ROOT / "scripts" / "bare_machine.py"))
    recipe = (ROOT / "Makefile").read_text().partition("\ntest: ")[2].partition("\n\n")[0]

    assert bare_machine["short_commands"]()[0] == "make run"
    assert " libraries " in recipe


def test_measurements_started_by_targets_are_also_run():
    makefile = (ROOT / "Makefile").read_text()

    for target, module in TARGETS["MEASURED"].items():
        recipe = makefile.partition(f"\n{target}: ")[2].partition("\n\n")[0]
        assert re.search(rf"python -m {module}\b", recipe)
        assert module.removeprefix("bench.") in {command.split()[0] for command in COMMANDS}


def test_every_measurement_named_on_a_page_is_run():
    texts = [(ROOT / page).read_text() for page in PAGES]
    named = {name for text in texts for name in re.findall(r"python -m bench\.(\w+)", text)}

    assert named == {command.split()[0] for command in COMMANDS}
