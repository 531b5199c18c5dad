"""How crawls sign in to your own sites."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from aragog.runtime.secret import Secret, mask, reveal
from aragog.settings.credentials import origin_of

_SECRET_REFERENCE = re.compile(r"(?:env:[A-Za-z_][A-Za-z0-9_]*|file:\S.*|text:.*)", re.ASCII)


@dataclass(frozen=True, slots=True)
class SignInSettings:
    """How to sign in to one origin with a form (docs/fetching.md#sign-in)."""

    form: str = ""
    """Path of the page with the form, such as `/login`."""
    fields: Mapping[str, Secret] = field(default_factory=dict)
    """Maps each form field to where its value is: `env:NAME`, `file:PATH`, or `text:VALUE` if it is
    not secret. The first form that has all of these fields is used. Its other fields keep the
    values that they have in the page."""
    crawls: tuple[str, ...] = ()
    """Names of the crawls that sign in. Empty: every fetch from the origin signs in."""
    least_s: float = 60.0
    """Minimum time between two attempts to sign in. It doubles after each failure."""

    def __post_init__(self) -> None:
        mask(self, fields={name: Secret(reference) for name, reference in self.fields.items()})


def sign_in_problems(table: Mapping[str, SignInSettings]) -> Iterator[str]:
    """Yield one line for each invalid value. The lines contain no secrets."""
    for number, (key, sign_in) in enumerate(table.items(), 1):
        if origin_of(key) is None:
            yield f"fetch.sign_in: key {number} is not an origin; use https://host"
            continue
        prefix = f"fetch.sign_in.{origin_of(key)}"
        if not sign_in.form.startswith("/") or sign_in.form.startswith("//"):
            yield f"{prefix}.form: must be a path such as /login, got {sign_in.form[:100]!r}"
        if not sign_in.fields:
            yield f"{prefix}.fields: must name the fields of the form that are filled in"
        for name, reference in sign_in.fields.items():
            if not _SECRET_REFERENCE.fullmatch(reveal(reference)):
                yield (
                    f"{prefix}.fields: {name[:60]!r} must be env:NAME, file:PATH or text:VALUE "
                    "(its value is not shown)"
                )
        if sign_in.least_s <= 0:
            yield f"{prefix}.least_s: must be above 0, got {sign_in.least_s:g}"
