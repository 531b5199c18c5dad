"""The rules for field names and values that the store accepts. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from aragog.errors import InvalidField
from aragog.settings import StoreSettings
from aragog.urlstore.pages import field_names

_MANY_NAMES = 10_000
"""Names remembered as good: a team's fields are few, and the same on every page."""


class FieldRules:
    """The limits of names and values, from the settings."""

    def __init__(self, settings: StoreSettings) -> None:
        self._max_name_bytes = settings.max_field_name_bytes
        self._max_bytes = settings.max_field_bytes
        self._good_names: set[str] = set()

    def check(self, fields: Mapping[str, bytes]) -> None:
        """
        Return if every name and value may be stored.

        Raises:
            InvalidField: naming the limit, the setting it is from, and the remedy.
        """
        for name, value in fields.items():
            if name not in self._good_names:
                self.check_name(name)
                if len(self._good_names) < _MANY_NAMES:
                    self._good_names.add(name)
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
        Return if a field may be called `name`.

        Raises:
            InvalidField: empty, too long, reserved, with control characters, or written so that it
                could be mistaken for another name.
        """
        if not name or name == "_":
            raise InvalidField(name, "a field's name is one character at least, and not '_'")
        if not name.isprintable():
            raise InvalidField(name, "its name holds a character that cannot be printed")
        if reason := field_names.problem(name):
            raise InvalidField(name, reason)
        if len(name) * 4 > self._max_name_bytes:
            length = len(name.encode("utf-8", "replace"))
            if length > self._max_name_bytes:
                raise InvalidField(
                    name,
                    f"its name has {length} bytes, the limit is {self._max_name_bytes} "
                    "(store.max_field_name_bytes); shorten it",
                )
