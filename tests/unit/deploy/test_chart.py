"""The Helm chart and the manifests agree, since one is generated from the other."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from aragog.settings import load_settings
from deploy.helm.__main__ import find
from deploy.helm.chart import CHART, MANIFESTS, files, manifests, version
from tests.support.documented import blocks
from tests.support.missing_parts import HELM, unless

POSTGRES = CHART / "values-postgres.yaml"
KUBERNETES = "1.33"
needs_helm = unless(find(), HELM)


def rendered(*values, fails=False):
    """The output of `helm template` with values: the manifests, or the message if it fails."""
    argv = [find(), "template", "crawl", CHART, "--namespace", "aragog"]
    argv += ["--kube-version", KUBERNETES, *values]
    done = subprocess.run([*map(str, argv)], capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == fails, done.stderr
    return done.stderr if fails else done.stdout


def by_name(text):
    objects = [each for each in yaml.safe_load_all(text) if each]
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


def as_applied():
    """The manifests with the images of the kustomization, and the job of a first revision."""
    kustomization = yaml.safe_load((MANIFESTS / "kustomization.yaml").read_text())
    images = {i["name"]: f"{i['newName']}:{i['newTag']}" for i in kustomization["images"]}
    expected = by_name("\n---\n".join(path.read_text() for path in manifests()))
    for each in expected.values():
        pod = each["spec"].get("template", {}).get("spec", {}) if "spec" in each else {}
        for container in pod.get("containers", ()):
            container["image"] = images[container["image"]]
    tables = expected.pop(("Job", "tables"))
    tables["metadata"]["name"] = "tables-1"
    return {**expected, ("Job", "tables-1"): tables}


@pytest.mark.parametrize("path", files(), ids=lambda path: path.name)
def test_chart_files_match_the_manifests(path):
    assert path.read_text() == files()[path]


def test_every_manifest_except_the_namespace_has_a_template():
    templates = {path.name for path in (CHART / "templates").glob("*.yaml")}
    listed = yaml.safe_load((MANIFESTS / "kustomization.yaml").read_text())["resources"]

    assert templates == set(listed) - {"namespace.yaml"}


def test_images_and_chart_have_the_version_of_the_project():
    kustomization = yaml.safe_load((MANIFESTS / "kustomization.yaml").read_text())

    assert {image["newTag"] for image in kustomization["images"]} == {version()}


@needs_helm
def test_default_values_give_the_manifests():
    assert by_name(rendered()) == as_applied()


@needs_helm
@pytest.mark.parametrize("values", [(), ("--values", POSTGRES)], ids=["hbase", "postgres"])
def test_rendered_chart_is_valid_for_kubernetes_and_aragog(tmp_path, values):
    text = rendered(*values)
    (tmp_path / "all.yaml").write_text(text)
    validate = Path(sys.executable).with_name("kubernetes-validate")

    done = subprocess.run(
        [validate, "--strict", "-k", KUBERNETES, tmp_path / "all.yaml"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    linted = subprocess.run(
        [find(), "lint", "--strict", *values, CHART], capture_output=True, text=True, check=False
    )

    dsn = {"ARAGOG_STORE__DSN": "postgresql://aragog@postgres.example/aragog"} if values else {}
    settings = load_settings(environ=by_name(text)["ConfigMap", "aragog"]["data"] | dsn)
    assert done.returncode == 0, done.stdout + done.stderr
    assert linted.returncode == 0, linted.stdout
    assert settings.store.engine == ("postgres" if values else "hbase")


@needs_helm
def test_documented_command_gives_the_manifests():
    (command,) = blocks("docs/deployment.md", "sh", "helm install")
    _, _, arguments = command.replace("\\\n", " ").partition(
        "helm install aragog deploy/helm/aragog"
    )

    assert by_name(rendered(*arguments.split())) == as_applied()


@needs_helm
def test_values_change_the_manifests():
    made = by_name(
        rendered(
            "--set", "image.tag=9.9,secret=ours,components.store.replicas=7,autoscaling.enabled=false",
            "--set", "nodeSelector.pool=crawl,settings.ARAGOG_CONTENT__S3_BUCKET=mine",
            "--set", "components.store.resources.limits.memory=3Gi",
        )
    )  # fmt: skip

    store, fetch = made["Deployment", "store"]["spec"], made["Deployment", "fetch"]["spec"]
    pod = store["template"]["spec"]
    (container,) = pod["containers"]
    assert (store["replicas"], fetch["replicas"], pod["nodeSelector"]) == (7, 2, {"pool": "crawl"})
    assert container["image"] == "registry.example.com/aragog:9.9"
    assert container["envFrom"][1]["secretRef"]["name"] == "ours"
    assert container["resources"]["limits"] == {"memory": "3Gi"}
    assert made["ConfigMap", "aragog"]["data"]["ARAGOG_CONTENT__S3_BUCKET"] == "mine"
    assert not [kind for kind, _ in made if kind == "HorizontalPodAutoscaler"]


@needs_helm
@pytest.mark.parametrize("value", ["replicas=3", "components.api.replicas=many", "image.tags=1"])
def test_unknown_values_are_refused(value):
    message = rendered("--set", value, fails=True)

    assert "values don't meet the specifications of the schema" in message
