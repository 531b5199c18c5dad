"""
Options of calls. Each is a field in a frozen dataclass. `Option` in its annotation adds what a type
cannot express:

    depth: Annotated[int, Option("Link hops to follow.", minimum=0, maximum=100)] = 0

HTTP, Thrift, the OpenAPI document, the Python client and the command line use these descriptions.
"""

from __future__ import annotations

import dataclasses
import math
import operator
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from typing import Annotated, Any, Concatenate, ParamSpec, TypeVar

from aragog.errors import BAD_INPUT, BadInput

A = TypeVar("A")
P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")

_MAX_SHOWN_CHARS = 100


@dataclasses.dataclass(frozen=True, slots=True)
class Option:
    """
    One option of a call.

    Args:
        text: what the option does, in a sentence or two, for documents and docstrings.
        minimum, maximum: the bounds of a number.
        capped: a number above `maximum` is replaced by `maximum`.
        max_items: the maximum length of a list or mapping.
        max_bytes: the maximum size of a string, or of each string in a list, in UTF-8.
        pattern: a regular expression that must match the whole string.
        rule: the bounds or the pattern in words, for the error message.
        choices: the allowed values of a string, or of each string in a list.
        http, thrift: the option's name in that protocol, or None for the field's name. If `http` is
            empty, the option is not a member of requests, because a header, the path or the method
            sets it.
        http_default: the default over HTTP, if it differs.
        shares: another option with the same query parameter. Items of the form `name:value` belong
            to this option, all others to the other option.
        omitted: True if JSON leaves the member out when the value is None.
        nulls: another option with a list of names, which JSON sends as members of this option with
            the value null.
        cli: the help text on the command line, or None for `text`.
        is_url: True if clients normalize the URL, or each URL of the list, before sending it.
        as_given: True if clients send the URL unchanged after validating it.
        is_json: True for a mapping to any JSON values. In Thrift, each value is a JSON string.
        by_format: True if the option has field values. In JSON, these follow their declared
            formats.
    """

    text: str
    minimum: float | None = None
    maximum: float | None = None
    capped: bool = False
    max_items: int | None = None
    max_bytes: int | None = None
    pattern: str | None = None
    rule: str = ""
    choices: tuple[str, ...] = ()
    http: str | None = None
    http_default: Any = None
    shares: str | None = None
    omitted: bool = False
    nulls: str | None = None
    thrift: str | None = None
    cli: str | None = None
    is_url: bool = False
    as_given: bool = False
    by_format: bool = False
    is_json: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class OptionField:
    """An option and its dataclass field."""

    name: str
    kind: Any
    """The type of the option's values, without None."""
    optional: bool
    """True if None is allowed."""
    option: Option
    default: Any
    """The default, or `dataclasses.MISSING` if the option is required."""

    @property
    def required(self) -> bool:
        return self.default is dataclasses.MISSING

    @property
    def origin(self) -> Any:
        """The type without arguments, such as `tuple` for `tuple[str, ...]`."""
        return typing.get_origin(self.kind) or self.kind

    @property
    def http(self) -> str:
        return self.name if self.option.http is None else self.option.http

    @property
    def thrift(self) -> str:
        return self.option.thrift or self.name


@cache
def option_fields(request: Any) -> tuple[OptionField, ...]:
    """Return a dataclass's options, with the positional ones first."""
    hints = typing.get_type_hints(request, include_extras=True)
    fields = dataclasses.fields(request)
    return tuple(
        _to_option_field(field, hints[field.name])
        for field in sorted(fields, key=lambda f: bool(f.kw_only))
    )


def _request_fields(request: Any) -> tuple[OptionField, ...]:
    return option_fields(type(request))  # type: ignore[arg-type] # classes are hashable


def _to_option_field(field: dataclasses.Field[Any], hint: Any) -> OptionField:
    option = Option("")
    if typing.get_origin(hint) is Annotated:
        hint, *extras = typing.get_args(hint)
        option = next((extra for extra in extras if isinstance(extra, Option)), option)
    optional = False
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        value_types = [kind for kind in typing.get_args(hint) if kind is not type(None)]
        optional, hint = True, value_types[0]
    default = field.default
    if field.default_factory is not dataclasses.MISSING:
        default = field.default_factory()
    return OptionField(field.name, hint, optional, option, default)


def validate_options(request: A) -> A:
    """
    Validate a request's options. Returns the request, in which `capped` numbers that were too
    large are replaced by their maximum.

    Raises:
        BadInput: an option is invalid. The message states its name, bounds and value.
    """
    changes: dict[str, Any] = {}
    for field in _request_fields(request):
        value = getattr(request, field.name)
        if value is None:
            if not field.optional:
                raise BadInput(f"{field.name}: is required")
            continue
        accepted = _validate_value(field, value)
        if accepted is not value:
            changes[field.name] = accepted
    return dataclasses.replace(request, **changes) if changes else request  # type: ignore[type-var]


def _validate_value(field: OptionField, value: Any) -> Any:
    option, origin = field.option, field.origin
    if origin in (int, float):
        return _check_number(field, value)
    if origin is bool:
        if not isinstance(value, bool):
            raise BadInput(f"{field.name}: must be true or false")
    elif origin is str:
        _check_string(field, value)
    elif origin is bytes:
        _check_bytes(field, value)
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, Mapping) or "" in value:
            raise BadInput(f"{field.name}: must be an object of names and values")
        _check_size(field, value)
        _check_numbers(field, value)
    elif origin is tuple or (isinstance(origin, type) and issubclass(origin, Sequence)):
        if isinstance(value, str | bytes) or not isinstance(value, Sequence):
            raise BadInput(f"{field.name}: must be a list of at most {option.max_items} items")
        _check_size(field, value)
        return _check_items(field, value)
    return value


