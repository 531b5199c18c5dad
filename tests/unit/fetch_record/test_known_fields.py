"""Separates the fields known to this version from those of a newer one."""

from dataclasses import dataclass

from aragog.fetch_record.known_fields import known_fields, unknown_fields


@dataclass
class Pair:
    left: int
    right: int = 2


def test_field_of_a_newer_version_is_separated():
    values = {"left": 1, "middle": 3}

    assert Pair(**known_fields(Pair, values)) == Pair(1)
    assert unknown_fields(Pair, values) == {"middle": 3}
