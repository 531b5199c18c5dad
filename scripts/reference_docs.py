"""Write the reference that the code says itself: `python scripts/reference_docs.py FOLDER`."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from aragog.cli import main as cli
from aragog.dashboard import metrics
from aragog.serving.http.openapi import DOCUMENT

ROOT = Path(__file__).resolve().parents[1]
METHODS = ("get", "put", "post", "patch", "delete")


def commands() -> str:
    """Every command with its options."""
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
        found = command.get_command(context, name)
        if found is not None and not found.hidden:
            yield from _walk(found, f"{path} {name}")


def http_operations() -> str:
    """Every operation of the HTTP API."""
    lines = [
        "# HTTP operations",
        "",
        "Generated from the OpenAPI document, which a server has at `/openapi.json`.",
        "",
    ]
    for path, operations in DOCUMENT["paths"].items():
        for method in METHODS:
            if operation := operations.get(method):
                lines += [f"## {method.upper()} {path}", "", operation.get("summary", ""), ""]
                lines += _parameters(operation.get("parameters", ()))
                lines += ["| status | answer |", "| --- | --- |"]
                lines += [
                    f"| {status} | {_cell(response.get('description', ''))} |"
                    for status, response in operation["responses"].items()
                ]
                lines.append("")
    return "\n".join(lines)


def _parameters(parameters: object) -> list[str]:
    rows = [
        f"| `{each['name']}` | {each['in']} | {_cell(each.get('description', ''))} |"
        for each in parameters
        if "name" in each
    ]
    return ["| parameter | in | meaning |", "| --- | --- | --- |", *rows, ""] if rows else []


def metric_names() -> str:
    """Every metric of /metrics, as the collector makes it."""
    rows = sorted(set(_metrics(ast.parse(inspect.getsource(metrics)))))
    return "\n".join(
        [
            "# Metrics",
            "",
            "Flower and the HTTP API have them at `/metrics`. Generated from the collector.",
            "",
            "| metric | labels | meaning |",
            "| --- | --- | --- |",
            *(f"| `{name}` | {labels} | {_cell(text)} |" for name, labels, text in rows),
            "",
        ]
    )


def _metrics(tree: ast.AST) -> Iterator[tuple[str, str, str]]:
    for call in ast.walk(tree):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
            continue
        if call.func.id not in ("GaugeMetricFamily", "CounterMetricFamily"):
            continue
        name, text = (_text(each) for each in call.args[:2])
        given = {each.arg: each.value for each in call.keywords}
        labels = ast.literal_eval(given["labels"]) if "labels" in given else []
        total = "_total" if call.func.id == "CounterMetricFamily" else ""
        yield name + total, ", ".join(f"`{label}`" for label in labels), text


def _text(node: ast.expr) -> str:
    """A string, with … for what an f-string inserts."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) for part in node.values)
    return "…" if isinstance(node, ast.FormattedValue) else str(ast.literal_eval(node))


def thrift_contract() -> str:
    """The contract, whole."""
    contract = (ROOT / "aragog" / "serving" / "urlstore.thrift").read_text()
    return f"# Thrift contract\n\n`aragog/serving/urlstore.thrift`:\n\n```thrift\n{contract}\n```\n"


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
