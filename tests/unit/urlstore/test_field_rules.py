"""Which field names the store accepts, and which look alike."""

import pytest

from aragog.errors import InvalidField
from aragog.settings import StoreSettings
from aragog.urlstore.field_rules import FieldRules, lookalike_problem, skeleton


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("team.score ", "space"),
        (" team.score", "space"),
        ("team．score", "use 'team.score'"),
        ("ﬁeld", "use 'field'"),
        ("cafe\u0301", "NFKC"),
        ("tеam.score", "CYRILLIC and LATIN"),
        ("scοre", "GREEK and LATIN"),
        ("score\ufe0f", "U+FE0F"),
        ("\u2800", "U+2800"),
    ],
)
def test_name_with_hidden_differences_is_refused_with_a_remedy(name, reason):
    with pytest.raises(InvalidField, match="field") as caught:
        FieldRules(StoreSettings()).check({name: b"1"})

    assert reason in str(caught.value)


@pytest.mark.parametrize(
    "name",
    ["og:image", "Team.Score", "größe", "café", "цена", "team.цена", "日本語title", "a b", "λ"],
)
def test_name_in_one_alphabet_is_accepted(name):
    FieldRules(StoreSettings()).check({name: b"1"})

    assert lookalike_problem(name) is None


@pytest.mark.parametrize(
    "name", ["TEAM.SCORE", "team.scοre", "team.ѕсоrе", "tеаm.score", "team.sc0re", "ＴＥＡＭ.score"]
)
def test_names_that_look_alike_share_a_skeleton(name):
    assert skeleton(name) == skeleton("team.score")


def test_different_names_have_different_skeletons():
    names = ["team.score", "team.scored", "team.store", "steam.score", "team.größe", "цена"]

    assert len(set(map(skeleton, names))) == len(names)
