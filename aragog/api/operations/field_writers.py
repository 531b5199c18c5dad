"""Check that only the owners of a field write it (`serving.field_writers`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from aragog.errors import AccessDenied
from aragog.urlstore.field_formats import patterns
from aragog.urlstore.field_rules import skeleton
from aragog.urlstore.store import UrlStore


class FieldWriters:
    """
    Checks which tokens may write a field. Any token may write a field without an entry.

    Args:
        declared: maps a field, or `prefix.*`, to token names joined by `+`.
    """

    def __init__(self, declared: Mapping[str, str]) -> None:
        self._declared = {name: frozenset(text.split("+")) for name, text in declared.items()}
        self._name_by_skeleton = {skeleton(name): name for name in declared}

    def check(self, token: str | None, fields: Iterable[str]) -> None:
        """
        Check that a token may write and delete these fields.

        Raises:
            AccessDenied: the token may not, or a field's name resembles that of an owned field.
        """
        if not self._declared:
            return
        for field in fields:
            if similar := self._similar_name(field):
                raise AccessDenied(
                    f"{field[:200]} is too similar to {similar}, which has an owner "
                    "(serving.field_writers); choose another name",
                )
            writers = self._find_owners(field)
            if writers is not None and token not in writers:
                raise AccessDenied(
                    f"{field[:200]} may be written only by {_describe_tokens(writers)} "
                    "(serving.field_writers)",
                )

    def check_all(self, token: str | None, store: UrlStore, url: str) -> None:
        """
        Check that a token may delete every field of a record.

        This costs one read if any field has owners.

        Raises:
            AccessDenied: the token may not.
            TransientError: the store does not respond.
        """
        if self._declared:
            self.check(token, store.fields.sizes(url))

    def _similar_name(self, field: str) -> str | None:
        """Return the declared name or prefix that the field resembles but does not equal."""
        for pattern in patterns(field):
            if pattern in self._declared:
                return None
            if name := self._name_by_skeleton.get(skeleton(pattern)):
                return name
        return None

    def _find_owners(self, field: str) -> frozenset[str] | None:
        declared = (self._declared.get(pattern) for pattern in patterns(field))
        return next((writers for writers in declared if writers is not None), None)


def _describe_tokens(tokens: Iterable[str]) -> str:
    """Return `the token ops`, or `the tokens ops, other and team`."""
    *others, last = sorted(tokens)
    return f"the tokens {', '.join(others)} and {last}" if others else f"the token {last}"
