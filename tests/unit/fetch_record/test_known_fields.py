"""Separates the fields known to this version from those of a newer one."""

from dataclasses import dataclass

from aragog.fetch_record.known_fields import known, unknown


@dataclass
class Pair:
    left: int
    right: int = 2


def test_field_of_a_newer_version_is_separated():
    values = {"left": 1, "middle": 3}

    assert Pair(**known(Pair, values)) == Pair(1)
    assert unknown(Pair, values) == {"middle": 3}
