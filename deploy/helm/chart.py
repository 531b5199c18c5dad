"""
The Helm chart, written from the manifests in deploy/kubernetes: one source for both.

Each manifest becomes a template: replicas, resources, images, settings and the bounds of the
autoscaler are taken out of it and become the default values, so that `helm template` without values
gives what `kubectl apply -k deploy/kubernetes` gives. The patch of deploy/kubernetes-postgres
becomes a file of values.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
CHART = HERE / "aragog"
PROJECT = HERE.parents[1]
MANIFESTS = HERE.parent / "kubernetes"
POSTGRES = HERE.parent / "kubernetes-postgres" / "kustomization.yaml"
# Helm makes the namespace (--create-namespace).
NOT_TEMPLATES = {"kustomization.yaml", "namespace.yaml"}
GENERATED_NOTE = "# Written by `make chart` from {source}: change it there."
COMMENTS = {
    "image": "An empty tag is the version of the chart. Render workers have an image of their own.",
    "secret": "Passwords and tokens; templates/settings.yaml lists the keys that it needs.",
    "settings": "Everything that is no secret (docs/settings.md). null removes a line.",
    "components": "Deployments, and the job that makes the tables.",
    "autoscaling": "Needs prometheus-adapter with the rule in templates/autoscaling.yaml. If it is "
    "disabled, the minimum is the number of replicas.",
    "imagePullSecrets": "Of every pod.",
}
FREE_FORM = {"settings", "resources", "nodeSelector", "affinity"}
"""Values whose keys are not listed in the schema."""
SETTINGS = """\
{{- range $name, $value := .Values.settings }}
  {{ $name }}: {{ $value | quote }}
{{- end }}"""
POD = '      {{- with (include "aragog.pod" .) }}{{ . | nindent 6 }}{{- end }}'


def documents(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a manifest."""
    return list(yaml.safe_load_all(path.read_text()))


def manifests() -> list[Path]:
    """Return the manifests that become templates."""
    return sorted(path for path in MANIFESTS.glob("*.yaml") if path.name not in NOT_TEMPLATES)


def version() -> str:
    """Return the version of aragog, which is also that of the chart."""
    text = (PROJECT / "pyproject.toml").read_text()
    return str(tomllib.loads(text)["project"]["version"])


def values() -> dict[str, Any]:
    """Return the default values, taken from the manifests."""
    all_documents = [document for path in manifests() for document in documents(path)]
    by_kind: dict[str, dict[str, Any]] = {}
    for document in all_documents:
        by_kind.setdefault(document["kind"], {})[document["metadata"]["name"]] = document
    kustomization = yaml.safe_load((MANIFESTS / "kustomization.yaml").read_text())
    images = {image["name"]: image["newName"] for image in kustomization["images"]}
    components = {
        name: component(document)
        for name, document in sorted({**by_kind["Deployment"], **by_kind["Job"]}.items())
    }
    for name, budget in by_kind["PodDisruptionBudget"].items():
        components[name]["minAvailable"] = budget["spec"]["minAvailable"]
    return {
        "image": {
            "repository": images["aragog"],
            "renderRepository": images["aragog-render"],
            "tag": "",
        },
        "secret": "aragog",
        "settings": by_kind["ConfigMap"]["aragog"]["data"],
        "components": components,
        "autoscaling": {
            "enabled": True,
            **{name: bounds(scaler) for name, scaler in by_kind["HorizontalPodAutoscaler"].items()},
        },
        "imagePullSecrets": [],
        "nodeSelector": {},
        "tolerations": [],
        "affinity": {},
    }


