"""Define item kinds as dataclasses whose annotations contain the rules."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeVar

C = TypeVar("C", bound=type)

_OPTIONS = "__item_kind__"
_TYPES: dict[Any, str] = {
    str: "text",
    Decimal: "decimal",
    int: "integer",
    float: "number",
    bool: "bool",
    date: "date",
    datetime: "moment",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Select:
    """
    Annotates a field with the rule that finds its value.

    Args:
        rule: as in a table (`css:.price`); empty if the value comes from the parent.
        clean: the cleaning steps.
        type: the type, such as `url`, if the annotation does not determine it.
        of: `item`, or `page` to search the whole page.
        from_parent: kind and field of the item that linked to this page.
    """

    rule: str = ""
    clean: tuple[str, ...] = ()
    type: str = ""
    of: str = "item"
    from_parent: str = ""


def item(**options: Any) -> Callable[[C], C]:
    """
    Turn a dataclass into an item kind.

        @item(each="css:.card", pages="*/c/*", key="sku")
        @dataclass
        class Card:
            sku: Annotated[str, Select("css:.sku")]
            price: Annotated[Decimal | None, Select("css:.price", clean=("strip", "number"))] = None

    Fields without a default are required. `options` are other keys of a table: pages, each, key,
    follow, link, files.
    """

    def decorate(cls: C) -> C:
        setattr(cls, _OPTIONS, options)
        return cls

    return decorate


def table_from_class(cls: type) -> dict[str, Any]:
    """
    Return the table that a class defines.

    Raises:
        TypeError: `cls` is not a dataclass, or an annotation has no rule or an unsupported type.
    """
    if not dataclasses.is_dataclass(cls):
        raise TypeError(f"{cls.__name__} is not a dataclass")
    hints = typing.get_type_hints(cls, include_extras=True)
    fields, required = {}, []
    for field in dataclasses.fields(cls):
        table = _field(f"{cls.__name__}.{field.name}", hints[field.name])
        has_default = field.default is not dataclasses.MISSING
        if has_default and field.default is not None:
            table["default"] = field.default
        if not has_default and "from_parent" not in table:
            required.append(field.name)
        fields[field.name] = table
    return {"fields": fields, "required": required, **getattr(cls, _OPTIONS, {})}


def _field(name: str, hint: Any) -> dict[str, Any]:
    if typing.get_origin(hint) is not typing.Annotated:
        raise TypeError(f"{name}: its annotation needs a Select")
    kind, *extras = typing.get_args(hint)
    rule = next((extra for extra in extras if isinstance(extra, Select)), None)
    if rule is None:
        raise TypeError(f"{name}: its annotation needs a Select")
    table: dict[str, Any] = {"type": rule.type or _type_name(name, kind), "of": rule.of}
    if rule.clean:
        table["clean"] = list(rule.clean)
    if rule.from_parent:
        return {**table, "from_parent": rule.from_parent}
    return {**table, "select": rule.rule}


def _type_name(name: str, kind: Any) -> str:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        members = [part for part in arguments if part is not types.NoneType]
        if len(members) == 1:
            return _type_name(name, members[0])
    if origin in (list, tuple):
        return _type_name(name, arguments[0])
    if kind in _TYPES:
        return _TYPES[kind]
    raise TypeError(f"{name}: {kind!r} is not supported as a field type")
