"""The rules of tdmrep.json: the examples of the protocol, and files that violate it."""

import json
import pickle

import pytest

from aragog.crawl.politeness.robots_rules import RobotsRules
from aragog.crawl.politeness.tdm_file import (
    MAX_TDM_RULES,
    UNREADABLE,
    TdmRule,
    read_tdm_file,
)
from aragog.pages.preferences import TDM_FILE_READ

MODELS = ["ai-input", "ai-train"]
WHOLE_SITE = [{"location": "/", "tdm-reservation": 1}]
THREE_GROUPS = [
    {"location": "/directory-a/", "tdm-reservation": 1},
    {
        "location": "/directory-b/html/",
        "tdm-reservation": 1,
        "tdm-policy": "https://provider.example/policies/policy.json",
    },
    {"location": "/directory-b/images/*.jpg", "tdm-reservation": 0},
]


def statements(rules, path):
    """The statements of a site for a path, from cached rules."""
    read = RobotsRules().with_tdm(read_tdm_file(json.dumps(rules).encode()))
    kept = RobotsRules.unpack(read.packed())
    stated = kept.statements("testbot", f"https://a.example{path}", ())
    assert TDM_FILE_READ in stated
    return [one for one in stated if one != TDM_FILE_READ]


@pytest.mark.parametrize(
    ("rules", "path", "answer"),
    [
        (WHOLE_SITE, "/", "n"),
        (WHOLE_SITE, "/any/page?q=1", "n"),
        (THREE_GROUPS, "/directory-a/one.pdf", "n"),
        (THREE_GROUPS, "/directory-b/html/one.html", "n"),
        (THREE_GROUPS, "/directory-b/images/one.jpg", "y"),
        (THREE_GROUPS, "/directory-b/images/one.png", None),
        (THREE_GROUPS, "/Directory-A/one.pdf", None),
        ([{"location": "/exactly$", "tdm-reservation": 1}], "/exactly", "n"),
        ([{"location": "/exactly$", "tdm-reservation": 1}], "/exactly/not", None),
        ([{"location": "/this/*/then", "tdm-reservation": 1}], "/this/or/that/then", "n"),
        ([{"location": "/foo-%24", "tdm-reservation": 1}], "/foo-$", "n"),
        ([{"location": "/", "tdm-reservation": "1"}], "/", "n"),
    ],
)
def test_first_matching_rule_decides_both_ai_uses(rules, path, answer):
    stated = statements(rules, path)

    decided = [(one.purpose, one.value) for one in stated if one.purpose in MODELS]
    assert decided == ([(purpose, answer) for purpose in MODELS] if answer else [])


def test_earlier_rule_decides_even_if_more_general():
    rules = [{"location": "/", "tdm-reservation": 0}, {"location": "/a/", "tdm-reservation": 1}]

    assert {one.value for one in statements(rules, "/a/b")} == {"y"}


def test_statement_names_its_rule_and_policy():
    input_, train, policy = statements(THREE_GROUPS, "/directory-b/html/x")

    where = "/.well-known/tdmrep.json rule 2 (/directory-b/html/)"
    assert input_.where == train.where == f"{where} tdm-reservation: 1"
    assert (policy.purpose, policy.value) == (
        "tdm-policy",
        "https://provider.example/policies/policy.json",
    )


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"{}", b'{"location": "/"}', b"[1, null]", b'[{"tdm-reservation": 1}]',
     b"[" * 100_000, b'[{"location": "", "tdm-reservation": 1}]', b"\xff\xfe"],
)  # fmt: skip
def test_invalid_file_has_no_rules(body):
    assert read_tdm_file(body) == ()


@pytest.mark.parametrize("value", [2, -1, True, 1.0, None, "yes", [1], {}])
def test_invalid_value_decides_nothing_but_hides_later_rules(value):
    rules = [{"location": "/a", "tdm-reservation": value}, *WHOLE_SITE]
    stated = statements(rules, "/a")

    assert stated == []


def test_file_with_too_many_rules_reserves_everything():
    rules = [{"location": f"/{n}", "tdm-reservation": 0} for n in range(MAX_TDM_RULES + 1)]

    assert read_tdm_file(json.dumps(rules).encode()) == UNREADABLE
    assert {one.value for one in statements(rules, "/5")} == {"n"}


def test_path_too_expensive_to_match_is_reserved_if_any_rule_reserves():
    rules = [
        {"location": "/" + "a*" * 900 + "b", "tdm-reservation": 0},
        {"location": "/z", "tdm-reservation": 1},
    ]

    assert "n" in {one.value for one in statements(rules, "/" + "a" * 60_000)}


def test_rules_never_requested_are_distinguished_from_none():
    never_requested = RobotsRules.unpack(RobotsRules().packed())
    assert never_requested.tdm is None
    assert never_requested.statements("testbot", "https://a.example/", ()) == []
    assert RobotsRules.unpack(RobotsRules(tdm=()).packed()).tdm == ()
    rules = RobotsRules(tdm=(TdmRule("/", "1", "", 1),))
    assert pickle.loads(pickle.dumps(rules)).tdm == rules.tdm
