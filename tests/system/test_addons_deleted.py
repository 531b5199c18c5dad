"""
A crawl works without the folder of any add-on.

Each is deleted in two crawls: with all others, and with half of them. That everything can be
imported without a single one is checked in `tests/unit/cli/test_addons.py`.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from aragog.cli.addons import addons

pytestmark = [pytest.mark.redis, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
ADDONS = sorted(addon.__name__.rpartition(".")[2] for addon in addons())
DELETED = {"all": ADDONS, "one half": ADDONS[::2], "the other half": ADDONS[1::2]}
LAMP = "http://www.shop.test/p/brass-lamp"


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the package, whose modules the first crawl compiles for all."""
    folder = tmp_path_factory.mktemp("tree")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "aragog", folder / "aragog", ignore=ignored)
    return folder


@pytest.fixture(params=DELETED.values(), ids=DELETED)
def deleted(request, tree, tmp_path):
    """Add-ons whose folders are missing until the end of the test."""
    aside = tmp_path / "deleted"
    aside.mkdir()
    for addon in request.param:
        (tree / "aragog" / "addons" / addon).rename(aside / addon)
    yield request.param
    for addon in request.param:
        (aside / addon).rename(tree / "aragog" / "addons" / addon)


def aragog(tree, folder, *arguments):
    """The output of an `aragog` command of a copy in a folder."""
    ours = {k: v for k, v in os.environ.items() if not k.startswith(("ARAGOG_", "PYTHON"))}
    environ = {
        **ours,
        "PYTHONPATH": str(tree),  # its processes do not import from their current folder
        "ARAGOG_SERVING__HTTP_PORT": "0",
        "ARAGOG_SERVING__THRIFT_PORT": "0",
    }
    done = subprocess.run(
        [sys.executable, "-m", "aragog.cli", *arguments],
        cwd=folder, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_crawl_works_without_add_ons(tree, deleted, tmp_path):
    aragog(tree, tmp_path, "run", "--stop")
    shown = json.loads(aragog(tree, tmp_path, "show", LAMP, "--json"))

    assert shown["fields"]["product.price"] == "89.90"
    assert not [name for name in deleted if (tree / "aragog" / "addons" / name).exists()]
