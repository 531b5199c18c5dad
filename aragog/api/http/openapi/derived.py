"""The parts of the OpenAPI document that follow from the table of operations. Pure."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Annotated, Any

from aragog.api.operation import HttpRoute, Operation
from aragog.api.values import PageLink, PageRecord, PastValue
from aragog.fetcher.outcome import FetchRecord
from aragog.options import OptionField, option_fields
from aragog.urlstore.feed import Change

_PLAIN: dict[Any, dict[str, Any]] = {
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    bytes: {
        "type": ["object", "string"],
        "required": ["base64"],
        "properties": {"base64": {"type": "string"}},
    },
}


_OPEN: dict[str, Any] = {"type": "object", "additionalProperties": True}
"""Values of fields, by the declared format of each."""
NAMED = {PageRecord: "Record", FetchRecord: "FetchReport", Change: "Change", PastValue: "PastValue"}
"""Types whose schemas are not derived from their fields."""


def parameters(operation: Operation[Any, Any], route: HttpRoute) -> list[dict[str, Any]]:
    """The options of an operation in the path, and for a route without a body in the query."""
    result = []
    for field in operation.fields:
        in_path = f"{{{field.http}}}" in route.path
        if field.http and (in_path or not route.has_body or field.http in route.in_query):
            schema = option_schema(field)
            listed = "array" in schema["type"]
            result.append(
                {
                    "name": field.http,
                    "in": "path" if in_path else "query",
                    "required": field.required and field.http != route.given,
                    "description": field.option.text,
                    "schema": schema,
                    **({"style": "form", "explode": False} if listed else {}),
                }
            )
    return result


def body_schema(operation: Operation[Any, Any], route: HttpRoute) -> dict[str, Any] | None:
    """The options of an operation as a JSON object; None: the route has no body."""
    if not route.has_body:
        return None
    elsewhere = {"", *route.in_query}
    return object_schema(
        [
            field
            for field in operation.fields
            if field.http not in elsewhere and f"{{{field.http}}}" not in route.path
        ]
    )


def object_schema(fields: Sequence[OptionField]) -> dict[str, Any]:
    """A JSON object with these members."""
    return {
        "type": "object",
        "required": [field.http for field in fields if field.required],
        "properties": {
            field.http: {**_member(field), "description": field.option.text} for field in fields
        },
    }


def _member(field: OptionField) -> dict[str, Any]:
    """An option in a body, where null counts as not given."""
    schema = option_schema(field)
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not field.required and kinds and "null" not in kinds:
        schema["type"] = [*kinds, "null"]
    return schema


def option_schema(field: OptionField) -> dict[str, Any]:
    """The JSON schema of one option."""
    option, schema = field.option, dict(_OPEN if field.option.by_format else schema_of(field.kind))
    if field.kind in (int, float):
        schema |= _set(minimum=option.least, maximum=None if option.capped else option.most)
    if field.kind is str:
        schema |= _set(pattern=option.pattern and f"^(?:{option.pattern})$")
        if field.required and not option.pattern:
            schema["minLength"] = 1
    if schema.get("type") == "array":
        schema |= _set(maxItems=option.most_items)
        if option.choices:
            schema["items"] = {"type": "string", "enum": [*option.choices]}
    elif option.choices:
        schema["enum"] = [*option.choices]
    if field.optional:
        kinds = schema["type"]
        schema["type"] = [*([kinds] if isinstance(kinds, str) else kinds), "null"]
    default = field.default if option.http_default is None else option.http_default
    if not field.required and default is not None and isinstance(default, int | float):
        schema["default"] = default
    elif option.http_default is not None:
        schema["default"] = [*option.http_default]
    return schema


def _set(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def answer_schema(operation: Operation[Any, Any], route: HttpRoute) -> dict[str, Any] | None:
    """The JSON schema of an operation's answer; None: it has none."""
    if operation.answer is type(None):
        return None
    schema = schema_of(operation.answer)
    if route.member is None:
        return schema
    return {"type": "object", "required": [route.member], "properties": {route.member: schema}}


def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON schema of a type, as `json_values.to_json` writes it."""
    if typing.get_origin(kind) is Annotated:
        kind = typing.get_args(kind)[0]
    origin, parts = typing.get_origin(kind) or kind, typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        schema = dict(schema_of(next(part for part in parts if part is not type(None))))
        if "$ref" in schema:
            return {"anyOf": [schema, {"type": "null"}]}
        if isinstance(schema.get("type"), str):
            schema["type"] = [schema["type"], "null"]
        return schema
    if origin in _PLAIN:
        return _PLAIN[origin]
    if origin in NAMED:
        return {"$ref": f"#/components/schemas/{NAMED[origin]}"}
    if isinstance(origin, type) and issubclass(origin, Enum):
        return {"type": "string", "enum": [value.value for value in origin]}
    if origin is PageLink:
        rel = {"type": "array", "items": _PLAIN[str]}
        properties = {"url": _PLAIN[str], "text": _PLAIN[str], "rel": rel}
        return {"type": "object", "required": ["url"], "properties": properties}
    if dataclasses.is_dataclass(origin):
        fields = option_fields(origin)  # type: ignore[arg-type] # classes are hashable
        if any(field.option.text for field in fields):
            return object_schema(fields)
        hints = typing.get_type_hints(origin)
        properties = {
            field.http: _OPEN if field.option.by_format else schema_of(hints[field.name])
            for field in fields
            if field.http
        }
        required = [field.http for field in fields if field.required and field.http]
        return {"type": "object", "required": required, "properties": properties}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema_of(parts[1])}
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return {"type": "array", "items": schema_of(parts[0])}
    return {}
