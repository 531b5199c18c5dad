"""Add-ons can be removed by deleting their folders; everything else still imports and runs."""

import shutil
import subprocess
import sys
from itertools import combinations, permutations
from pathlib import Path

import pytest

from aragog.cli.addons import addons

ROOT = Path(__file__).resolve().parents[3]
BRINGS = {"kafka", "mcp", "plan", "nutch", "wacz"}
"""Add-ons that provide a command or a format with the name of their folder."""
ADDONS = [addon.__name__.rpartition(".")[2] for addon in addons()]
RUNS = 5
DELETED_IN = dict(zip(ADDONS, combinations(range(RUNS), 2), strict=False))
"""
The two runs in which each add-on is deleted. No two add-ons have the same, so each works once without
each other one.
"""
REST = """
import importlib, os, pkgutil, sys
import aragog
assert aragog.__file__.startswith(os.getcwd()), aragog.__file__
package = importlib.import_module(sys.argv[1])
names = [found.name for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
for name in names:
    if not name.endswith("__main__") and not name.startswith("aragog.testing"):
        importlib.import_module(name)
from aragog.cli import main
from aragog.cli.store import store
print("COMMANDS", *main.list_commands(None))
for command in ("import", "export"):
    (kind,) = [option for option in store.commands[command].params if option.name == "kind"]
    print("FORMATS", *kind.type.choices)
from aragog.cli.addons import sends_changes
print("FORMATS", *sends_changes())
print("MODULES", *names)
main(["--help"])
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the package without the rest of the checkout."""
    folder = tmp_path_factory.mktemp("tree")
    shutil.copytree(
        ROOT / "aragog", folder / "aragog", ignore=shutil.ignore_patterns("__pycache__")
    )
    return folder


@pytest.fixture
def delete_addons(tree):
    """Deletes folders until the end of the test."""
    aside = tree / "deleted"
    aside.mkdir()

    def delete(*addons):
        for addon in addons:
            (tree / "aragog" / "addons" / addon).rename(aside / addon)

    yield delete
    for folder in aside.iterdir():
        folder.rename(tree / "aragog" / "addons" / folder.name)
    aside.rmdir()


def rest(tree, package):
    """Imports all modules of a package; returns them and the commands and formats they register."""
    done = subprocess.run(
        [sys.executable, "-c", REST, package], cwd=tree, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Commands:" in done.stdout
    lines = [line.split() for line in done.stdout.splitlines()]
    (modules,) = [line[1:] for line in lines if line[:1] == ["MODULES"]]
    brought = {n for line in lines if line[:1] in (["COMMANDS"], ["FORMATS"]) for n in line[1:]}
    return set(modules), brought


def test_everything_else_works_without_any_add_on(tree, delete_addons):
    delete_addons(*ADDONS)
    modules, brought = rest(tree, "aragog")

    assert len(modules) > 300
    assert [name for name in modules if name.startswith("aragog.addons.")] == []
    assert brought & BRINGS == set()


@pytest.mark.parametrize("run", range(RUNS))
def test_everything_else_works_without_some_add_ons(tree, delete_addons, run):
    deleted = {addon for addon, runs in DELETED_IN.items() if run in runs}
    delete_addons(*deleted)
    modules, brought = rest(tree, "aragog")

    assert len(modules) > 300
    left = {name.split(".")[2] for name in modules if name.startswith("aragog.addons.")}
    assert left == {*ADDONS} - deleted
    assert brought & BRINGS == BRINGS - deleted


def test_each_add_on_is_left_in_a_run_without_each_other_one():
    assert all({*DELETED_IN[one]} - {*DELETED_IN[other]} for one, other in permutations(ADDONS, 2))


def test_add_ons_match_the_folders():
    folders = {path.parent.name for path in (ROOT / "aragog" / "addons").glob("*/__init__.py")}

    assert set(ADDONS) == folders
    assert len(folders) >= 5
