"""The robots.txt engines behind one port; `aragog robots test` shows the result of each."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from aragog.cli import main
from aragog.crawl.politeness.robots_engines import BuiltinEngine, ReppyEngine
from aragog.crawl.politeness.robots_rules import RobotsRules, rules_for_status
from tests.support.cases import cases
from tests.support.missing_parts import REPPY

URL = "https://site.test/a/b"


@pytest.fixture(autouse=True)
def _reppy():
    pytest.importorskip("reppy.robots", reason=REPPY.reason)


def opinions(body: str, url: str = URL) -> list[bool | None]:
    rules = RobotsRules.parse(body.encode())
    return [
        engine.opinion(rules, "aragog", url).allowed for engine in (BuiltinEngine(), ReppyEngine())
    ]


@pytest.mark.parametrize(
    ("verdict", "path", "rules"),
    cases("""
        refused  /a/b      Disallow: /a
        allowed  /a/b      Disallow: /a; Allow: /a/b
        refused  /x.pdf    Disallow: /*.pdf$
        allowed  /x.pdf/y  Disallow: /*.pdf$
        refused  /~joe     Disallow: /%7Ejoe
        refused  /a%3Cd    Disallow: /a<d
    """),
)
def test_both_engines_agree(verdict: str, path: str, rules: str):
    lines = "\n".join(("User-agent: *", *rules.split("; "), ""))

    assert opinions(lines, "https://site.test" + path) == [verdict == "allowed"] * 2


def test_reppy_never_gets_patterns_that_make_it_backtrack():
    rules = RobotsRules.parse(b"User-agent: *\nDisallow: /x\nDisallow: /*a*a*a*a*a*ab\n")

    opinion = ReppyEngine().opinion(rules, "aragog", "https://site.test/" + "a" * 1000)

    assert opinion.allowed is True
    assert opinion.reason == "1 rule, 1 left out"


def test_reppy_is_not_asked_about_slow_or_differently_parsed_paths():
    many = RobotsRules.parse(b"User-agent: *\n" + b"Disallow: /*%s\n" % (b"a" * 9000) * 1)
    engine = ReppyEngine()

    assert engine.opinion(many, "aragog", "/" + "a" * 10_000).allowed is None
    assert engine.opinion(many, "aragog", "/a*b").allowed is None


def test_status_has_the_same_meaning_for_both_engines():
    for status in (404, 503):
        rules = rules_for_status(status)
        first, second = (e.opinion(rules, "aragog", URL) for e in (BuiltinEngine(), ReppyEngine()))
        assert first.allowed is second.allowed is (status == 404)


def test_command_shows_both_results_and_exits_with_the_builtin_one(tmp_path):
    file = tmp_path / "robots.txt"
    file.write_text("User-agent: *\nDisallow: /a\n")

    refused = CliRunner().invoke(main, ["robots", "test", URL, "--file", str(file)])
    allowed = CliRunner().invoke(
        main, ["robots", "test", "https://site.test/", "--file", str(file)]
    )

    assert refused.exit_code == 5
    assert "builtin  refused  refused by robots.txt line 2" in refused.output
    assert "reppy    refused  1 rule" in refused.output
    assert allowed.exit_code == 0


def test_agent_without_a_file_is_a_usage_error():
    result = CliRunner().invoke(main, ["robots", "test", URL, "--agent", "other"])

    assert result.exit_code == 2
    assert "--agent needs --file" in result.output
