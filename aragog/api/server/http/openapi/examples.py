"""
Examples of requests and responses, for the OpenAPI document and the page at `/docs`.

They are stored in `examples.json` with their operations' ids, in an order in which they can be
executed. `python -m tests.api_examples` executes them and writes the responses. A test compares
these responses with those of a new run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from shlex import quote as in_shell
from typing import Any
from urllib.parse import quote

import orjson

ADDRESS = "http://127.0.0.1:8100"
_MAX_LINE_CHARS = 66
FILE = files("aragog.api.server.http.openapi").joinpath("examples.json")


@dataclass(frozen=True, slots=True)
class Example:
    """A request and a server's response."""

    operation: str
    """The operation's id in the document."""
    path: Mapping[str, str] = field(default_factory=dict)
    """The values for the placeholders in the path."""
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    """The request's JSON, or None."""
    status: int = 200
    answer: Any = None
    """The response's JSON or text, or None."""

    def target(self, path: str) -> str:
        """Return the request's path and query, for a path in the document."""
        for name, value in self.path.items():
            path = path.replace(f"{{{name}}}", quote(value, safe=""))
        pairs = [f"{name}={quote(value, safe=':/,?=')}" for name, value in self.query.items()]
        return f"{path}?{'&'.join(pairs)}" if pairs else path

    def command(self, method: str, path: str) -> str:
        words = ["curl -s"]
        default_method = "GET" if self.body is None else "POST"
        if method != default_method:
            words.append(f"-X {method}")
        target = in_shell(ADDRESS + self.target(path))
        words.append(target if len(target) < _MAX_LINE_CHARS else f"\\\n  {target}")
        if self.body is not None:
            words.append(f"\\\n  --json {in_shell(orjson.dumps(self.body).decode())}")
        return " ".join(words)


EXAMPLES: dict[str, Example] = {
    example["operation"]: Example(**example) for example in orjson.loads(FILE.read_bytes())
}
"""The examples by operation id."""


def add_examples(document: dict[str, Any]) -> None:
    """Add the examples to an OpenAPI document."""
    for methods in document["paths"].values():
        for operation in methods.values():
            if example := EXAMPLES.get(operation["operationId"]):
                _add_example(operation, example)


def _add_example(operation: dict[str, Any], example: Example) -> None:
    values = {**example.path, **example.query}
    for parameter in operation.get("parameters", ()):
        if parameter["name"] in values and parameter["in"] in ("path", "query"):
            parameter["example"] = _parse_value(parameter["schema"], values[parameter["name"]])
    if example.body is not None:
        operation["requestBody"]["content"]["application/json"]["example"] = example.body
    content = operation["responses"][str(example.status)].get("content", {})
    if example.answer is not None and "application/json" in content:
        content["application/json"]["example"] = example.answer


def _parse_value(schema: Mapping[str, Any], text: str) -> Any:
    """Convert a query parameter's value to the type in its schema."""
    json_types = schema.get("type", "string")
    if "array" in json_types:
        return text.split(",") if text else []
    if "integer" in json_types:
        return int(text)
    if "number" in json_types:
        return float(text)
    return text == "true" if "boolean" in json_types else text
