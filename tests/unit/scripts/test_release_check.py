"""A release has the same version everywhere."""

import runpy
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
CHECK = runpy.run_path(str(ROOT / "scripts" / "release_check.py"))
FILES = ["pyproject.toml", "CHANGELOG.md", *(name for name, _ in CHECK["VERSION_PATTERNS"])]


@pytest.fixture
def tree(tmp_path):
    """The files that name the version, ready for version 1.2.3."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## Unreleased\n\n## 1.2.3 - 2026-12-01\n")
    (tmp_path / FILES[2]).write_text("newTag: 1.2.3\nnewTag: 1.2.3\n")
    (tmp_path / FILES[3]).write_text("version: 1.2.3\n")
    (tmp_path / FILES[4]).write_text("pip install 'dist/aragog_crawler-1.2.3-py3-none-any.whl'\n")
    return tmp_path


def test_this_tree_has_one_version():
    assert list(CHECK["problems"](ROOT, "")) == []


def test_ready_tree_has_no_problems(tree):
    assert list(CHECK["problems"](tree, "v1.2.3")) == []


@pytest.mark.parametrize(
    ("name", "text", "tag", "problem"),
    [
        ("pyproject.toml", '[project]\nversion = "1.2.3"\n', "v1.2.4", "the tag is v1.2.4"),
        (
            "CHANGELOG.md",
            "## Unreleased\n\n## 1.2.2 - 2026-01-01\n",
            "",
            "no section `## 1.2.3 - `",
        ),
        (
            "CHANGELOG.md",
            "## Unreleased\n\n- more\n\n## 1.2.3 - 2026-01-01\n",
            "v1.2.3",
            "unreleased changes",
        ),
        ("deploy/helm/aragog/Chart.yaml", "version: 1.0.0\n", "", "has 1.0.0 instead of 1.2.3"),
    ],
)
def test_missing_part_is_reported(tree, name, text, tag, problem):
    (tree / name).write_text(text)

    (found,) = CHECK["problems"](tree, tag)

    assert problem in found