def component(document: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a Deployment or Job: replicas, unless autoscaled, and resources."""
    (container,) = document["spec"]["template"]["spec"]["containers"]
    replicas = {k: v for k, v in document["spec"].items() if k == "replicas"}
    return {**replicas, "resources": container["resources"]}


def bounds(scaler: dict[str, Any]) -> dict[str, Any]:
    """Return the values of an autoscaler."""
    (metric,) = scaler["spec"]["metrics"]
    return {
        "minReplicas": scaler["spec"]["minReplicas"],
        "maxReplicas": scaler["spec"]["maxReplicas"],
        "oldestDueSeconds": int(metric["external"]["target"]["value"]),
    }


def template(path: Path) -> str:
    """Return the template of a manifest, with its comments."""
    parts = [_document_template(part) for part in path.read_text().split("\n---\n")]
    text = "\n---\n".join(part.strip("\n") for part in parts) + "\n"
    if path.stem == "autoscaling":
        text = f"{{{{- if .Values.autoscaling.enabled }}}}\n{text}{{{{- end }}}}\n"
    source = path.relative_to(PROJECT)
    return f"{GENERATED_NOTE.format(source=source)}\n{text}"


def _document_template(text: str) -> str:
    document = yaml.safe_load(text)
    kind, name = document["kind"], document["metadata"]["name"]
    values_path = f".Values.components.{name}"
    if kind == "ConfigMap":
        return re.sub(r"(?<=^data:\n).*", SETTINGS, text, flags=re.MULTILINE | re.DOTALL)
    if kind == "HorizontalPodAutoscaler":
        scaler = f".Values.autoscaling.{name}"
        text = re.sub(r"(m(?:in|ax)Replicas): \d+", rf"\1: {{{{ {scaler}.\1 }}}}", text)
        return re.sub(r'value: "\d+"', f"value: {{{{ {scaler}.oldestDueSeconds | quote }}}}", text)
    if kind == "PodDisruptionBudget":
        return re.sub(
            r"minAvailable: \d+", f"minAvailable: {{{{ {values_path}.minAvailable }}}}", text
        )
    if kind == "Job":
        # The template of a job cannot change, so each revision has its own job.
        text = text.replace("  name: tables\n", "  name: tables-{{ .Release.Revision }}\n", 1)
    if kind == "Deployment":
        text = _with_replicas(text, name, is_autoscaled="replicas" not in document["spec"])
    return _with_pod(text, values_path)


def _with_replicas(text: str, name: str, *, is_autoscaled: bool) -> str:
    if not is_autoscaled:
        return re.sub(
            r"^  replicas: \d+", f"  replicas: {{{{ .Values.components.{name}.replicas }}}}", text,
            flags=re.MULTILINE,
        )  # fmt: skip
    fixed = (
        "spec:\n  {{- if not .Values.autoscaling.enabled }}\n"
        f"  replicas: {{{{ .Values.autoscaling.{name}.minReplicas }}}}\n  {{{{- end }}}}\n"
    )
    return re.sub(r"^spec:\n", fixed, text, flags=re.MULTILINE)


def _with_pod(text: str, values_path: str) -> str:
    if "\n      containers:\n" not in text:
        return text
    text = re.sub(
        r"^          resources:\n(?:            .*\n)+",
        f"          resources: {{{{- toYaml {values_path}.resources | nindent 12 }}}}\n", text,
        flags=re.MULTILINE,
    )  # fmt: skip
    for image, key in (("aragog", "repository"), ("aragog-render", "renderRepository")):
        text = text.replace(
            f"image: {image}\n",
            f'image: "{{{{ .Values.image.{key} }}}}:'
            '{{ .Values.image.tag | default .Chart.AppVersion }}"\n',
        )
    text = text.replace(
        "secretRef: {name: aragog}", "secretRef: {name: {{ .Values.secret | quote }}}"
    )
    return text.replace("\n      containers:\n", f"\n{POD}\n      containers:\n")


def values_text() -> str:
    """Return values.yaml, each value with its meaning."""
    lines = [GENERATED_NOTE.format(source="deploy/kubernetes")]
    for name, value in values().items():
        if name in COMMENTS:
            lines.append(f"\n# {COMMENTS[name]}")
        lines.append(yaml.safe_dump({name: value}, sort_keys=False, width=140).rstrip())
    return "\n".join(lines) + "\n"


def postgres_text() -> str:
    """Return the values for tables in PostgreSQL."""
    (patch,) = yaml.safe_load(POSTGRES.read_text())["patches"]
    settings = yaml.safe_load(patch["patch"])["data"]
    heading = GENERATED_NOTE.format(source="deploy/kubernetes-postgres")
    note = "# The secret also has ARAGOG_STORE__DSN."
    return f"{heading}\n{note}\n{yaml.safe_dump({'settings': settings}, sort_keys=False)}"


def schema(value: Any, name: str = "") -> dict[str, Any]:
    """Return the JSON Schema of a value, which allows only the keys of the defaults."""
    if isinstance(value, dict) and name in FREE_FORM:
        return {"type": "object"}
    if isinstance(value, dict):
        keys = {key: schema(inner, key) for key, inner in value.items()}
        return {"type": "object", "additionalProperties": False, "properties": keys}
    if isinstance(value, bool):
        return {"type": "boolean"}
    if isinstance(value, int):
        return {"type": "integer", "minimum": 0}
    return {"type": "array"} if isinstance(value, list) else {"type": "string"}


def schema_text() -> str:
    """Return values.schema.json, against which Helm checks values."""
    result = schema(values())
    # Helm passes these to every subchart.
    result["properties"]["global"] = {"type": "object"}
    return (
        json.dumps({"$schema": "http://json-schema.org/draft-07/schema#", **result}, indent=2)
        + "\n"
    )


def chart_text() -> str:
    """Return Chart.yaml."""
    number = version()
    return (
        f"{GENERATED_NOTE.format(source='pyproject.toml')}\n"
        "apiVersion: v2\nname: aragog\n"
        "description: A distributed, polite fetcher and store for billions of URLs\n"
        f'type: application\nversion: {number}\nappVersion: "{number}"\n'
        'kubeVersion: ">=1.25.0-0"\n'
    )


def files() -> dict[Path, str]:
    """Return the generated files of the chart."""
    return {
        CHART / "Chart.yaml": chart_text(),
        CHART / "values.yaml": values_text(),
        CHART / "values-postgres.yaml": postgres_text(),
        CHART / "values.schema.json": schema_text(),
        **{CHART / "templates" / path.name: template(path) for path in manifests()},
    }
