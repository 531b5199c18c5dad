"""Render the OpenAPI document as the page at `/docs`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import orjson

from aragog.api.server.http.openapi.examples import EXAMPLES, Example
from aragog.api.server.http.pages.frame import html_page

_CODE = re.compile(r"`([^`]+)`")
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
        f"<h1>HTTP API</h1><p>{_text(document['info']['description'])}"
        '<p>Also available as an <a href="/openapi.json">OpenAPI document</a>.'
        f"<p>Authorization: <code>Bearer</code>. {_text(token)}"
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
        (f'<a id="error-{code}"></a>{code}', _text(problem["description"]))
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
    shown = "".join(_operation(entry, document) for entry in entries)
    return f"<section>{head}<p>{_text(tag['description'])}{shown}</section>"


def _operation(entry: _Entry, document: Mapping[str, Any]) -> str:
    operation = entry.operation
    scopes = [scope for choice in operation["security"] for scope in choice.get("bearer", ())]
    needs = f"Scope {scopes[0]}." if scopes else "No token required."
    return (
        f'<article class="panel" id="{entry.id}">'
        f'<h3><span class="method">{entry.method}</span> <code>{escape(entry.path)}</code></h3>'
        f'<p>{_text(operation["summary"])} <span class="note">{needs}</span>'
        f"{_parameters(operation)}{_body(operation, document)}{_example(entry)}"
        f"{_responses(operation)}</article>"
    )


def _parameters(operation: Mapping[str, Any]) -> str:
    rows = [
        (
            _name(each["name"], required=each.get("required", False)),
            f"{each['in']}: {_kind(each['schema'])}",
            _text(each["description"]),
        )
        for each in operation.get("parameters", ())
    ]
    return _table(("Parameter", "Type", "Meaning"), rows)


def _body(operation: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    if "requestBody" not in operation:
        return ""
    reference = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    schema = document["components"]["schemas"][reference.rpartition("/")[2]]
    rows = [
        (
            _name(name, required=name in schema["required"]),
            _kind(member),
            _text(member.get("description", "")),
        )
        for name, member in schema["properties"].items()
    ]
    return _table(("Body member", "Type", "Meaning"), rows)


def _example(entry: _Entry) -> str:
    example = EXAMPLES.get(entry.id)
    if example is None:
        return ""
    command = _block(example.command(entry.method, entry.path), f"Example of {entry.id}")
    answer = _block(_example_code(example), f"Response to the example of {entry.id}")
    return (
        f'<p class="note">Example; the response has status {example.status}:</p>{command}{answer}'
    )


def _example_code(example: Example) -> str:
    if example.answer is None or isinstance(example.answer, str):
        return example.answer or ""
    return orjson.dumps(example.answer, option=orjson.OPT_INDENT_2).decode()


def _block(text: str, label: str) -> str:
    """Return a block that can be scrolled, also with the keyboard, if it is wider than the page."""
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
            successes.append(f"{status}: {_text(response['description'])}")
    return f'<p class="note">{" ".join(successes)} Errors: {", ".join(errors)}.</p>'


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{escape(title)}' for title in titles)
    body = "".join(f"<tr>{''.join(f'<td>{cell}' for cell in row)}" for row in rows)
    return f'<table class="stacked"><thead><tr>{head}<tbody>{body}</table>'


def _name(name: str, *, required: bool) -> str:
    note = ' <span class="note">required</span>' if required else ""
    return f"<code>{escape(name)}</code>{note}"


def _kind(schema: Mapping[str, Any]) -> str:
    """Describe a value's type, bounds and default in words."""
    kinds = schema.get("type", "any")
    kinds = [kinds] if isinstance(kinds, str) else [kind for kind in kinds if kind != "null"]
    text = " or ".join(kinds)
    choices = schema.get("enum") or schema.get("items", {}).get("enum")
    if choices:
        text += ": " + ", ".join(f"<code>{escape(str(choice))}</code>" for choice in choices)
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and most is not None:
        text += f", {least:,} to {most:,}"
    elif least is not None:
        text += f", {least:,} or more"
    if (items := schema.get("maxItems")) is not None:
        text += f", up to {items:,}"
    default = schema.get("default")
    return text if default is None else f"{text}; default {_default(default)}"


def _default(value: Any) -> str:
    shown = ",".join(value) if isinstance(value, list) else orjson.dumps(value).decode()
    return f"<code>{escape(shown)}</code>"


def _text(text: str) -> str:
    return _CODE.sub(r"<code>\1</code>", escape(text, quote=False))
