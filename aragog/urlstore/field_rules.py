"""
The rules for accepted field names and values. No I/O.

Two names that look the same must not be two fields, because somebody might trust the wrong one.
`lookalike_problem` rejects names with hidden or misleading characters. `skeleton` maps an accepted
name to its appearance (Unicode TR39, section 4), to compare it with existing names.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from aragog.errors import InvalidField
from aragog.settings import StoreSettings

_MAX_CACHED_NAMES = 10_000
"""Number of valid names to cache; applications use the same few names on every page."""


class FieldRules:
    """The limits on names and values, from the settings."""

    def __init__(self, settings: StoreSettings) -> None:
        self._max_name_bytes = settings.max_field_name_bytes
        self._max_bytes = settings.max_field_bytes
        self._valid_names: set[str] = set()

    def check(self, fields: Mapping[str, bytes]) -> None:
        """
        Check that every name and value may be stored.

        Raises:
            InvalidField: a name or value is not accepted.
        """
        sizes = [len(value) for value in fields.values() if type(value) is bytes]
        is_usual = self._valid_names.issuperset(fields) and len(sizes) == len(fields)
        if is_usual and max(sizes, default=0) <= self._max_bytes:
            return
        for name, value in fields.items():
            if name not in self._valid_names:
                self.check_name(name)
                if len(self._valid_names) < _MAX_CACHED_NAMES:
                    self._valid_names.add(name)
            if not isinstance(value, bytes):
                raise InvalidField(name, f"its value must be bytes, got {type(value).__name__}")
            if len(value) > self._max_bytes:
                raise InvalidField(
                    name,
                    f"its value has {len(value)} bytes, the limit is {self._max_bytes} "
                    "(store.max_field_bytes); put large values in the content store",
                )

    def check_name(self, name: str) -> None:
        """
        Check that a field may have this name.

        Raises:
            InvalidField: the name is not accepted.
        """
        if not name or name == "_":
            raise InvalidField(
                name, "a field's name must have at least one character, and must not be '_'"
            )
        if not name.isprintable():
            raise InvalidField(name, "its name contains a character that cannot be printed")
        if reason := lookalike_problem(name):
            raise InvalidField(name, reason)
        if len(name) * 4 > self._max_name_bytes:
            length = len(name.encode("utf-8", "replace"))
            if length > self._max_name_bytes:
                raise InvalidField(
                    name,
                    f"its name has {length} bytes, the limit is {self._max_name_bytes} "
                    "(store.max_field_name_bytes); shorten it",
                )


# ruff: noqa: RUF001 - the lookalike characters below are intended


_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | {
    *map(chr, range(0xFE00, 0xFE10)),
    *map(chr, range(0x180B, 0x1810)),
    *map(chr, range(0xE0100, 0xE01F0)),
}
"""Fillers and variation selectors. Python considers them printable, but they are invisible or look
like a space."""

_DISTINCT_FROM_LATIN = ("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO")
"""Scripts that are commonly mixed with Latin letters and do not look like them."""

_LOOKALIKES = {
    "a": "аΑαɑ", "b": "вВьЬΒƄᏏ", "c": "сСϲᏟⅽ", "d": "ԁᏧ", "e": "еЕΕεҽᎬ", "f": "ϝƒ", "g": "ɡցԌ",
    "h": "һнНΗհᎻ", "i": "іІΙιıɩᎥ", "j": "јЈյᎫ", "k": "кКΚκᏦ", "l": "ӏӀ|1IⅼᏞ", "m": "мМΜᎷ",
    "n": "пΝηոՈ", "o": "оОΟοօ0Օ", "p": "рРΡρᏢ", "q": "ԛզ", "r": "гᎡ", "s": "ѕЅᏚՏ", "t": "тТΤτᎢ",
    "u": "иυսՍ", "v": "ѵѴνᏙ", "w": "ԝԜωᎳ", "x": "хХΧχ", "y": "уУΥγүҮ", "z": "ΖᏃ", ".": "․·‧ꓸ٠۰",
    "-": "‐‑‒–—−", "_": "ˍ", ":": "ː∶׃", "/": "⁄∕",
}  # fmt: skip
_TO_ASCII = str.maketrans({char: base for base, chars in _LOOKALIKES.items() for char in chars})
"""Characters that look like ASCII characters in common fonts, each with that ASCII character."""


def lookalike_problem(name: str) -> str | None:
    """Return why a name could be mistaken for another name, with the remedy, or None."""
    if name != name.strip():
        return "its name starts or ends with a space; remove it"
    if not unicodedata.is_normalized("NFKC", name):
        return (
            f"its name is not in Unicode's NFKC form; use {unicodedata.normalize('NFKC', name)!r}"
        )
    if invisible := _INVISIBLE.intersection(name):
        codes = ", ".join(f"U+{ord(char):04X}" for char in sorted(invisible))
        return f"its name contains an invisible character ({codes}); remove it"
    if not name.isascii():
        for part in name.split("."):
            if len(scripts := _scripts(part)) > 1:
                return (
                    f"{part!r} in its name mixes letters from {' and '.join(sorted(scripts))}, "
                    "which look alike; use one alphabet between two dots"
                )
    return None


@lru_cache(maxsize=4096)
def skeleton(name: str) -> str:
    """
    Return the appearance of a name.

    Names with the same skeleton can be mistaken for each other.
    """
    looks = unicodedata.normalize("NFKC", name.strip()).translate(_TO_ASCII).casefold()
    return looks.translate(_TO_ASCII)


def _scripts(part: str) -> set[str]:
    """Return the text's scripts, except those that are commonly mixed with Latin letters."""
    names = {unicodedata.name(char, "?").split()[0] for char in part if char.isalpha()}
    return names.difference(_DISTINCT_FROM_LATIN)
