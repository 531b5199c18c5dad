"""
Turn `Surname, Given` into `Given Surname`, as library catalogs and journals name authors.

Only the comma between the parts of one name is read so. The comma between two full names
(`Ann Fox, Bo Reed`) and the one before a suffix (`Ann Fox, PhD`) are left.
"""

from __future__ import annotations

import re

_INVERTED = re.compile(
    r"(?P<surname>[^\W\d_][\w.’'-]*(?:\s[^\W\d_][\w.’'-]*){0,3}),\s+"
    r"(?P<given>(?!(?i:jr|sr|ph\.?\s?d|md|m\.d|esq|ltd|inc|gmbh|llc|ed|eds|dr|prof)\b)"
    r"[^\W\d_a-z][\w.’'-]*(?:\s(?:[^\W\d_][\w.’'-]*)){0,3})"
)
_PARTICLE = re.compile(r"(?:[a-z][a-z’']{0,4}\s)")
_WITHOUT_CASE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
"""Chinese, Japanese and Korean names have the surname first in any case."""
_INITIALS = re.compile(r"(?:[^\W\d_a-z]\.?[\s-]?){1,4}")


def given_name_first(text: str) -> str:
    """Return one or several names, divided by semicolons, with each given name first."""
    return "; ".join(_given_name_first(part.strip()) for part in text.split(";") if part.strip())


def _given_name_first(name: str) -> str:
    match = _INVERTED.fullmatch(name)
    if match is None or _WITHOUT_CASE.match(name):
        return name
    surname, given = match["surname"], match["given"]
    is_one_name = (
        " " not in surname
        or " " not in given
        or _PARTICLE.match(surname) is not None
        or _INITIALS.fullmatch(given) is not None
    )
    return f"{given} {surname}" if is_one_name else name
