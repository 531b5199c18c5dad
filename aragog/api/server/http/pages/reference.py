"""Render the OpenAPI document as the page at `/docs`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import orjson

from aragog.api.server.http.openapi.examples import EXAMPLES, Example
from aragog.api.server.http.pages.frame import html_page

_CODE_SPAN = re.compile(r"`([^`]+)`")
_ERRORS = "#/components/responses/"


class _Entry(NamedTuple):
    method: str
    path: str
    operation: Mapping[str, Any]

    @property
    def id(self) -> str:
        return str(self.operation["operationId"])


def reference_page(document: Mapping[str, Any]) -> str:
    """Return the page. Each operation's anchor is its id in the document."""
    groups = [
        (tag, [entry for entry in _entries(document) if tag["name"] in entry.operation["tags"]])
        for tag in document["tags"]
    ]
    contents = _contents(groups)
    token = document["components"]["securitySchemes"]["bearer"]["description"]
    intro = (
        f"<h1>HTTP API</h1><p>{_to_html(document['info']['description'])}"
        '<p>Also available as an <a href="/openapi.json">OpenAPI document</a>.'
        f"<p>Authorization: <code>Bearer</code>. {_to_html(token)}"
    )
    parts = [
        f'<div class="panel">{intro}</div>',
        f'<details class="panel contents narrow"><summary>Contents</summary>{contents}</details>',
        _errors(document),
        *(_group(tag, entries, document) for tag, entries in groups),
    ]
    return html_page(
        "aragog: HTTP API",
        "/docs",
        '<div class="reference">'
        f'<nav class="contents wide" aria-label="Contents">{contents}</nav>'
        f"<div>{''.join(parts)}</div></div>",
    )


def _entries(document: Mapping[str, Any]) -> Iterator[_Entry]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield _Entry(method.upper(), path, operation)


def _contents(groups: Sequence[tuple[Mapping[str, str], Sequence[_Entry]]]) -> str:
    items = ['<li><a href="#errors">Errors</a>']
    for tag, entries in groups:
        inner = "".join(
            f'<li><a href="#{entry.id}">{entry.method} {escape(entry.path)}</a>'
            for entry in entries
        )
        items.append(
            f'<li><a href="#{_slug(tag["name"])}">{escape(tag["name"])}</a><ul>{inner}</ul>'
        )
    return f"<ul>{''.join(items)}</ul>"


def _slug(name: str) -> str:
    return f"group-{name.lower().replace(' ', '-')}"


def _errors(document: Mapping[str, Any]) -> str:
    """Return the table of errors that operations link to."""
    rows = [
        (f'<a id="error-{code}"></a>{code}', _to_html(problem["description"]))
        for name, problem in document["components"]["responses"].items()
        for code in [name.removeprefix("Problem")]
    ]
    table = _table(("Status", "Meaning"), rows)
    return (
        '<section class="panel" id="errors"><h2>Errors</h2><p>Errors are problem details '
        "(RFC 9457): <code>application/problem+json</code> with <code>status</code> and a "
        f"<code>detail</code> that explains the error.{table}</section>"
    )


def _group(tag: Mapping[str, str], entries: Sequence[_Entry], document: Mapping[str, Any]) -> str:
    head = f'<h2 id="{_slug(tag["name"])}">{escape(tag["name"])}</h2>'
    articles = "".join(_operation(entry, document) for entry in entries)
    return f"<section>{head}<p>{_to_html(tag['description'])}{articles}</section>"


def _operation(entry: _Entry, document: Mapping[str, Any]) -> str:
    operation = entry.operation
    scopes = [scope for choice in operation["security"] for scope in choice.get("bearer", ())]
    needs = f"Scope {scopes[0]}." if scopes else "No token required."
    return (
        f'<article class="panel" id="{entry.id}">'
        f'<h3><span class="method">{entry.method}</span> <code>{escape(entry.path)}</code></h3>'
        f'<p>{_to_html(operation["summary"])} <span class="note">{needs}</span>'
        f"{_parameters(operation)}{_body(operation, document)}{_example(entry)}"
        f"{_responses(operation)}</article>"
    )


