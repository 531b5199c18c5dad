"""Option types that are checked before anything opens: a typo exits with code 2 and a hint."""

from __future__ import annotations

import dataclasses
import difflib
import typing
from collections.abc import Collection, Iterable
from functools import cache

import click

from aragog.errors import InvalidUrl
from aragog.urls import normalize

COUNT = click.IntRange(min=1)
NOT_NEGATIVE = click.IntRange(min=0)
PRIORITY = click.IntRange(0, 9)


class WebAddress(click.ParamType):  # type: ignore[type-arg] # generic since click 8.3
    """An absolute http(s) URL, kept as it was written."""

    name = "url"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            normalize(value)
        except InvalidUrl as error:
            self.fail(f"{error}; write http:// or https:// and a host", param, ctx)
        return value


def did_you_mean(name: str, known: Collection[str]) -> str:
    """`; did you mean …?` where something close is known, else nothing."""
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else ""


@cache
def pin_fields() -> frozenset[str]:
    """The names of all fields that extraction can give."""
    # A command that reads a page needs no parser.
    from aragog.pages.richpins.model import PinType, RichPin  # noqa: PLC0415

    kinds = typing.get_args(PinType)
    hints = typing.get_type_hints(RichPin)
    names = {"page.extractor_version"}
    names |= {f"page.{f.name}" for f in dataclasses.fields(RichPin) if f.name not in kinds}
    for kind in kinds:
        for part in typing.get_args(hints.get(kind, None)):
            if dataclasses.is_dataclass(part):
                names |= {f"{kind}.{f.name}" for f in dataclasses.fields(part)}
    return frozenset(names)


def check_fields(wanted: Iterable[str], stored: Collection[str]) -> None:
    """
    Refuse a field that extraction never gives and the page does not have.

    Raises:
        click.BadParameter: names the first such field, and what was probably meant.
    """
    for name in wanted:
        if name not in stored and name not in pin_fields():
            hint = did_you_mean(name, pin_fields() | set(stored))
            raise click.BadParameter(f"{name!r} is no field{hint}", param_hint="'--fields'")
