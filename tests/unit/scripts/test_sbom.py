"""The bill of materials in the wheel, and reproducible wheels."""

import json
import runpy
import tomllib
import zipfile
from pathlib import Path

import cyclonedx.schema
import pytest
from jsonschema import Draft7Validator
from referencing import Registry, Resource

from scripts.packages import libraries

ROOT = Path(__file__).resolve().parents[3]
SBOM = runpy.run_path(str(ROOT / "scripts" / "sbom.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SCHEMAS = Path(cyclonedx.schema.__file__).parent / "_res"
LOCK = """\
celery==5.7.1 \\
    --hash=sha256:00
    # via aragog-crawler (pyproject.toml)
colorama==0.4.6 ; sys_platform == 'win32' \\
    --hash=sha256:00
    # via celery
kombu==5.7.0 \\
    --hash=sha256:00
    # via
    #   celery
    #   pytest
pytest==9.0 \\
    --hash=sha256:00
    # via aragog-crawler (pyproject.toml)
boto3==1.40 \\
    --hash=sha256:00
    # via aragog-crawler (pyproject.toml)
"""
SMALL = {
    "version": "1.0",
    "description": "a crawler",
    "license": "Apache-2.0",
    "dependencies": ["celery>=5.7"],
    "optional-dependencies": {"s3": ["boto3"], "dev": ["pytest"], "all": ["aragog-crawler[s3]"]},
}


def scopes(document):
    return {each["name"]: each["scope"] for each in document["components"]}


def test_it_lists_installed_packages_without_development_tools():
    assert scopes(SBOM["bill"](SMALL, LOCK)) == {
        "boto3": "optional",
        "celery": "required",
        "colorama": "optional",
        "kombu": "required",
    }


def test_it_lists_the_dependencies_of_each_package():
    requires = {
        each["ref"]: each["dependsOn"] for each in SBOM["bill"](SMALL, LOCK)["dependencies"]
    }

    assert requires["pkg:pypi/aragog-crawler@1.0"] == [
        "pkg:pypi/boto3@1.40",
        "pkg:pypi/celery@5.7.1",
    ]
    assert requires["pkg:pypi/celery@5.7.1"] == ["pkg:pypi/colorama@0.4.6", "pkg:pypi/kombu@5.7.0"]


def test_bill_of_aragog_is_valid_and_complete():
    beside = [each.metadata for each in libraries()]
    document = SBOM["bill"](PROJECT, (ROOT / "requirements.lock").read_text(), beside)
    schema = json.loads((SCHEMAS / "bom-1.6.SNAPSHOT.schema.json").read_text())
    others = [
        (
            f"http://cyclonedx.org/schema/{name}",
            Resource.from_contents(json.loads(path.read_text())),
        )
        for path in SCHEMAS.glob("*.SNAPSHOT.schema.json")
        for name in (path.name, path.name.replace(".SNAPSHOT", ""))
        if not path.name.startswith("bom")
    ]

    errors = list(Draft7Validator(schema, registry=Registry().with_resources(others)).iter_errors(document))  # fmt: skip

    required = {name for name, scope in scopes(document).items() if scope == "required"}
    assert errors == []
    assert {SBOM["normalized_name"](each) for each in PROJECT["dependencies"]} <= required | {
        "uvloop"
    }
    assert {each["name"] for each in beside} <= required
    assert "boto3" in scopes(document)
    assert not {"pytest", "mypy", "reppy"} & required


@pytest.fixture
def wheels(tmp_path):
    """Two wheels of the same files that differ in order, time and file modes."""
    files = {"aragog/a.py": b"a = 1\n", "aragog-1.0.dist-info/RECORD": b"aragog/a.py,,\n"}
    paths = [tmp_path / "1.whl", tmp_path / "2.whl"]
    for path, names, year, mode in zip(
        paths, (files, reversed(files)), (1999, 2026), (0o644, 0o600), strict=True
    ):
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                info = zipfile.ZipInfo(name, (year, 1, 1, 0, 0, 0))
                info.external_attr = mode << 16
                archive.writestr(info, files[name])
    return paths


def test_two_builds_are_identical(wheels):
    for path in (*wheels, wheels[0]):  # the last one already has it
        SBOM["embed"](path, SBOM["bill"](SMALL, LOCK), 1_764_000_000)

    assert wheels[0].read_bytes() == wheels[1].read_bytes()


def test_it_is_in_the_standard_folder_and_in_the_record(wheels):
    SBOM["embed"](wheels[0], SBOM["bill"](SMALL, LOCK), 0)

    name = "aragog-1.0.dist-info/sboms/aragog.cdx.json"
    with zipfile.ZipFile(wheels[0]) as archive:
        data, record = archive.read(name), archive.read(archive.namelist()[-1]).decode()
    assert json.loads(data)["bomFormat"] == "CycloneDX"
    assert SBOM["record_line"](name, data) in record
