"""
Convert operation requests and responses to and from Thrift structs.

Struct members have the fields' names, unless their `Option` has another name for Thrift. Seconds
become milliseconds.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Annotated, Any

import orjson
from thriftpy2.thrift import TPayload, TType

from aragog.api.operations.operation import Operation
from aragog.api.operations.options import OptionField, option_fields
from aragog.api.operations.values import EXTRAS, EnqueuedUrls, PageRecord
from aragog.errors import BadInput
from aragog.urlstore.field_formats import FieldFormats


def build_request(operation: Operation[Any, Any], arguments: Any) -> Any:
    """
    Build a request from a call's arguments and options.

    Raises:
        BadInput: a required argument is missing.
    """
    values_by_name, options = vars(arguments), getattr(arguments, "options", None)
    values = {}
    for field in operation.fields:
        value = values_by_name.get(field.thrift)
        if value is None and options is not None:
            value = getattr(options, field.thrift, None)
        elif field.optional and value in ([], ""):
            value = None  # Thrift cannot leave out an argument, so an empty one counts as not set
        if value is not None:
            values[field.name] = _decode_value(field, value)
        elif field.required:
            raise BadInput(f"{field.thrift}: is required")
    return operation.request(**values)


def _decode_value(field: OptionField, value: Any) -> Any:
    if field.thrift.endswith("_ms") and field.name.endswith("_s"):
        if isinstance(value, Mapping):
            return {name: part / 1000 for name, part in value.items()}
        return value / 1000
    parts = typing.get_args(field.kind)
    if parts and dataclasses.is_dataclass(parts[0]) and isinstance(value, list):
        return tuple(dataclass_from_struct(typing.cast("type", parts[0]), item) for item in value)
    return tuple(value) if isinstance(value, list) else value


def dataclass_from_struct(kind: type, struct: Any) -> Any:
    """
    Build the dataclass `kind` from a struct, without the members that are not set.

    Raises:
        BadInput: a required member is missing.
    """
    values = {n: v for n, v in vars(struct).items() if v is not None and n in _type_hints(kind)}
    try:
        return kind(**values)
    except TypeError:
        missing = [f.name for f in dataclasses.fields(kind) if f.name not in values]
        raise BadInput(f"{', '.join(missing)}: is required") from None


def build_arguments(operation: Operation[Any, Any], request: Any, kind: Any) -> Any:
    """Return a call's arguments as a struct, without a deadline."""
    arguments = kind()
    spec = {entry[1]: entry for entry in kind.thrift_spec.values()}
    options: Any = spec["options"][2]() if "options" in spec else None
    for field in operation.fields:
        value = getattr(request, field.name)
        if value is None or (value == field.default and field.thrift not in spec):
            continue
        if field.thrift.endswith("_ms") and field.name.endswith("_s"):
            value = _to_ms(value)
        if field.thrift in spec:
            setattr(arguments, field.thrift, encode_value(spec[field.thrift], value))
        else:
            members = {entry[1]: entry for entry in options.thrift_spec.values()}
            setattr(options, field.thrift, encode_value(members[field.thrift], value))
    for name, entry in spec.items():
        if getattr(arguments, name) is None and name != "options":
            setattr(arguments, name, [] if entry[0] == TType.LIST else "")
    arguments.options = options
    return arguments


def _to_ms(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: round(part * 1000) for name, part in value.items()}
    return round(value * 1000)


def encode_value(entry: Sequence[Any], value: Any) -> Any:
    """Encode a value for a struct member with this entry in `thrift_spec`."""
    kind, value_type = entry[0], entry[2]
    if value is None:
        return None
    if isinstance(value, EnqueuedUrls):
        return [_to_struct(value_type[1], result, batch=value.batch) for result in value]
    if kind in (TType.LIST, TType.SET):
        return [_encode_item(value_type, item) for item in value]
    if kind == TType.MAP:
        return {name: _encode_item(value_type[1], part) for name, part in value.items()}
    if kind == TType.STRUCT:
        return _to_struct(value_type, value)
    return _encode_scalar(value_type, value)


def _encode_item(value_type: Any, value: Any) -> Any:
    if isinstance(value_type, tuple):
        return encode_value((value_type[0], "", value_type[1]), value)
    return _encode_scalar(None, value)


def _encode_scalar(value_type: Any, value: Any) -> Any:
    if value_type is not None and hasattr(value_type, "_NAMES_TO_VALUES"):
        name = value.name if isinstance(value, Enum) else str(value).upper()
        return value_type._NAMES_TO_VALUES[name]  # noqa: SLF001 - thriftpy2's
    return value.value if isinstance(value, Enum) else value


