"""
Option types that validate values before a command opens anything. After a typo, the command prints
a hint and exits with status 2.
"""

from __future__ import annotations

import difflib
import math
import re
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar

import click

from aragog.api.operations.options import OptionField, option_fields
from aragog.cli.data_folder import command_settings
from aragog.errors import BAD_INPUT, InvalidUrl
from aragog.pages.preferences import PURPOSES
from aragog.settings import duration_s
from aragog.settings.extractor_names import ITEMS, SITE
from urlspelling import normalize

F = TypeVar("F", bound=Callable[..., Any])

PURPOSE = click.option(
    "--for",
    "purpose",
    type=click.Choice(PURPOSES),
    help="Only pages whose sites allow this purpose.",
)
CHANGES_PURPOSE = click.option(
    "--for",
    "purpose",
    type=click.Choice(PURPOSES),
    help="Show fields only for pages whose sites allow this purpose.",
)
COUNT = click.IntRange(min=1)
NON_NEGATIVE = click.IntRange(min=0)


class FiniteRange(click.FloatRange):
    """A finite number in a range. Click's ranges also accept `inf` and `nan`."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{number} is not a finite number", param, ctx)
        return number


class Instant(click.ParamType):  # type: ignore[type-arg] # generic since click 8.3
    """
    A time, such as `in 2h`, `2026-12-31`, `2026-12-31T08:00Z` or ms since the epoch.

    Its value is converted to ms since the epoch.
    """

    name = "time"
    example = "'in 2h' (s, m, h, d)"

    def convert(
        self, value: str | int, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        text = str(value).strip()
        try:
            if text.isdecimal():
                return int(text)
            if text.startswith("in "):
                return int(1000 * (time.time() + duration_s(text.removeprefix("in ").strip())))
            parsed_time = datetime.fromisoformat(text)
            return int(
                1000
                * (
                    parsed_time if parsed_time.tzinfo else parsed_time.replace(tzinfo=UTC)
                ).timestamp()
            )
        except (ValueError, OverflowError):
            self.fail(
                f"{text!r} is not a time; write {self.example}, 2026-12-31T08:00Z (UTC if no "
                "zone is given) or ms since the epoch",
                param,
                ctx,
            )


class Since(Instant):
    """
    A time in the past: an age such as `1h` (s, m, h, d), or any form that `Instant` accepts.

    Its value is converted to ms since the epoch.
    """

    example = "1h (s, m, h, d)"

    def convert(
        self, value: str | int, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        text = str(value).strip()
        if re.fullmatch(r"[0-9.]+[smhd]", text):
            return int(1000 * (time.time() - duration_s(text)))
        return super().convert(value, param, ctx)


class Duration(click.ParamType):  # type: ignore[type-arg] # generic since click 8.3
    """A duration in seconds, with or without a unit: `90`, `90s`, `6h`, `1.5d`."""

    name = "duration"

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        text = str(value).strip()
        try:
            return float(text) if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) else duration_s(text)
        except ValueError:
            self.fail(f"{text!r} is not a duration; write 90s, 5m, 6h or 1d", param, ctx)


class Host(click.ParamType):  # type: ignore[type-arg] # generic since click 8.3
    """A host or domain, converted to its form in URLs."""

    name = "host"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from aragog.urlstore.tombstones import site_name  # noqa: PLC0415 - rarely needed

        try:
            return site_name(value)
        except BAD_INPUT as error:
            self.fail(str(error), param, ctx)


class Name(click.ParamType):  # type: ignore[type-arg] # generic since click 8.3
    """The name of a token: up to 64 letters, digits, `.`, `-` and `_`."""

    name = "name"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not re.fullmatch(r"[\w.-]{1,64}", value, re.ASCII):
            self.fail(
                f"{value[:80]!r} is not a valid name; use up to 64 letters, digits, '.', '-', '_'",
                param,
                ctx,
            )
        return value


class Utf8Text(click.ParamType):  # type: ignore[type-arg] # generic since click 8.3
    """A string in valid UTF-8 that is not blank."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not value.strip():
            self.fail(f"{value[:80]!r} is not a valid {self.name}: it is blank", param, ctx)
        if value != value.encode("utf-8", "replace").decode():
            self.fail(f"{value[:80]!r} is not a valid {self.name}; use text in UTF-8", param, ctx)
        return value


class Owner(Utf8Text):
    """The owner of a watch: 1 to 200 bytes."""

    name = "owner"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from aragog.urlstore.watchers import MAX_OWNER_BYTES  # noqa: PLC0415 - rarely needed

        value = super().convert(value, param, ctx)
        if len(value.strip().encode()) > MAX_OWNER_BYTES:
            self.fail(
                f"{value[:80]!r} is not a valid owner; use 1 to {MAX_OWNER_BYTES} bytes", param, ctx
            )
        return value


