"""The files in deploy/ pass their linters, and aragog accepts their settings."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

from aragog.runtime.hosts import is_allowed_host
from aragog.settings import load_settings
from aragog.workers.roles import ROLES
from tests.support.documented import blocks
from tests.support.missing_parts import KUBECTL, SYSTEMD, unless
from tests.support.missing_parts import ROOT as AS_ROOT

ROOT = Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy"
COMPOSE = DEPLOY / "docker" / "compose.yaml"
KUBERNETES = sorted(
    path for path in (DEPLOY / "kubernetes").glob("*.yaml") if path.stem != "kustomization"
)
FILLED_IN = {
    "ARAGOG_USER_AGENT": "examplebot/1.0 (+https://example.com/bot)",
    "SERVING_TOKENS": f"reader:read:{'0' * 64}",
}


def problems(*argv):
    """The output of a linter that finds a problem, or "" if it finds none."""
    bin_ = Path(sys.executable).parent
    tool = bin_ / argv[0]
    assert tool.exists(), f"{tool}: run make setup"
    done = subprocess.run([tool, *map(str, argv[1:])], capture_output=True, text=True, check=False)
    return f"{done.returncode}: {done.stdout}{done.stderr}" if done.returncode else ""


@pytest.mark.parametrize("name", ["Dockerfile", "hbase.Dockerfile"])
def test_dockerfile_passes_hadolint(name):
    assert problems("hadolint", DEPLOY / "docker" / name) == ""


def test_every_yaml_file_passes_yamllint():
    assert problems("yamllint", "-c", DEPLOY / "yamllint.yaml", DEPLOY) == ""


def test_compose_file_is_valid():
    reported = problems("check-jsonschema", "--builtin-schema", "vendor.compose-spec", COMPOSE)

    assert reported == ""


@pytest.mark.parametrize("path", KUBERNETES, ids=lambda path: path.stem)
def test_manifest_is_valid_for_kubernetes(path):
    assert problems("kubernetes-validate", "--strict", "-k", "1.33", path) == ""


def pods():
    """The pod of each workload, by name."""
    for path in KUBERNETES:
        for each in yaml.safe_load_all(path.read_text()):
            if "template" in each.get("spec", {}):
                yield each["metadata"]["name"], each["spec"]["template"]["spec"]


@pytest.mark.parametrize(("name", "pod"), list(pods()))
def test_namespace_accepts_every_pod(name, pod):
    """Regression: the render pod was `Unconfined`, which the level `restricted` refuses."""
    (namespace,) = yaml.safe_load_all((DEPLOY / "kubernetes" / "namespace.yaml").read_text())
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"

    own = pod["securityContext"]
    assert own["runAsNonRoot"] is True
    assert own["seccompProfile"]["type"] in {"RuntimeDefault", "Localhost"}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
    assert not any("hostPath" in volume for volume in pod.get("volumes", ()))
    for container in (*pod["containers"], *pod.get("initContainers", ())):
        mine = container["securityContext"]
        assert mine["allowPrivilegeEscalation"] is False
        assert mine["capabilities"] == {"drop": ["ALL"]}
        assert "seccompProfile" not in mine


def test_seccomp_filter_of_the_renderer_allows_a_sandbox_but_no_mounts():
    profile = json.loads((DEPLOY / "docker" / "seccomp-render.json").read_text())
    refused, *sockets = profile["syscalls"]

    assert profile["defaultAction"] == "SCMP_ACT_ALLOW"
    assert refused["action"] == "SCMP_ACT_ERRNO"
    assert {"mount", "bpf", "ptrace", "kexec_load", "init_module"} <= set(refused["names"])
    assert {"pidfd_getfd", "open_tree_attr"} <= set(refused["names"])
    families = {rule["args"][0]["value"]: rule["names"] for rule in sockets}
    assert families == {38: ["socket"], 40: ["socket"]}
    assert not {"clone", "clone3", "unshare", "chroot", "setns"} & set(refused["names"])
    render = yaml.safe_load(COMPOSE.read_text())["services"]["render"]
    assert "seccomp=seccomp-render.json" in render["security_opt"]


def test_every_manifest_is_in_the_kustomization():
    listed = yaml.safe_load((DEPLOY / "kubernetes" / "kustomization.yaml").read_text())["resources"]

    assert sorted(listed) == [path.name for path in KUBERNETES]


@unless(shutil.which("kubectl"), KUBECTL)
def test_kubectl_builds_every_manifest():
    built = subprocess.check_output(["kubectl", "kustomize", DEPLOY / "kubernetes"], text=True)

    one_by_one = [each for path in KUBERNETES for each in yaml.safe_load_all(path.read_text())]
    kinds = Counter(each["kind"] for each in yaml.safe_load_all(built))
    assert kinds >= Counter(each["kind"] for each in one_by_one)


@unless(shutil.which("kubectl"), KUBECTL)
def test_postgres_variant_differs_only_in_its_settings(tmp_path):
    built = [
        subprocess.check_output(["kubectl", "kustomize", DEPLOY / name], text=True)
        for name in ("kubernetes", "kubernetes-postgres")
    ]
    hbase, postgres = ({(d["kind"], d["metadata"]["name"]): d for d in yaml.safe_load_all(text)}
                       for text in built)  # fmt: skip
    (differing,) = [key for key in hbase if hbase[key] != postgres[key]]
    dsn = {"ARAGOG_STORE__DSN": "postgresql://aragog@postgres.example/aragog"}
    settings = load_settings(environ=postgres[differing]["data"] | dsn)
    (tmp_path / "all.yaml").write_text(built[1])

    assert hbase.keys() == postgres.keys()
    assert differing == ("ConfigMap", "aragog")
    assert (settings.store.engine, settings.private_postgres) == ("postgres", False)
    assert "ARAGOG_STORE__HBASE_GATEWAYS" not in postgres[differing]["data"]
    assert problems("kubernetes-validate", "--strict", "-k", "1.33", tmp_path / "all.yaml") == ""


@unless(shutil.which("systemd-analyze"), SYSTEMD)
def test_units_pass_systemd_analyze(tmp_path):
    for unit in (DEPLOY / "systemd").glob("aragog*"):
        text = re.sub(r"/opt/aragog/bin/\w+", sys.executable, unit.read_text())
        (tmp_path / unit.name).write_text(text)
    units = [path for path in tmp_path.iterdir() if "@" not in path.name]
    worker = tmp_path / "aragog-worker@fetch.service"
    shutil.copy(tmp_path / "aragog-worker@.service", worker)

    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *units, worker],
        env={**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert [line for line in done.stderr.splitlines() if "aragog" in line] == []


@unless(os.geteuid() == 0, AS_ROOT)
@unless(shutil.which("systemd-sysusers"), SYSTEMD)
def test_documented_commands_create_what_the_units_expect(tmp_path):
    (block,) = blocks("docs/deployment.md", "sh", "install -m 0644 deploy/systemd")
    for folder in ("etc/systemd/system", "opt"):
        (tmp_path / folder).mkdir(parents=True)
    commands = re.sub(
        r"^systemd-(\w+)", rf"systemd-\1 --root={tmp_path}", block, flags=re.MULTILINE
    )
    commands = commands.replace(" /etc/", f" {tmp_path}/etc/")

    done = subprocess.run(
        ["sh", "-ec", commands], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    for unit in (tmp_path / "etc/systemd/system").glob("*.service"):
        expected = dict(
            re.findall(r"^(User|Group|EnvironmentFile)=-?(.+)$", unit.read_text(), re.MULTILINE)
        )
        (settings,) = re.findall(r"ARAGOG_SETTINGS=(\S+)", unit.read_text())
        (folder,) = re.findall(r"ExecStart=(/opt/aragog)/", unit.read_text())
        assert f"{expected['User']}:x:" in (tmp_path / "etc/passwd").read_text()
        assert f"{expected['Group']}:x:" in (tmp_path / "etc/group").read_text()
        assert (tmp_path / settings[1:]).exists()
        assert (tmp_path / folder[1:]).is_dir()
        secrets = (tmp_path / expected["EnvironmentFile"][1:]).stat()
        assert (secrets.st_mode & 0o777, secrets.st_uid) == (0o600, 0)


def environment_of(service, store="hbase"):
    """The environment of a service, with the variables of env.example filled in."""

    def fill(match):
        return {**FILLED_IN, "STORE": store, "TRACING": "false"}.get(match[1], "filled-in")

    environment = yaml.safe_load(COMPOSE.read_text())["services"][service]["environment"]
    return {name: re.sub(r"\$\{(\w+)[^}]*\}", fill, text) for name, text in environment.items()}


@pytest.mark.parametrize("store", ["hbase", "postgres"])
@pytest.mark.parametrize("service", [*ROLES, "beat", "api", "flower"])
def test_settings_of_every_process_in_the_compose_file_are_accepted(service, store):
    settings = load_settings(environ=environment_of(service, store))

    assert settings.broker.shards
    assert settings.store.engine == store
    assert not settings.private_postgres
    assert settings.content.s3_bucket == "pages"


def test_only_the_server_of_the_selected_store_is_started():
    """Each store is a profile, and no service requires the other one."""
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    example = (DEPLOY / "docker" / "env.example").read_text()

    for store in ("hbase", "postgres"):
        assert services[store]["profiles"] == [store]
        needed_by = [s["depends_on"][store] for s in services.values()
                     if store in s.get("depends_on", {})]  # fmt: skip
        assert needed_by == [{"condition": "service_healthy", "required": False}]
    assert "\nSTORE=hbase\nCOMPOSE_PROFILES=${STORE}\n" in example


def test_jaeger_is_started_only_with_its_profile():
    services = yaml.safe_load(COMPOSE.read_text())["services"]

    assert services["jaeger"]["profiles"] == ["jaeger"]
    settings = load_settings(
        environ=environment_of("fetch", "hbase") | {"ARAGOG_TRACING__ENABLED": "true"}
    )
    assert settings.tracing.enabled
    assert environment_of("fetch", "hbase")["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://jaeger:4318"


def test_every_variable_of_the_compose_file_is_in_the_example():
    example = (DEPLOY / "docker" / "env.example").read_text()
    used = set(re.findall(r"(?<!\$)\$\{(\w+)", COMPOSE.read_text()))

    assert used <= set(re.findall(r"^(\w+)=", example, re.MULTILINE))


def test_health_check_uses_only_variables_of_its_service():
    """Docker sets HOSTNAME in a container; Podman does not set it in a health check."""
    for name, service in yaml.safe_load(COMPOSE.read_text())["services"].items():
        check = " ".join(service.get("healthcheck", {}).get("test", []))

        assert set(re.findall(r"\$\$(\w+)", check)) <= set(service.get("environment", ())), name


def test_prometheus_may_scrape_its_targets_by_name():
    config = yaml.safe_load((DEPLOY / "docker" / "prometheus.yml").read_text())
    targets = [
        target.partition(":")[0]
        for job in config["scrape_configs"]
        for group in job["static_configs"]
        for target in group["targets"]
    ]

    assert targets
    for target in targets:
        serving = load_settings(environ=environment_of(target)).serving
        assert is_allowed_host(target, serving.allowed_hosts)


def test_other_services_wait_for_the_one_shot_ones():
    """Otherwise `up --wait` treats their exit as a failure."""
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    ends = {
        name
        for name, service in services.items()
        if service.get("restart", "").startswith("on-fail")
    }
    waited_for = {
        other
        for service in services.values()
        for other, how in service.get("depends_on", {}).items()
        if how["condition"] == "service_completed_successfully"
    }

    assert ends == waited_for == {"bucket", "tables"}


def test_hbase_image_has_the_version_used_in_tests():
    dockerfile = (DEPLOY / "docker" / "hbase.Dockerfile").read_text()
    version = re.search(r"HBASE_VERSION=(\S+)", dockerfile)[1]

    assert f"<version>{version}-hadoop3</version>" in (DEPLOY / "hbase" / "pom.xml").read_text()
    assert "hbase-${HBASE_VERSION}-hadoop3-bin.tar.gz" in dockerfile


def test_settings_of_kubernetes_are_accepted():
    (config,) = yaml.safe_load_all((DEPLOY / "kubernetes" / "settings.yaml").read_text())
    settings = load_settings(environ=config["data"])

    assert settings.content.engine == "s3"
    for file in ("api", "flower"):
        for document in yaml.safe_load_all((DEPLOY / "kubernetes" / f"{file}.yaml").read_text()):
            if document["kind"] == "Service":
                assert is_allowed_host(document["metadata"]["name"], settings.serving.allowed_hosts)


def test_every_role_is_deployed_everywhere():
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    workers = (DEPLOY / "kubernetes" / "workers.yaml").read_text()
    deployments = {document["metadata"]["name"] for document in yaml.safe_load_all(workers)}

    assert set(ROLES) <= set(services)
    assert set(ROLES) == deployments
