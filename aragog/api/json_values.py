"""
Convert operation requests and responses to and from JSON.

JSON members have the fields' names, unless their `Option` has another name for HTTP. Bytes become
`{"base64": "..."}`. Field values follow their declared formats.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import types
import typing
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Annotated, Any

from aragog.api.operations.options import OptionField, option_fields
from aragog.api.operations.values import (
    BUILT_IN,
    EXTRAS,
    FetchedPage,
    PageLink,
    PageRecord,
    PastValue,
)
from aragog.api.record_json import record_json
from aragog.crawl.pipeline.change_json import change_to_json
from aragog.errors import BadInput
from aragog.urlstore.feed import Change
from aragog.urlstore.field_formats import FieldFormats

STORED_MEMBERS = ("content_bytes", "content_hash", "due_at_ms")


def to_json(value: Any, formats: FieldFormats) -> Any:
    """Convert a value to something that `orjson.dumps` accepts."""
    match value:
        case PageRecord():
            return record_json(value, formats) | {
                name: to_json(getattr(value, name), formats) for name in value.extras
            }
        case PageLink():
            return {"url": value.url, "text": value.text, "rel": value.rel.split()}
        case Change():
            return change_to_json(value, formats.to_json)
        case PastValue():
            return {"value": formats.to_json(value.field, value.value), "at_ms": value.at_ms}
        case bytes():
            return {"base64": base64.b64encode(value).decode()}
        case Enum():
            return value.value
        case Mapping():
            return {name: to_json(item, formats) for name, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        members = {}
        for field in option_fields(type(value)):
            field_value = getattr(value, field.name)
            if field_value is not None or not field.option.omitted:
                members[field.http] = _member(field, field_value, formats)
        return members
    if isinstance(value, list | tuple):
        return [to_json(item, formats) for item in value]
    return value


def _member(field: OptionField, value: Any, formats: FieldFormats) -> Any:
    if field.option.by_format:
        return {name: formats.to_json(name, data) for name, data in value.items()}
    return to_json(value, formats)


def fresh_json(page: FetchedPage, formats: FieldFormats) -> dict[str, Any]:
    """Return a page and its age as JSON, or only the age if there is no record."""
    age: dict[str, Any] = {
        "state": page.state,
        "age_s": page.age_s,
        "stale_fields": list(page.stale_fields),
        "fetching": page.fetching,
        "reason": page.reason,
    }
    return age if page.record is None else to_json(page.record, formats) | {"freshness": age}


def parse_fresh_json(json: Mapping[str, Any], url: str, formats: FieldFormats) -> FetchedPage:
    """Parse the JSON that `fresh_json` returns. `url` is the requested URL, normalized."""
    age = json.get("freshness", json)
    names = ("state", "age_s", "fetching", "reason")
    return FetchedPage(
        url=url,
        record=build_record(json, formats) if "freshness" in json else None,
        stale_fields=tuple(age["stale_fields"]),
        **{name: decimals_to_floats(age[name]) for name in names},
    )


def build_request(
    kind: type,
    members: Mapping[str, Any],
    formats: FieldFormats = BUILT_IN,
    *,
    by_name: bool = False,
) -> Any:
    """
    Build a request from JSON members, which have the options' HTTP names or, with `by_name`, the
    names of the fields.

    Raises:
        BadInput: a required member is missing, or one has the wrong type.
    """
    values = {}
    for field in option_fields(kind):
        name = field.name if by_name else field.http
        raw = members.get(name) if name else None
        if raw is None:
            if field.required:
                raise BadInput(f"{name}: is required")
            if field.option.http_default is not None:
                values[field.name] = field.option.http_default
            continue
        if field.option.by_format and isinstance(raw, Mapping):
            present = {name: value for name, value in raw.items() if value is not None}
            values[field.name] = _parse_field_values(present, formats)
            if field.option.nulls is not None:
                values[field.option.nulls] = tuple(raw.keys() - present.keys())
        else:
            values[field.name] = _parse_member(field.kind, raw, name, formats)
    return kind(**values)


def check_known_names(names: Iterable[str], known: Collection[str], problem: str) -> None:
    """
    Check that all names are known. An unknown one is usually a typo.

    Raises:
        BadInput: a name is unknown. The message lists the known ones.
    """
    if unknown := sorted(set(names).difference(known)):
        raise BadInput(
            f"{unknown[0][:100]}: {problem}; known: {', '.join(sorted(known)) or 'none'}"
        )


def _parse_member(kind: Any, raw: Any, name: str, formats: FieldFormats) -> Any:
    origin, parts = typing.get_origin(kind) or kind, typing.get_args(kind)
    if origin is bytes:
        return _parse_bytes(raw, name)
    if origin is float and isinstance(raw, int) and not isinstance(raw, bool):
        return float(raw)
    if dataclasses.is_dataclass(origin):
        if not isinstance(raw, dict):
            raise BadInput(f"{name}: must be an object")
        known = [field.http for field in option_fields(typing.cast("type", origin)) if field.http]
        check_known_names(raw, known, f"objects in {name} have no such member")
        members = dict(raw)
        if origin is PageLink and isinstance(raw.get("rel"), list):
            if not all(isinstance(word, str) for word in raw["rel"]):
                raise BadInput(f"{name}: rel must be a list of strings")
            members["rel"] = " ".join(raw["rel"])
        return build_request(typing.cast("type", origin), members, formats)
    if isinstance(raw, list) and isinstance(origin, type) and issubclass(origin, Sequence):
        if not parts:
            return tuple(raw)
        return tuple(_parse_member(parts[0], item, name, formats) for item in raw)
    if isinstance(raw, dict) and isinstance(origin, type) and issubclass(origin, Mapping):
        return {key: _parse_member(parts[1], item, name, formats) for key, item in raw.items()}
    return raw


def from_query(kind: type, values: Mapping[str, str]) -> Any:
    """
    Build a request from query parameters, which are strings.

    Raises:
        BadInput: a parameter is missing or invalid.
    """
    strings = _split_shared(kind, values)
    members = {
        field.http: _parse_parameter(field, strings[field.http])
        for field in option_fields(kind)
        if strings.get(field.http) or (field.http in strings and _accepts_empty(field))
    }
    return build_request(kind, members)


def _accepts_empty(field: OptionField) -> bool:
    """Return True if an empty string counts as a value: an empty list, or a choice to reject."""
    return field.origin is Sequence or bool(field.option.choices)


def _split_shared(kind: type, values: Mapping[str, str]) -> dict[str, str]:
    """Split a parameter that sets two options, such as `3600,product.price:60`."""
    strings = dict(values)
    for field in option_fields(kind):
        if (shared := field.option.shares) in strings:
            items = strings[shared].split(",")
            strings[shared] = ",".join(item for item in items if ":" not in item)
            strings[field.http] = ",".join(item for item in items if ":" in item)
    return strings


def _parse_parameter(field: OptionField, text: str) -> Any:
    if field.kind is int:
        digits, max_digits = text.removeprefix("-"), 9 if field.option.capped else 19
        if not (digits.isascii() and digits.isdecimal() and len(digits) <= max_digits):
            raise BadInput(f"{field.http}: must be a whole number, got {text[:100]!r}")
        return int(text)
    if field.kind is float:
        return _parse_number(field.http, text)
    if field.kind is bool:
        if text not in ("true", "false"):
            raise BadInput(f"{field.http}: must be true or false")
        return text == "true"
    if field.origin is Mapping:
        pairs = (item.rpartition(":") for item in text.split(","))
        return {
            name: _parse_number(f"{field.http} of {name[:100]}", value) for name, _, value in pairs
        }
    if field.kind is not str:
        return [item for item in text.split(",") if item]
    return text


def _parse_number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadInput(f"{name}: must be a number, got {text[:100]!r}") from None


def to_query(request: Any, always: Collection[str] = ()) -> dict[str, str]:
    """
    Return a request's members (`request_members`) as query parameters; the inverse of `from_query`.

    Raises:
        BadInput: a name contains a comma.
    """
    members = request_members(request, always)
    for field in option_fields(type(request)):  # type: ignore[arg-type] # classes are hashable
        if (shared := field.option.shares) and field.http in members:
            items = [f"{name}:{value}" for name, value in members.pop(field.http).items()]
            members[shared] = [*map(str, [members[shared]] if shared in members else []), *items]
    return {name: _to_query_text(value) for name, value in members.items()}


def _to_query_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Sequence) and not isinstance(value, str):
        if any("," in item for item in value):
            raise BadInput("a name with a comma cannot be sent over HTTP; use Thrift")
        return ",".join(value)
    return str(value)


def request_members(request: Any, always: Collection[str] = ()) -> dict[str, Any]:
    """
    Return the request members that a client must send, because they differ from their HTTP defaults
    or are in `always` and not None.
    """
    members: dict[str, Any] = {}
    for field in option_fields(type(request)):  # type: ignore[arg-type] # classes are hashable
        value, option = getattr(request, field.name), field.option
        default = field.default if option.http_default is None else option.http_default
        if not field.http or value is None:
            continue
        if field.required or field.http in always or value != default:
            members[field.http] = _value_to_send(value)
            if option.nulls is not None:
                members[field.http] |= dict.fromkeys(getattr(request, option.nulls))
    return members


def _value_to_send(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return request_members(value)
    if isinstance(value, Mapping):
        return {name: _value_to_send(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_value_to_send(item) for item in value]
    return value


def response_from_json(kind: Any, raw: Any, formats: FieldFormats, field: str = "") -> Any:
    """
    Build a response from JSON that `field_formats.parse` parsed; the inverse of `to_json`.

    Args:
        kind: the type of the response.
        raw: the JSON.
        formats: the server's field formats.
        field: for a history, the name of the field.
    """
    if typing.get_origin(kind) is Annotated:
        kind = typing.get_args(kind)[0]
    origin, parts = typing.get_origin(kind) or kind, typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        if raw is None:
            return None
        return response_from_json(
            next(part_type for part_type in parts if part_type is not type(None)),
            raw,
            formats,
            field,
        )
    if origin is PageRecord:
        return build_record(raw, formats)
    if origin is Change:
        return _build_change(raw, formats)
    if origin is PastValue:
        return PastValue(formats.from_json(field, raw["value"]), raw["at_ms"], field)
    if origin is bytes:
        return _parse_bytes(raw, "bytes")
    if origin is float:
        return decimals_to_floats(raw)
    if isinstance(origin, type) and issubclass(origin, Enum):
        return origin(raw)
    if dataclasses.is_dataclass(origin):
        return _build_dataclass(typing.cast("type", origin), raw, formats)
    if origin in (list, tuple):
        item_types = parts[:1] * len(raw) if origin is list or parts[1:] == (...,) else parts
        return origin(
            response_from_json(item_type, item, formats, field)
            for item_type, item in zip(item_types, raw, strict=True)
        )
    return decimals_to_floats(raw)


@cache
def _type_hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _build_dataclass(kind: type, raw: Mapping[str, Any], formats: FieldFormats) -> Any:
    values = {
        field.name: _parse_field_values(raw[field.http], formats)
        if field.option.by_format
        else response_from_json(_type_hints(kind)[field.name], raw[field.http], formats)
        for field in option_fields(kind)
        if field.http in raw and not (kind is PageLink and field.name == "rel")
    }
    if kind is PageLink:
        values["rel"] = " ".join(raw.get("rel", ()))
    return kind(**values)


def _parse_field_values(raw: Mapping[str, Any], formats: FieldFormats) -> dict[str, bytes]:
    return {name: formats.from_json(name, value) for name, value in raw.items()}


def build_record(
    raw: Mapping[str, Any], formats: FieldFormats, *, facts: bool = True
) -> PageRecord:
    """Build a record from its JSON."""
    stored: dict[str, Any] = {name: raw.get(name) for name in STORED_MEMBERS} if facts else {}
    hints = _type_hints(PageRecord)
    extra_values = {
        name: response_from_json(hints[name], raw[name], formats) for name in EXTRAS if name in raw
    }
    return PageRecord(
        raw["url"],
        raw["canonical_url"],
        {name: formats.from_json(name, value) for name, value in raw["fields"].items()},
        decimals_to_floats(raw["facts"]) if facts else {},
        raw["version"],
        **stored,
        from_standby=raw.get("from_standby", False),
        formats=formats,
        **extra_values,
        extras=tuple(extra_values),
    )


def _build_change(raw: Mapping[str, Any], formats: FieldFormats) -> Change:
    def text(name: str, value: Any) -> str | None:
        return None if value is None else formats.from_json(name, value).decode()

    fields = {
        name: (text(name, pair["before"]), text(name, pair["now"]))
        for name, pair in raw["fields"].items()
    }
    hashes = raw.get("content_hash")
    return Change(
        raw["url"], raw["at_ms"], raw["kind"], fields, tuple(raw["owners"]), raw["cursor"],
        hashes and (hashes["before"], hashes["now"]), raw.get("redirected_to"),
    )  # fmt: skip


def decimals_to_floats(raw: Any) -> Any:
    """Convert the Decimals in parsed JSON to floats."""
    if isinstance(raw, dict):
        return {name: decimals_to_floats(value) for name, value in raw.items()}
    if isinstance(raw, list):
        return [decimals_to_floats(value) for value in raw]
    text = getattr(raw, "text", None)
    return raw if text is None else float(text)


def _parse_bytes(raw: Any, name: str) -> bytes:
    try:
        if isinstance(raw, str):
            return raw.encode()
        return base64.b64decode(raw["base64"], validate=True)
    except (binascii.Error, ValueError, TypeError, KeyError) as error:
        raise BadInput(f'{name}: must be a string, or {{"base64": "..."}}') from error