class WebAddress(click.ParamType):  # type: ignore[type-arg] # generic since click 8.3
    """An absolute http(s) URL, not normalized."""

    name = "url"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            normalize(value)
        except InvalidUrl as error:
            self.fail(f"{error}; use an absolute URL such as https://example.com/", param, ctx)
        return value


class FieldNames(click.ParamType):  # type: ignore[type-arg] # generic since click 8.3
    """
    Names of fields, separated by commas.

    Args:
        known: reject a name that looks like an extracted field, but is declared neither by an
            extractor nor in `store.field_formats`. For commands that read several pages.
    """

    name = "names"

    def __init__(self, *, known: bool = False) -> None:
        self._known = known

    def convert(
        self,
        value: str | tuple[str, ...],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[str, ...]:
        if not isinstance(value, str):
            return value
        names = tuple(name.strip() for name in value.split(",") if name.strip())
        if not names:
            self.fail("contains no field name", param, ctx)
        if self._known:
            check_known(names)
        return names


def check_known(names: Iterable[str]) -> None:
    """
    Reject the names that `FieldNames(known=True)` rejects.

    Raises:
        click.BadParameter: the message contains the first unknown field.
    """
    from aragog.urlstore.field_formats import is_extracted  # noqa: PLC0415 - rarely needed

    check_fields([name for name in names if is_extracted(name)], declared_fields())


def declared_fields() -> set[str]:
    """Return the fields that rules and `store.field_formats` declare."""
    settings = command_settings()
    tables = settings.extract.values()
    rules = {
        f"{SITE if isinstance(rule, str) else ITEMS}.{name}"
        for table in tables
        for name, rule in table.items()
    }
    return rules | set(settings.store.field_formats)


as_json = click.option("--json", "as_json", is_flag=True, help="As JSON.")
as_json_lines = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object per line."
)


def enqueue_options(*names: str) -> Callable[[F], F]:
    """Add all options of `EnqueueArguments`, or only those with these names."""
    from aragog.api.operations.enqueue_options import EnqueueArguments  # noqa: PLC0415 - rarely needed

    def decorate(command: F) -> F:
        chosen_fields = [f for f in option_fields(EnqueueArguments) if not names or f.name in names]
        for field in reversed(chosen_fields):
            command = _click_option(field)(command)
        return command

    return decorate


def _click_option(field: OptionField) -> Callable[[F], F]:
    option = field.option
    click_arguments: dict[str, Any] = {"default": field.default}
    if field.kind is bool:
        click_arguments = {"is_flag": True}
    elif field.origin is Sequence:
        click_arguments = {"multiple": True, "metavar": "PATTERN"}
    elif field.name == "run_after":
        click_arguments = {"type": Instant()}
    elif field.kind is int:
        bounds = click.IntRange(option.minimum, option.maximum)  # type: ignore[arg-type] # whole numbers
        click_arguments |= {"type": bounds, "show_default": True}
    flag = f"--{field.name.replace('_', '-')}"
    return click.option(flag, help=option.cli or option.text, **click_arguments)


def did_you_mean(name: str, names: Collection[str]) -> str:
    """Return `; did you mean …?` if a known name is similar, else an empty string."""
    matches = difflib.get_close_matches(name, names, n=1)
    return f"; did you mean {matches[0]}?" if matches else ""


def absent_fields(
    names: Iterable[str] | None, present: Collection[str], known: Collection[str] = ()
) -> str:
    """
    Return `; no page has …` if no page has some fields (they may be misspelled), else "".

    Args:
        names: the requested fields.
        present: the fields that at least one page has.
        known: full names, such as `site.price`, to suggest for `price`.
    """
    absent_names = [name for name in names or () if name not in present]
    full_names = [
        full_name
        for name in absent_names
        for full_name in (f"{SITE}.{name}", f"page.{name}")
        if full_name in known
    ]
    hint = f"; use {', '.join(full_names)}" if full_names else ""
    return f"; no page has {' or '.join(map(repr, absent_names))}{hint}" if absent_names else ""


@cache
def pin_fields() -> frozenset[str]:
    """Return the names of all fields that a crawl can store for a page."""
    # Imported here, because commands that only read pages need no parser.
    from aragog.pages.stored_fields import stored_types  # noqa: PLC0415

    return frozenset(stored_types())


def check_fields(names: Iterable[str], stored: Collection[str]) -> None:
    """
    Reject a field that is neither extracted nor in `stored`.

    Raises:
        click.BadParameter: the message contains the first such field and a similar known name.
    """
    for name in names:
        if name not in stored and name not in pin_fields():
            hint = did_you_mean(name, pin_fields() | set(stored))
            raise click.BadParameter(
                f"{name!r} is not a known field{hint}", param_hint="'--fields'"
            )
