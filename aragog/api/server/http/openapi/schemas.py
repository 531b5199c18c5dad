"""The JSON schemas of parameters, bodies and responses, from the table of operations."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Annotated, Any, get_args

from aragog.api.error_table import ERROR_KINDS
from aragog.api.operations.operation import HttpRoute, Operation
from aragog.api.operations.options import OptionField, option_fields
from aragog.api.operations.values import PageLink, PageRecord, PastValue
from aragog.fetch_record.outcome import SCALAR_FIELDS, FetchRecord
from aragog.urlstore.feed import Change, ChangeKind

_SCALARS: dict[Any, dict[str, Any]] = {
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


_FIELD_VALUES: dict[str, Any] = {"type": "object", "additionalProperties": True}
"""Field values, each in its declared format."""
NAMED_SCHEMAS = {
    PageRecord: "Record",
    FetchRecord: "FetchReport",
    Change: "Change",
    PastValue: "PastValue",
}
"""Types whose schemas are not derived from their fields."""


def parameters(operation: Operation[Any, Any], route: HttpRoute) -> list[dict[str, Any]]:
    """Return an operation's path parameters and, if the route has no body, query parameters."""
    shared = {field.option.shares: field for field in operation.fields if field.option.shares}
    return [
        _parameter(field, route, shared.get(field.http))
        for field in operation.fields
        if field.http
        and not field.option.shares
        and (not route.has_body or field.http in route.in_query or _in_path(field, route))
    ]


def _in_path(field: OptionField, route: HttpRoute) -> bool:
    return f"{{{field.http}}}" in route.path


def _parameter(
    field: OptionField, route: HttpRoute, shared: OptionField | None = None
) -> dict[str, Any]:
    """Return an option as a parameter. `shared` is an option that the same parameter sets."""
    schema, text = option_schema(field), field.option.text
    if shared is not None:
        schema = {"type": "string"}
        text += f" Items `name:value`, separated by commas: {shared.option.text}"
    list_style = {"style": "form", "explode": False} if "array" in schema["type"] else {}
    return {
        "name": field.http,
        "in": "path" if _in_path(field, route) else "query",
        "required": field.required and field.http not in route.selected_by,
        "description": text,
        "schema": schema,
        **list_style,
    }


def body_schema(operation: Operation[Any, Any], route: HttpRoute) -> dict[str, Any] | None:
    """Return the options of an operation as a JSON object, or None if the route has no body."""
    if not route.has_body:
        return None
    members_elsewhere = {"", *route.in_query}
    return _forbid_other_members(
        object_schema(
            [
                field
                for field in operation.fields
                if field.http not in members_elsewhere and not _in_path(field, route)
            ]
        )
    )


