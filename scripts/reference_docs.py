"""Write the reference that is generated from code: `python scripts/reference_docs.py FOLDER`."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import click

from aragog.api.server.http import observed
from aragog.api.server.http.openapi.document import DOCUMENT
from aragog.api.server.thrift import metrics as thrift_metrics
from aragog.cli import main as cli
from aragog.dashboard import scraped_metrics as metrics
from aragog.observability.instruments import INSTRUMENTS

ROOT = Path(__file__).resolve().parents[1]
METRIC_MODULES = (metrics, observed, thrift_metrics)
METHODS = ("get", "put", "post", "patch", "delete")


def commands() -> str:
    """Return every command with its options."""
    lines = ["# Every command and option", "", "Generated from the code of `aragog`.", ""]
    for path, command in _walk(cli, "aragog"):
        context = click.Context(command, info_name=path)
        usage = " ".join(command.collect_usage_pieces(context))
        lines += [f"## {path}", "", f"    {path} {usage}", ""]
        lines += [inspect.cleandoc(command.help or "").replace("\b\n", ""), ""]
        records = [
            record
            for parameter in command.get_params(context)
            if (record := parameter.get_help_record(context)) and record[0] != "-h, --help"
        ]
        if records:
            lines += ["| option | meaning |", "| --- | --- |"]
            lines += [f"| `{_cell(name)}` | {_cell(text)} |" for name, text in records]
            lines.append("")
    return "\n".join(lines)


def _walk(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command, info_name=path)
    for name in command.list_commands(context):
        subcommand = command.get_command(context, name)
        if subcommand is not None and not subcommand.hidden:
            yield from _walk(subcommand, f"{path} {name}")


def http_operations() -> str:
    """Return every operation of the HTTP API."""
    lines = [
        "# HTTP operations",
        "",
        "Generated from the OpenAPI document, which a server has at `/openapi.json`, and with",
        "examples as a page at `/docs`.",
        "",
        *_errors(),
    ]
    for path, operations in DOCUMENT["paths"].items():
        for method in METHODS:
            if operation := operations.get(method):
                lines += [f"## {method.upper()} {path}", "", operation.get("summary", ""), ""]
                lines += _parameters(operation.get("parameters", ()))
                lines += ["| status | answer |", "| --- | --- |"]
                lines += [
                    f"| {status} | {_cell(response['description'])} |"
                    for status, response in operation["responses"].items()
                    if "$ref" not in response
                ]
                failures = [s for s, r in operation["responses"].items() if "$ref" in r]
                lines += ["", f"[Errors](#errors): {', '.join(failures)}.", ""]
    return "\n".join(lines)


def _errors() -> list[str]:
    """Return the table of errors."""
    rows = [
        f"| {name.removeprefix('Problem')} | {_cell(response['description'])} |"
        for name, response in DOCUMENT["components"]["responses"].items()
    ]
    return ["## Errors", "", "| status | meaning |", "| --- | --- |", *rows, ""]


def _parameters(parameters: object) -> list[str]:
    rows = [
        f"| `{parameter['name']}` | {parameter['in']} | {_cell(parameter.get('description', ''))} |"
        for parameter in parameters
        if "name" in parameter
    ]
    return ["| parameter | in | meaning |", "| --- | --- | --- |", *rows, ""] if rows else []


def metric_names() -> str:
    """Return every metric of /metrics."""
    return "\n".join(
        [
            "# Metrics",
            "",
            "Flower and the HTTP API have them at `/metrics`; those named `aragog_http…` and",
            "`aragog_thrift…` are of the API alone. Generated from the code.",
            "",
            "| metric | type | labels | meaning |",
            "| --- | --- | --- | --- |",
            *(
                f"| `{metric.name}` | {metric.type} "
                f"| {', '.join(f'`{label}`' for label in metric.labels)} | {_cell(metric.text)} |"
                for metric in metrics_in_code()
            ),
            "",
        ]
    )


class MetricName(NamedTuple):
    """A metric as seen by Prometheus."""

    name: str
    type: str
    labels: tuple[str, ...]
    text: str


def metrics_in_code() -> list[MetricName]:
    """Return every metric by name: collected ones, and those measured by processes."""
    declared = {
        metric
        for module in METRIC_MODULES
        for metric in _declared(ast.parse(inspect.getsource(module)))
    }
    for instrument in INSTRUMENTS:
        kind, labels = type(instrument).__name__.lower(), (instrument.label,)
        declared.add(_metric(kind, instrument.name, instrument.description, labels))
    return sorted(declared)


def _declared(tree: ast.AST) -> Iterator[MetricName]:
    """Yield the metrics created by calls of prometheus_client."""
    for call in ast.walk(tree):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
            continue
        kind = call.func.id.removesuffix("MetricFamily").lower()
        if kind not in ("gauge", "counter", "histogram") or len(call.args) < 2:
            continue
        if not isinstance(call.args[0], ast.Constant):
            continue  # a metric of an instrument
        name, text = (_text(argument) for argument in call.args[:2])
        keywords = {keyword.arg: keyword.value for keyword in call.keywords}
        labels = keywords.get("labels") or (call.args[2] if len(call.args) > 2 else None)
        is_literal = isinstance(labels, ast.List)
        yield _metric(kind, name, text, ast.literal_eval(labels) if is_literal else ())


def _metric(kind: str, name: str, text: str, labels: Iterable[str]) -> MetricName:
    total = "_total" if kind == "counter" else ""
    return MetricName(name + total, kind, tuple(label for label in labels if label), text)


def _text(node: ast.expr) -> str:
    """Return a string, with … for the values inserted by an f-string."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) for part in node.values)
    return "…" if isinstance(node, ast.FormattedValue) else str(ast.literal_eval(node))


def thrift_contract() -> str:
    """Return the whole Thrift contract."""
    contract = (ROOT / "aragog" / "api" / "urlstore.thrift").read_text()
    return f"# Thrift contract\n\n`aragog/api/urlstore.thrift`:\n\n```thrift\n{contract}\n```\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


PAGES = {
    "commands": commands,
    "http-operations": http_operations,
    "metrics": metric_names,
    "thrift-contract": thrift_contract,
}


def main(folder: Path) -> None:
    """Write every page into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (folder / f"{name}.md").write_text(page())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
