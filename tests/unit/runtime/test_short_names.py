"""In a source checkout, `tasks` and `workers` are short names for the modules of the package."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

NAMES = ["tasks.fetch", "tasks.routes", "workers", "workers.app", "celeryconfig", "beat_schedule"]
FILES_LOADED_TWICE = """
import os, sys
from collections import defaultdict
modules = defaultdict(set)
for module in list(sys.modules.values()):
    if getattr(module, "__file__", None):
        modules[os.path.realpath(module.__file__)].add(module.__name__)
print(*(names for names in modules.values() if len(names) > 1))
"""


def in_a_checkout(code):
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("first", ["", "aragog."])
@pytest.mark.parametrize("name", NAMES)
def test_short_name_is_the_same_module_in_either_import_order(name, first):
    (second,) = {"", "aragog."} - {first}
    code = f"import {first}{name}, {second}{name}, sys\nprint({name} is aragog.{name})"

    assert in_a_checkout(code + FILES_LOADED_TWICE) == "True"


def test_module_keeps_its_long_name():
    code = "from workers import roles; print(roles.__name__, roles.__spec__.name)"

    assert in_a_checkout(code) == "aragog.workers.roles aragog.workers.roles"


def test_missing_module_with_a_short_name_is_reported():
    code = "try:\n    import tasks.nothing\nexcept ModuleNotFoundError as error: print(error)"

    assert in_a_checkout(code) == "No module named 'aragog.tasks.nothing'"


@pytest.mark.parametrize("name", ["tasks", "workers"])
def test_package_links_to_its_top_level_folders(name):
    assert (ROOT / "aragog" / name).is_symlink()
    assert (ROOT / "aragog" / name).resolve() == ROOT / name
