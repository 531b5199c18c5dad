"""A program replaces the functions of an older version, so a change needs a version of its own."""

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
"""Of the functions by version; a release keeps its entry."""


def test_functions_that_changed_have_a_version_of_their_own():
    folder = resources.files(postgres)
    source = b"\n".join((folder / part).read_bytes() for part in FUNCTIONS)

    assert DIGESTS[CODE] == hashlib.sha256(source).hexdigest()[:16], (
        "the functions changed: since a release, add 1 to CODE and an entry here; else correct it"
    )


def test_every_layout_leads_to_the_next_one():
    assert sorted(UPGRADES) == list(range(1, LAYOUT))
