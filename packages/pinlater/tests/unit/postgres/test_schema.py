"""PostgreSQL functions are replaced by version, so a change needs a new version."""

import hashlib
from importlib import resources

from pinlater import postgres
from pinlater.postgres.schema import CODE, FUNCTIONS, LAYOUT, UPGRADES

DIGESTS = {
    2: "1025c325280e1a77",
    3: "d4995aa887625870",
    4: "d39e7cd3ee3019ef",
    5: "660d1498e2356a44",
}
"""Digest of the functions of each version; released entries never change."""


def test_changed_functions_have_a_new_version():
    folder = resources.files(postgres)
    source = b"\n".join((folder / part).read_bytes() for part in FUNCTIONS)

    assert DIGESTS[CODE] == hashlib.sha256(source).hexdigest()[:16], (
        "the functions changed: add 1 to CODE and an entry here after a release, else a new digest"
    )


def test_every_layout_has_an_upgrade_to_the_next():
    assert sorted(UPGRADES) == list(range(1, LAYOUT))
