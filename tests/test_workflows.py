"""
The workflows for a public host: pinned, with minimal permissions, built from targets of the
Makefile.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.support.actionlint import actionlint_or_skip
from tests.support.documented import ROOT

FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS = sorted(FOLDER.glob("*.yml"))
JOBS = [
    (path, name, job)
    for path in WORKFLOWS
    for name, job in yaml.safe_load(path.read_text())["jobs"].items()
]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PYTHONS = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
# Permissions beyond reading, and the jobs that need them.
RIGHTS = {
    ("site.yml", "deploy"): {"pages", "id-token"},
    ("release.yml", "publish"): {"id-token", "attestations"},
    ("release.yml", "image"): {"packages", "id-token", "attestations"},
}
SECRETS = {"github.token"}  # created by the host for the run


def steps():
    return [(path.name, step) for path, _, job in JOBS for step in job.get("steps", ())]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actionlint_reports_nothing(path):
    done = subprocess.run(
        [actionlint_or_skip(), "-no-color", path], capture_output=True, text=True, check=False
    )

    assert done.stdout + done.stderr == ""


def test_zizmor_reports_nothing():
    zizmor = Path(sys.executable).with_name("zizmor")

    done = subprocess.run(
        [zizmor, "--offline", "--quiet", "--no-progress", ROOT / ".github"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout


def test_every_action_is_pinned_to_a_commit_with_its_version():
    lines = [line for path in WORKFLOWS for line in path.read_text().splitlines()]
    used = [line.partition("uses:")[2].strip() for line in lines if "uses:" in line]

    foreign = [each for each in used if not each.startswith("./")]
    assert len(foreign) > 10
    assert [
        e for e in foreign if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", e)
    ] == []


def test_action_has_the_same_hash_in_all_workflows():
    used = {step["uses"] for _, step in steps() if "uses" in step}

    assert len({each.partition("@")[0] for each in used}) == len(used)


def test_each_job_has_only_the_permissions_it_needs():
    for path, name, job in JOBS:
        rights = {right for right, level in job["permissions"].items() if level == "write"}
        assert rights == RIGHTS.get((path.name, name), set()), (path.name, name)
    assert [yaml.safe_load(path.read_text())["permissions"] for path in WORKFLOWS] == [{}] * len(
        WORKFLOWS
    )


def test_no_checkout_leaves_credentials_and_no_secret_is_stored():
    checkouts = [step for _, step in steps() if "actions/checkout" in step.get("uses", "")]
    text = "".join(path.read_text() for path in WORKFLOWS)

    assert all(step["with"]["persist-credentials"] is False for step in checkouts)
    assert "secrets." not in text
    assert set(re.findall(r"github\.token|\w*TOKEN\w*", text)) <= SECRETS


def test_python_versions_match_the_classifiers():
    matrices = [job["strategy"]["matrix"] for _, _, job in JOBS if "strategy" in job]

    assert [matrix["python"] for matrix in matrices if "python" in matrix] == [PYTHONS, PYTHONS]
    assert f">={PYTHONS[0]}" == PROJECT["requires-python"]


def test_workflows_run_targets_of_the_makefile():
    targets = re.findall(r"^([a-z0-9-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    made = [
        word
        for _, step in steps()
        for call in re.findall(r"^make (.*)$", step.get("run", ""), re.MULTILINE)
        for word in call.split()
        if "=" not in word
    ]

    assert {"lint", "types", "layers", "test", "dist", "docs", "chart"} <= set(made)
    assert set(made) <= set(targets)


def test_workflows_install_the_same_test_packages_as_ci():
    """Except browsers, of which the hosts have one, and make."""
    here = set(re.findall(r"^need \S+ (\S+)$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE))
    ((_, step),) = [(n, s) for n, s in steps() if "apt-get install" in s.get("run", "")]

    packages = step["run"].replace("\\\n", " ").partition("--no-install-recommends")[2].split()
    assert set(packages) == here - {"chromium", "chromium-headless-shell", "make"}


def test_images_have_the_extras_in_the_dockerfile_and_the_rendering_page():
    ((_, _, job),) = [each for each in JOBS if each[1] == "image"]
    plain, render = job["strategy"]["matrix"]["include"]
    dockerfile = (ROOT / "deploy" / "docker" / "Dockerfile").read_text()
    kustomization = (ROOT / "deploy" / "kubernetes" / "kustomization.yaml").read_text()

    assert f"ARG EXTRAS={plain['extras']}\n" in dockerfile
    assert render["packages"] in dockerfile
    assert [f"name: {each['name']}\n" in kustomization for each in (plain, render)] == [True, True]
