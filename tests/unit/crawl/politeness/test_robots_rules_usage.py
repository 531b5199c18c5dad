"""Usage preferences in robots.txt: by group, path and line."""

from pathlib import Path

import pytest

from aragog.crawl.politeness.robots_rules import RobotsRules
from aragog.pages.preferences import DRAFTS

DRAFT = b"""User-Agent: *
Allow: /
Disallow: /never/
Content-Usage: train-ai=n
Content-Usage: /ai-ok/ train-ai=y

User-Agent: ExampleBot
Allow: /
Content-Usage: train-ai=y
"""
MERGED = b"""# before any group: for all agents
Content-Signal: search=yes,ai-train=yes,ai-input=yes  # a comment

User-agent: *
Allow: /llms.txt

User-agent: mybot
Crawl-delay: 1
User-agent: yourbot
Disallow: /private/

User-agent: mybot
Content-Signal: ai-train=no
"""


def rules_of(body, agent=None):
    """The rules as parsed, or as cached for an agent."""
    rules = RobotsRules.parse(body, agent)
    return RobotsRules.unpack(rules.packed()) if agent else rules


def usage_of(rules, path, agent="mybot", drafts=DRAFTS):
    url = f"http://a.test{path}"
    return [f"{s.purpose}={s.value}" for s in rules.statements(agent, url, drafts)]


@pytest.mark.parametrize("agent", [None, "mybot"])
@pytest.mark.parametrize(
    ("path", "crawl", "usage"),
    [
        ("/test", True, ["ai-train=n"]),
        ("/never/test", False, ["ai-train=n"]),
        ("/ai-ok/test", True, ["ai-train=y"]),
    ],
)
def test_example_of_the_draft_is_followed(agent, path, crawl, usage):
    rules = rules_of(DRAFT, agent)

    assert rules.allows("mybot", f"http://a.test{path}") is crawl
    assert usage_of(rules, path) == usage


def test_agent_with_a_separate_group_has_only_its_preferences():
    rules = rules_of(DRAFT, "examplebot/2.0")

    assert usage_of(rules, "/test", "ExampleBot") == ["ai-train=y"]
    assert rules.allows("ExampleBot", "http://a.test/never/test")


@pytest.mark.parametrize("name", ["Content-Usage: search=n", "Content-Signal: search=no"])
def test_preference_counts_as_a_rule_and_ends_the_list_of_agents(name):
    body = f"User-agent: a\n{name}\nUser-agent: b\nDisallow: /\n".encode()
    rules = rules_of(body)

    assert rules.allows("a", "http://a.test/")
    assert not rules.allows("b", "http://a.test/")
    assert usage_of(rules, "/", "a") == ["search=n"]
    assert usage_of(rules, "/", "b") == []


@pytest.mark.parametrize("agent", [None, "mybot"])
def test_groups_of_an_agent_are_merged_and_an_early_signal_applies_to_everybody(agent):
    rules = rules_of(MERGED, agent)

    assert sorted(usage_of(rules, "/")) == ["ai-input=y", "ai-train=n", "ai-train=y", "search=y"]
    assert "ai-train=n" not in usage_of(rules, "/", "nobody")
    assert not rules.allows("mybot", "http://a.test/private/x")


def test_lines_with_the_same_path_apply_together_in_any_order():
    one, two = b"Content-Usage: /x search=y\n", b"Content-Usage: /x search=n, train-ai=n\n"
    for body in (one + two, two + one):
        rules = rules_of(b"User-agent: *\n" + body + b"Content-Usage: train-ai=y\n")

        assert sorted(usage_of(rules, "/x/y")) == ["ai-train=n", "search=n", "search=y"]
        assert usage_of(rules, "/z") == ["ai-train=y"]
        assert rules.use_refusal("mybot", ["search"], DRAFTS, "http://a.test/x").startswith(
            "not for search: robots.txt line "
        )


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("/a", "/ab", True),
        ("/a$", "/ab", False),
        ("/*/c", "/b/c", True),
        ("/%7Ea", "/~a", True),
        ("/caf\u00e9", "/caf%C3%A9/x", True),
    ],
)
def test_paths_match_like_those_of_allow_and_disallow(pattern, path, matches):
    rules = rules_of(f"User-agent: *\nContent-Usage: {pattern} search=n\n".encode())

    assert usage_of(rules, path) == (["search=n"] if matches else [])


@pytest.mark.parametrize(
    "line",
    ["Content-Usage train-ai=n", "Content-Usages: train-ai=n", "Content-Signals: /signals.json",
     "Content-Usage: /only-a-path", "# Content-Usage: train-ai=n", "Content-Usage:"],
)  # fmt: skip
def test_invalid_preference_is_ignored_and_ends_no_group(line):
    rules = rules_of(f"User-agent: a\n{line}\nDisallow: /x\n".encode())

    assert usage_of(rules, "/", "a") == []
    assert not rules.allows("a", "http://a.test/x")


def test_license_lines_belong_to_no_group_and_refuse_nothing():
    rules = rules_of(b"User-agent: a\nLicense: https://a.test/l.xml\nDisallow: /x\n", "b")

    assert usage_of(rules, "/", "b") == ["license=https://a.test/l.xml"]
    assert rules.use_refusal("b", ["ai-train"], DRAFTS, "http://a.test/") is None


def test_unlisted_drafts_are_ignored():
    rules = rules_of(DRAFT + b"Content-Signal: search=no\n")

    assert usage_of(rules, "/", "examplebot", ["content-signals"]) == ["search=n"]
    assert usage_of(rules, "/", "examplebot", []) == []


def test_reason_in_the_documentation_is_the_one_returned():
    page = (Path(__file__).parents[4] / "docs/standing.md").read_text()
    rules = rules_of(b"# ours\nUser-agent: *\nAllow: /\nContent-Usage: search=n\n")

    reason = rules.use_refusal("mybot", ["search"], DRAFTS, "http://a.test/")

    assert f"```text\n{reason}\n```" in page
