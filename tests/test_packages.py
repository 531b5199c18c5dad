"""Checks of all code include the libraries, and a library does not depend on the crawler."""

import ast
import configparser
import re
import tomllib

import pytest

from scripts.packages import PROJECT, crawler, distributions, libraries
from tests.support.sources import all_modules, all_tests, modules_of

LIBRARIES = libraries()
PYPROJECT = tomllib.loads((PROJECT / "pyproject.toml").read_text())


def by_library(function):
    return pytest.mark.parametrize("library", LIBRARIES, ids=lambda each: each.name)(function)


def contracts():
    parser = configparser.ConfigParser()
    parser.read(PROJECT / ".importlinter")
    return parser


def listed(text):
    return set(text.split())


def test_checks_cover_the_expected_number_of_files():
    """A file that is missing from a list would leave the checks unnoticed."""
    patterns = [path for path in all_modules() if "re.compile(" in path.read_text()]
    folders = [path.root for path in LIBRARIES] + [crawler().package]
    scripts = [path for folder in folders for path in folder.rglob("*.lua")]

    assert len(all_modules()) >= 650
    assert len(all_tests()) >= 600
    assert len(patterns) >= 90
    assert len(scripts) >= 25


def test_import_linter_reads_every_package():
    roots = listed(contracts()["importlinter"]["root_packages"])

    assert roots == {each.imported_as for each in distributions()}


def test_no_library_may_import_the_crawler():
    if not LIBRARIES:
        return
    contract = contracts()["importlinter:contract:libraries"]

    assert listed(contract["source_modules"]) == {each.imported_as for each in LIBRARIES}
    assert listed(contract["forbidden_modules"]) >= {"aragog"}
    assert "ignore_imports" not in contract


def test_types_are_checked_in_every_package():
    files = PYPROJECT["tool"]["mypy"]["files"]

    assert files == ["aragog", *(f"packages/{each.root.name}/src" for each in LIBRARIES)]


def test_imports_of_libraries_are_sorted_as_first_party():
    own = PYPROJECT["tool"]["ruff"]["lint"]["isort"]["known-first-party"]

    assert {each.imported_as for each in distributions()} <= set(own)


def test_no_library_is_looked_up_on_an_index():
    """Their names are not taken there: whoever took one could put code into a crawler."""
    sources = PYPROJECT["tool"].get("uv", {}).get("sources", {})
    lock = (PROJECT / "requirements.lock").read_text()

    for library in LIBRARIES:
        place = f"packages/{library.root.name}"
        assert sources[library.name] == {"path": place, "editable": True}
        assert not re.search(rf"^{re.escape(library.name)}==", lock, re.MULTILINE)


@by_library
def test_crawler_requires_exactly_the_version_in_this_repository(library):
    extras = [r for each in crawler().metadata["optional-dependencies"].values() for r in each]
    named = [
        requirement
        for requirement in [*crawler().metadata["dependencies"], *extras]
        if re.match(rf"{re.escape(library.name)}(\[[\w,-]+\])?(?![\w-])", requirement)
    ]

    assert named
    assert {requirement.partition("==")[2] for requirement in named} == {library.version}


@by_library
def test_library_has_its_own_readme_license_and_tests(library):
    for name in ("README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", "tests"):
        assert (library.root / name).exists(), name
    assert (library.package / "py.typed").exists()
    assert library.metadata["license"] == "Apache-2.0"
    assert f"## {library.version}" in (library.root / "CHANGELOG.md").read_text()


@by_library
def test_files_shipped_with_a_library_link_only_to_public_addresses(library):
    """An index shows only the README, without the files and headings that it could link to."""
    texts = [library.root / "README.md", *library.package.rglob("*.md")]
    links = [
        (text.name, link)
        for text in texts
        for link in re.findall(r"\]\(([^)\s]*)", text.read_text())
    ]

    assert [link for link in links if not link[1].startswith("https://")] == []


@by_library
def test_library_and_its_tests_do_not_mention_the_crawler(library):
    """An import in a string counts too, and so do its tests, which run without the crawler."""
    named = [
        f"{path.relative_to(PROJECT)}:{number}"
        for path in [*modules_of(library.package), *modules_of(library.root / "tests")]
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(r"\baragog\.[a-z]|\b(import|from) (aragog|tests|scripts)\b", line)
    ]

    assert named == []


@by_library
def test_library_declares_its_imports(library):
    from tests.unit.test_declared_imports import distributions as providers
    from tests.unit.test_declared_imports import imported, named

    extras = library.metadata.get("optional-dependencies", {}).values()
    declared = named([*library.metadata.get("dependencies", []), *(r for e in extras for r in e)])
    modules = imported(library.package)
    modules.pop(library.imported_as, None)
    ours = {each.imported_as: each.name for each in LIBRARIES}

    missing = {
        name: str(at)
        for name, at in modules.items()
        if not (providers(name) | {ours.get(name, "")}) & declared
    }
    assert missing == {}


@by_library
def test_public_package_of_a_library_has_a_docstring(library):
    tree = ast.parse((library.package / "__init__.py").read_text())

    assert ast.get_docstring(tree)


def test_image_contains_every_library():
    copied = (PROJECT / "deploy" / "docker" / "Dockerfile").read_text()
    allowed = (PROJECT / "deploy" / "docker" / "Dockerfile.dockerignore").read_text().split()

    assert "COPY packages packages" in copied or not LIBRARIES
    assert "!packages" in allowed or not LIBRARIES