def _to_struct(kind: Any, value: Any, **extra_members: Any) -> Any:
    entries = list(kind.thrift_spec.values())
    if isinstance(value, PageRecord):
        facts = {name: orjson.dumps(fact).decode() for name, fact in value.facts.items()}
        extra_members = {"facts": facts, "from_standby": value.from_standby or None}
    elif isinstance(value, tuple) and not hasattr(value, "_fields"):
        extra_members = {entry[1]: part for entry, part in zip(entries, value, strict=True)}
    extra_members = {**extra_members, **_json_strings(value)}
    members = {entry[1]: _member(entry, value, extra_members) for entry in entries}
    return kind(**members)


@cache
def _json_members(kind: Any) -> frozenset[str]:
    """Return the members of a dataclass whose values are JSON strings in Thrift."""
    fields: Sequence[OptionField] = option_fields(kind) if _is_dataclass(kind) else ()
    return frozenset(field.name for field in fields if field.option.is_json)


def _is_dataclass(kind: Any) -> bool:
    return dataclasses.is_dataclass(kind)


def _json_strings(value: Any) -> dict[str, Any]:
    kind: Any = type(value)
    return {
        name: {key: orjson.dumps(part).decode() for key, part in mapping.items()}
        for name in _json_members(kind)
        if (mapping := getattr(value, name)) is not None
    }


def _member(entry: Sequence[Any], value: Any, extra_members: Mapping[str, Any]) -> Any:
    name = entry[1]
    if name in extra_members:
        return encode_value(entry, extra_members[name])
    if hasattr(value, name):
        return encode_value(entry, getattr(value, name))
    if name.endswith("_ms") and (seconds := getattr(value, f"{name[:-3]}_s", None)) is not None:
        return _to_ms(seconds)
    return None


@cache
def _type_hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def response_from_struct(kind: Any, value: Any, formats: FieldFormats) -> Any:
    """Build a response from its struct; the inverse of `encode_value`."""
    if typing.get_origin(kind) is Annotated:
        kind = typing.get_args(kind)[0]
    origin, parts = typing.get_origin(kind) or kind, typing.get_args(kind)
    if value is None or origin is None:
        return None
    if origin in (types.UnionType, typing.Union):
        return response_from_struct(next(p for p in parts if p is not type(None)), value, formats)
    if origin is EnqueuedUrls:
        [results] = [hint for name, hint in _type_hints(EnqueuedUrls).items() if name == "results"]
        batch = next((result.batch for result in value if result.batch), None)
        return EnqueuedUrls(response_from_struct(results, value, formats), batch)
    if origin is PageRecord:
        return build_record(value, formats)
    if dataclasses.is_dataclass(origin):
        return _build_dataclass(typing.cast("type", origin), value, formats)
    if not isinstance(origin, type):  # a Literal of strings
        return value
    if issubclass(origin, Enum):
        return origin(value)
    if origin in (list, tuple):
        return _build_items(origin, parts, value, formats)
    if issubclass(origin, Mapping):
        return {name: response_from_struct(parts[1], part, formats) for name, part in value.items()}
    return value


def _build_items(origin: Any, parts: Sequence[Any], value: Any, formats: FieldFormats) -> Any:
    if isinstance(value, TPayload):  # a pair is a struct
        members = [entry[1] for entry in value.thrift_spec.values()]
        return tuple(getattr(value, name, None) for name in members)
    return origin(response_from_struct(parts[0], item, formats) for item in value)


def _build_dataclass(kind: type, struct: Any, formats: FieldFormats) -> Any:
    entries = {entry[1]: entry for entry in struct.thrift_spec.values()}
    values: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        name, hint = field.name, _type_hints(kind)[field.name]
        if name in entries:
            value = getattr(struct, name)
            enum = entries[name][2]
            if value is not None and hasattr(enum, "_VALUES_TO_NAMES"):
                value = enum._VALUES_TO_NAMES[value].lower()  # noqa: SLF001 - thriftpy2's
        elif f"{name.removesuffix('_s')}_ms" in entries:
            value = getattr(struct, f"{name.removesuffix('_s')}_ms")
            value = None if value is None else value / 1000
        else:
            continue
        if value is not None and name in _json_members(kind):
            values[name] = {key: orjson.loads(text) for key, text in value.items()}
        elif value is not None:
            values[name] = response_from_struct(hint, value, formats)
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            values[name] = None
    return kind(**values)


def build_record(record: Any, formats: FieldFormats) -> PageRecord:
    """Convert a Thrift record to a `PageRecord`."""
    facts = {name: orjson.loads(value) for name, value in (record.facts or {}).items()}
    return PageRecord(
        record.url,
        record.canonical_url,
        record.fields,
        facts,
        record.version,
        content_hash=record.content_hash,
        content_bytes=record.content_bytes,
        due_at_ms=record.due_at_ms,
        from_standby=bool(record.from_standby),
        formats=formats,
        **{
            name: response_from_struct(
                _type_hints(PageRecord)[name], getattr(record, name), formats
            )
            for name in EXTRAS
        },
    )