def _check_items(field: OptionField, value: Any) -> Any:
    [kind, *_] = typing.get_args(field.kind)
    if kind is str:
        for item in value:
            _check_string(field, item)
    elif dataclasses.is_dataclass(kind):
        accepted = [_validate_item(field, number, item) for number, item in enumerate(value)]
        return value if all(map(operator.is_, accepted, value)) else accepted
    return value


def _validate_item(field: OptionField, number: int, item: Any) -> Any:
    try:
        return validate_options(item)
    except BAD_INPUT as error:
        raise BadInput(f"{field.name}[{number}]: {error}") from error


def _check_numbers(field: OptionField, value: Mapping[str, Any]) -> None:
    if (kind := typing.get_args(field.kind)[1]) in (int, float):
        for name, number in value.items():
            label = f"{field.name} of {str(name)[:_MAX_SHOWN_CHARS]}"
            _check_number(dataclasses.replace(field, name=label, kind=kind), number)


def _check_bytes(field: OptionField, value: Any) -> None:
    max_bytes = field.option.max_bytes
    if not isinstance(value, bytes):
        raise BadInput(f"{field.name}: must be bytes, got {_short_repr(value)}")
    if max_bytes is not None and len(value) > max_bytes:
        raise BadInput(f"{field.name}: must have at most {max_bytes} bytes, got {len(value)}")


def _check_number(field: OptionField, value: Any) -> Any:
    option, is_whole = field.option, field.origin is int
    number_types: tuple[type, ...] = (int,) if is_whole else (int, float)
    is_valid_type = isinstance(value, number_types) and not isinstance(value, bool)
    minimum = -math.inf if option.minimum is None else option.minimum
    maximum = math.inf if option.maximum is None else option.maximum
    if is_valid_type and option.capped and value > maximum:
        return int(maximum) if is_whole else maximum
    if not is_valid_type or math.isnan(value) or not minimum <= value <= maximum:
        if option.rule:
            raise BadInput(f"{field.name}: {option.rule}, got {_short_repr(value)}")
        bounds = (
            ""
            if option.maximum is None
            else f" from {_bound_text(minimum)} to {_bound_text(maximum)}"
        )
        if option.maximum is None and option.minimum is not None:
            bounds = f", {_bound_text(minimum)} or more"
        kind = "a whole number" if is_whole else "a number"
        raise BadInput(f"{field.name}: must be {kind}{bounds}, got {_short_repr(value)}")
    return value


def _check_string(field: OptionField, value: Any) -> None:
    option = field.option
    if not isinstance(value, str):
        raise BadInput(f"{field.name}: must be a string, got {_short_repr(value)}")
    if option.choices and value not in option.choices:
        raise BadInput(f"{field.name}: must be one of {', '.join(option.choices)}")
    if option.pattern and not re.fullmatch(option.pattern, value, re.ASCII):
        raise BadInput(f"{field.name}: {option.rule}")
    if option.max_bytes is not None and len(value) * 4 > option.max_bytes:
        size = len(value.encode("utf-8", "replace"))
        if size > option.max_bytes:
            raise BadInput(f"{field.name}: must have at most {option.max_bytes} bytes, got {size}")


def _check_size(field: OptionField, value: Any) -> None:
    max_items = field.option.max_items
    if max_items is not None and len(value) > max_items:
        raise BadInput(f"{field.name}: must have at most {max_items} items, got {len(value)}")


def _bound_text(bound: float) -> str:
    return str(int(bound)) if bound == int(bound) else str(bound)


def _short_repr(value: Any) -> str:
    return repr(value)[:_MAX_SHOWN_CHARS]


def arguments_text(request: type) -> str:
    """Return the options as the `Args:` section of a docstring."""
    return "Args:\n" + "\n".join(
        f"    {field.name}: {field.option.text}" for field in option_fields(request)
    )


def takes(
    arguments: Callable[P, A],
) -> Callable[[Callable[[S, T, A], R]], Callable[Concatenate[S, T, P], R]]:
    """
    Give a method the options of a dataclass as keyword arguments.

    The method receives them as one object, after its first argument. Type checkers see the
    individual options.
    """

    def decorate(method: Callable[[S, T, A], R]) -> Callable[Concatenate[S, T, P], R]:
        @wraps(method)
        def method_with_options(self: S, first: T, /, *args: P.args, **kwargs: P.kwargs) -> R:
            return method(self, first, arguments(*args, **kwargs))

        kind = typing.cast("type", arguments)
        indent = "\n        "
        text = indent.join(arguments_text(kind).split("\n"))
        method_with_options.__doc__ = (method.__doc__ or "").replace("{arguments}", text)
        return method_with_options

    return decorate


def non_default_options(request: Any) -> dict[str, Any]:
    """Return a request's options that are required or differ from their defaults, by name."""
    values = ((field, getattr(request, field.name)) for field in _request_fields(request))
    return {
        field.name: value for field, value in values if field.required or value != field.default
    }