def _parameters(operation: Mapping[str, Any]) -> str:
    rows = [
        (
            _name_to_html(parameter["name"], required=parameter.get("required", False)),
            f"{parameter['in']}: {_describe_type(parameter['schema'])}",
            _to_html(parameter["description"]),
        )
        for parameter in operation.get("parameters", ())
    ]
    return _table(("Parameter", "Type", "Meaning"), rows)


def _body(operation: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    if "requestBody" not in operation:
        return ""
    reference = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    schema = document["components"]["schemas"][reference.rpartition("/")[2]]
    rows = [
        (
            _name_to_html(name, required=name in schema["required"]),
            _describe_type(member),
            _to_html(member.get("description", "")),
        )
        for name, member in schema["properties"].items()
    ]
    return _table(("Body member", "Type", "Meaning"), rows)


def _example(entry: _Entry) -> str:
    example = EXAMPLES.get(entry.id)
    if example is None:
        return ""
    command = _code_block(example.command(entry.method, entry.path), f"Example of {entry.id}")
    answer = _code_block(_example_code(example), f"Response to the example of {entry.id}")
    return (
        f'<p class="note">Example; the response has status {example.status}:</p>{command}{answer}'
    )


def _example_code(example: Example) -> str:
    if example.answer is None or isinstance(example.answer, str):
        return example.answer or ""
    return orjson.dumps(example.answer, option=orjson.OPT_INDENT_2).decode()


def _code_block(text: str, label: str) -> str:
    """Return a block. If it is wider than the page, users can scroll it, also with the keyboard."""
    if not text:
        return ""
    return f'<pre tabindex="0" role="region" aria-label="{escape(label)}">{escape(text)}</pre>'


def _responses(operation: Mapping[str, Any]) -> str:
    """Return successful responses with descriptions, and errors as links."""
    successes, errors = [], []
    for status, response in operation["responses"].items():
        if "$ref" in response:
            errors.append(f'<a href="#error-{status}">{status}</a>')
        else:
            successes.append(f"{status}: {_to_html(response['description'])}")
    return f'<p class="note">{" ".join(successes)} Errors: {", ".join(errors)}.</p>'


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{escape(title)}' for title in titles)
    body = "".join(f"<tr>{''.join(f'<td>{cell}' for cell in row)}" for row in rows)
    return f'<table class="stacked"><thead><tr>{head}<tbody>{body}</table>'


def _name_to_html(name: str, *, required: bool) -> str:
    note = ' <span class="note">required</span>' if required else ""
    return f"<code>{escape(name)}</code>{note}"


def _describe_type(schema: Mapping[str, Any]) -> str:
    """Describe a value's type, bounds and default in words."""
    json_types = schema.get("type", "any")
    json_types = (
        [json_types]
        if isinstance(json_types, str)
        else [kind for kind in json_types if kind != "null"]
    )
    text = " or ".join(json_types)
    choices = schema.get("enum") or schema.get("items", {}).get("enum")
    if choices:
        text += ": " + ", ".join(f"<code>{escape(str(choice))}</code>" for choice in choices)
    minimum, maximum = schema.get("minimum"), schema.get("maximum")
    if minimum is not None and maximum is not None:
        text += f", {minimum:,} to {maximum:,}"
    elif minimum is not None:
        text += f", {minimum:,} or more"
    if (items := schema.get("maxItems")) is not None:
        text += f", up to {items:,}"
    default = schema.get("default")
    return text if default is None else f"{text}; default {_default_to_html(default)}"


def _default_to_html(value: Any) -> str:
    value_text = ",".join(value) if isinstance(value, list) else orjson.dumps(value).decode()
    return f"<code>{escape(value_text)}</code>"


def _to_html(text: str) -> str:
    return _CODE_SPAN.sub(r"<code>\1</code>", escape(text, quote=False))