def _forbid_other_members(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a request's schema, with `additionalProperties: false` in every object."""
    schema = dict(schema)
    if "properties" in schema:
        properties = {
            name: _forbid_other_members(part) for name, part in schema["properties"].items()
        }
        schema |= {"properties": properties, "additionalProperties": False}
    if "items" in schema:
        schema["items"] = _forbid_other_members(schema["items"])
    return schema


def object_schema(fields: Sequence[OptionField]) -> dict[str, Any]:
    """Return the schema of a JSON object with these members."""
    return {
        "type": "object",
        "required": [field.http for field in fields if field.required],
        "properties": {
            field.http: {**_member_schema(field), "description": field.option.text}
            for field in fields
        },
    }


def _member_schema(field: OptionField) -> dict[str, Any]:
    """Return the schema of an option in a body. There, null means that the option is not set."""
    schema = option_schema(field)
    json_types = schema.get("type", [])
    json_types = [json_types] if isinstance(json_types, str) else json_types
    if not field.required and json_types and "null" not in json_types:
        schema["type"] = [*json_types, "null"]
    return schema


def option_schema(field: OptionField) -> dict[str, Any]:
    """Return the JSON schema of one option."""
    option, schema = (
        field.option,
        dict(_FIELD_VALUES if field.option.by_format else build_schema(field.kind)),
    )
    if field.kind in (int, float):
        schema |= _without_none(
            minimum=option.minimum, maximum=None if option.capped else option.maximum
        )
    if field.kind is str:
        schema |= _without_none(pattern=option.pattern and f"^(?:{option.pattern})$")
        if field.required and not option.pattern:
            schema["minLength"] = 1
    if schema.get("type") == "array":
        schema |= _without_none(maxItems=option.max_items)
        if option.choices:
            schema["items"] = {"type": "string", "enum": [*option.choices]}
    elif option.choices:
        schema["enum"] = [*option.choices]
    if field.optional:
        json_types = schema["type"]
        schema["type"] = [*([json_types] if isinstance(json_types, str) else json_types), "null"]
    default = field.default if option.http_default is None else option.http_default
    if not field.required and default is not None and isinstance(default, int | float):
        schema["default"] = default
    elif option.http_default is not None:
        schema["default"] = [*option.http_default]
    return schema


def _without_none(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def response_schema(operation: Operation[Any, Any], route: HttpRoute) -> dict[str, Any] | None:
    """Return the JSON schema of an operation's response, or None if it has none."""
    if operation.response_type is type(None):
        return None
    schema = build_schema(operation.response_type)
    if route.member is None:
        return schema
    return {"type": "object", "required": [route.member], "properties": {route.member: schema}}


def build_schema(kind: Any) -> dict[str, Any]:
    """Return the JSON schema of a type's values, as `json_values.to_json` writes them."""
    if typing.get_origin(kind) is Annotated:
        kind = typing.get_args(kind)[0]
    origin, parts = typing.get_origin(kind) or kind, typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return _nullable(build_schema(next(part for part in parts if part is not type(None))))
    if origin in _SCALARS:
        return _SCALARS[origin]
    if origin in NAMED_SCHEMAS:
        return {"$ref": f"#/components/schemas/{NAMED_SCHEMAS[origin]}"}
    if isinstance(origin, type) and issubclass(origin, Enum):
        return {"type": "string", "enum": [value.value for value in origin]}
    if origin is PageLink:
        rel = {"type": "array", "items": _SCALARS[str]}
        properties = {"url": _SCALARS[str], "text": _SCALARS[str], "rel": rel}
        return {"type": "object", "required": ["url"], "properties": properties}
    if dataclasses.is_dataclass(origin):
        return _build_object_schema(typing.cast("type", origin))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": build_schema(parts[1])}
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return {"type": "array", "items": build_schema(parts[0])}
    return {}


def _nullable(schema: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    kind = schema.get("type")
    return {**schema, "type": [kind, "null"]} if isinstance(kind, str) else dict(schema)


def _build_object_schema(kind: type) -> dict[str, Any]:
    """Return a dataclass's JSON schema, from its options or types."""
    fields = option_fields(kind)
    if any(field.option.text for field in fields):
        return object_schema(fields)
    hints = typing.get_type_hints(kind)
    properties = {
        field.http: _FIELD_VALUES if field.option.by_format else build_schema(hints[field.name])
        for field in fields
        if field.http
    }
    required = [field.http for field in fields if field.required and field.http]
    return {"type": "object", "required": required, "properties": properties}


_TEXT: dict[str, Any] = {"type": "string"}
_INTEGER: dict[str, Any] = {"type": "integer"}
_TEXT_LIST: dict[str, Any] = {"type": "array", "items": _TEXT}


def _object(required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": required.split(), "properties": properties}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _list(items: dict[str, Any], **keywords: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **keywords}


def _optional(*json_types: str) -> dict[str, Any]:
    return {"type": [*json_types, "null"]}


_RECORD = {
    "url": {**_TEXT, "description": "The requested URL, normalized."},
    "canonical_url": {**_TEXT, "description": "The canonical URL of the page."},
    "version": {**_TEXT, "description": "Changes with every write; part of the ETag."},
    "fields": {
        "type": "object",
        "description": "Field names and values, each in its declared format.",
        "additionalProperties": True,
    },
    "facts": {
        "type": "object",
        "description": "Facts of the last fetch that returned information about the page.",
        "additionalProperties": _optional("string", "number"),
    },
    "content_bytes": {
        **_optional("integer"),
        "description": "Size of the page's content before compression; null without content.",
    },
    "content_hash": {
        **_optional("string"),
        "description": "SHA-256 of the stored content, in hexadecimal digits.",
    },
    "due_at_ms": {
        **_optional("integer"),
        "description": "When the page is fetched again; null if never.",
    },
    "from_standby": {
        "type": "boolean",
        "description": "Read from the standby store, whose data may be older.",
    },
}
_HEADERS = {
    **_list(_list(_TEXT, minItems=2, maxItems=2)),
    "description": "Names and values as received, up to 16 KiB; cookies without their values.",
}
_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}
_FETCH_DESCRIPTIONS = {
    "url": "The URL that was requested, even if it is an alias.",
    "total_ms": "Includes redirects and waits for their slots; restarts after a redirect whose "
    "slot was more than a second away.",
}
_FETCH_RECORD = {
    name: {
        **(_optional(kind) if value.optional else {"type": kind}),
        **({"description": _FETCH_DESCRIPTIONS[name]} if name in _FETCH_DESCRIPTIONS else {}),
    }
    for name, value in SCALAR_FIELDS.items()
    for kind in [_JSON_TYPES[value.type]]
}
_FRESHNESS = {
    "state": {**_TEXT, "enum": ["fresh", "stale", "absent"]},
    "age_s": {
        **_optional("number"),
        "description": "Seconds since a fetch last confirmed the page.",
    },
    "stale_fields": _TEXT_LIST,
    "fetching": {
        "type": "boolean",
        "description": "True if the URL is in flight; request it again later.",
    },
    "reason": {**_optional("string"), "description": "Why the URL is not fetched."},
}
_RECORD_NAMES = "url canonical_url version fields facts content_bytes content_hash due_at_ms"
_URL_LIST = _list(_TEXT, maxItems=1000)

SCHEMAS: dict[str, Any] = {
    "Problem": _object(
        "type title status detail",
        type=_TEXT,
        title=_TEXT,
        status=_INTEGER,
        detail=_TEXT,
        code={
            **_TEXT,
            "description": "The error code, the same as over Thrift.",
            "enum": [kind.code for kind in ERROR_KINDS],
        },
        url={**_TEXT, "description": "The URL that was taken down, or that has the unique value."},
        property={**_TEXT, "description": "For `value_taken`: the unique property."},
        found_version={
            **_TEXT,
            "description": "For 412: the record's version; empty if there is no record.",
        },
    ),
    "Record": _object(_RECORD_NAMES, **_RECORD),
    "FullRecord": _object(
        _RECORD_NAMES,
        **_RECORD,
        aliases=_TEXT_LIST,
        inlinks=_INTEGER,
        freshness=_ref("Freshness"),
        fetch={"anyOf": [_ref("FetchReport"), {"type": "null"}]},
    ),
    "Hop": _object(
        "url status target headers",
        url={**_TEXT, "description": "The URL that redirected."},
        status=_INTEGER,
        target=_TEXT,
        latency_ms=_optional("number"),
        headers=_HEADERS,
    ),
    "FetchReport": _object(
        "url outcome fetched_at_ms final_url headers hops total_ms",
        **_FETCH_RECORD,
        headers=_HEADERS,
        hops=_list(_ref("Hop")),
    ),
    "BatchResult": _object(
        "input status",
        input={**_TEXT, "description": "The URL as the client sent it."},
        status={
            **_INTEGER,
            "description": "200 with `record`; 400, 403, 404, 413 or 500 with `detail`.",
        },
        record=_ref("Record"),
        detail=_TEXT,
    ),
    "BatchResults": _object("results", results=_list(_ref("BatchResult"))),
    "PastValue": _object("value at_ms", value={}, at_ms=_INTEGER),
    "Change": _object(
        "cursor kind url at_ms owners fields",
        cursor=_TEXT,
        kind={**_TEXT, "enum": list(get_args(ChangeKind))},
        url=_TEXT,
        at_ms=_INTEGER,
        owners=_TEXT_LIST,
        fields={"type": "object", "additionalProperties": _object("", before={}, now={})},
        content_hash=_object("before now", before=_nullable(_TEXT), now=_nullable(_TEXT)),
        redirected_to=_TEXT,
    ),
    "Freshness": _object("state fetching", **_FRESHNESS),
    "State": _object("status", status=_TEXT),
}
