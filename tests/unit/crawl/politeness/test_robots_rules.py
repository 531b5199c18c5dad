"""What a robots.txt allows. The cases are our own, decided by RFC 9309, then by Google's parser."""

from __future__ import annotations

import pickle

import pytest

from aragog.crawl.politeness.robots_parser.spelling import get_path
from aragog.crawl.politeness.robots_rules import RobotsRules, product_token, rules_for_status
from tests.support.cases import cases


def allows(robots: str | bytes, path: str, agent: str = "aragog") -> bool:
    body = robots.encode() if isinstance(robots, str) else robots
    return RobotsRules.parse(body).allows(agent, f"https://site.test{path}")


def group(*rules: str) -> str:
    return "\n".join(("User-agent: *", *rules))


@pytest.mark.parametrize(
    ("verdict", "path", "rules"),
    cases(r"""
        allowed  /x                        Disallow:
        refused  /x                        Disallow: /
        refused  /about                    Disallow: /a
        allowed  /A                        Disallow: /a
        allowed  /a                        Disallow: /a/
        allowed  /a                        Disallow: a
        # the longest wins, wherever it stands
        allowed  /a/b/c                    Disallow: /a/b; Allow: /a/b/c; Disallow: /a/b/c/d
        refused  /a/b/c/d                  Disallow: /a/b; Allow: /a/b/c; Disallow: /a/b/c/d
        refused  /p.html                   Allow: /p; Disallow: /*.html
        # of two equally long the one that allows
        allowed  /dir/x                    Disallow: /dir; Allow: /dir
        allowed  /dir/x                    Allow: /dir; Disallow: /dir
        allowed  /dir/x                    Disallow: /d*; Allow: /di
        allowed  /dir/x                    Allow: /d*; Disallow: /di
        allowed  /x                        Disallow: /x$; Allow: /*x
        # wildcards
        refused  /                         Disallow: *
        refused  /a?b                      Disallow: /*?
        allowed  /a                        Disallow: /*?
        refused  /abcde                    Disallow: /a*c*e
        allowed  /aecd                     Disallow: /a*c*e
        refused  /axxb                     Disallow: /a**b
        refused  /x.pdf                    Disallow: /*.pdf$
        allowed  /x.pdf?y                  Disallow: /*.pdf$
        refused  /x.pdf/y.pdf              Disallow: /*.pdf$
        refused  /abc                      Disallow: /a*$
        refused  /a                        Disallow: /a$
        allowed  /ab                       Disallow: /a$
        refused  /a$bc                     Disallow: /a$b
        allowed  /ab                       Disallow: /*aba$
        allowed  /aba                      Disallow: /ab*ba$
        refused  /                         Disallow: /$; Allow: /
        # escaped specials are literal
        allowed  /axb                      Disallow: /a%2Ab
        refused  /a%2Ab                    Disallow: /a%2Ab
        allowed  /a                        Disallow: /a%24
        refused  /a%24b                    Disallow: /a%24
        refused  /a*b                      Disallow: /a%2Ab
        refused  /a*b                      Disallow: /a%2ab
        refused  /a$b                      Disallow: /a%24
        refused  /a%24bc                   Disallow: /a$b
        refused  /x*                       Disallow: /*%2A$
        allowed  /x                        Disallow: /*%2A$
        allowed  /a*b                      Disallow: /; Allow: /a%2Ab
        refused  /axb                      Disallow: /; Allow: /a%2Ab
        # what normalization escapes
        refused  /a%3Cd.html               Disallow: /a<d.html
        refused  /a<d.html                 Disallow: /a<d.html
        refused  /a%3Cd.html               Disallow: /a%3cd.html
        refused  /a<d.html                 Disallow: /a%3cd.html
        refused  /a%20b                    Disallow: /a b
        refused  /%7Bx%7D%7C%5E%60%5B1%5D  Disallow: /{x}|^`[1]
        refused  /x?q=%27a%27              Disallow: /*?q='a'
        refused  /100%25                   Disallow: /100%
        refused  /100%25x                  Disallow: /100%x
        refused  /100%25                   Disallow: /100%$
        # an escape that the rule cuts short
        refused  /a%20b                    Disallow: /*%
        refused  /a%E9b                    Disallow: /a%E*b
        refused  /a%20                     Disallow: /; Allow: /a%
        refused  /a%20                     Disallow: /; Allow: /a%2
        refused  /a/b                      Disallow: /a\b
        allowed  /a%3Cd.html               Disallow: /; Allow: /a<d.html
        # escapes
        refused  /caf%C3%A9                Disallow: /café
        refused  /caf%C3%A9                Disallow: /caf%c3%a9
        refused  /café                     Disallow: /caf%C3%A9
        refused  /~joe                     Disallow: /%7Ejoe
        refused  /%7ejoe                   Disallow: /~joe
        refused  /x/~joe                   Disallow: /*%7Ejoe
        allowed  /a/b                      Disallow: /a%2fb
        refused  /a%2Fb                    Disallow: /a%2fb
        allowed  /ok                       Disallow: /; Allow: /%6Fk
        allowed  /%7Ejoe                   Disallow: /; Allow: /~joe
        allowed  /~joe/x                   Disallow: /%7Ejoe; Allow: /~joe
        allowed  /%6Fk                     Disallow: /; Allow: /%6Fk
        # a directory and its index
        allowed  /a/                       Disallow: /; Allow: /a/index.html
        refused  /a/b                      Disallow: /; Allow: /a/index.html
        refused  /a/                       Disallow: /; Allow: /a/index.php
    """),
)
def test_most_specific_rule_decides(verdict: str, path: str, rules: str):
    assert allows(group(*rules.split("; ")), path) is (verdict == "allowed")


def test_group_without_rules_allows_everything():
    assert allows(group(), "/")


@pytest.mark.parametrize(
    "line",
    [
        "Disallow: /a", "disallow:/a", "DISALLOW : /a", "\tDisallow:\t/a\t", "Disallow: /a # b",
        "Disallow /a", "Disallow\t \t/a", "Disalow: /a", "Dissallow: /a", "Disallow-this: /a",
    ],
)  # fmt: skip
def test_line_is_recognized_as_disallow(line: str):
    assert not allows(group(line), "/a")
    assert allows(group(line), "/b")


@pytest.mark.parametrize("line", ["Disallow /a /b", "No: /a", ": /a", "/a", "#Disallow: /a", "\0"])
def test_line_is_ignored(line: str):
    assert allows(group(line), "/a")


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("start", [b"", b"\xef", b"\xef\xbb", b"\xef\xbb\xbf"])
def test_every_line_ending_and_byte_order_mark_is_accepted(end: str, start: bytes):
    body = start + end.join(("User-agent: *", "", "Disallow: /a", "")).encode()

    assert not allows(body, "/a")
    assert "line 3," in RobotsRules.parse(body).explain("x", "https://site.test/a")


@pytest.mark.parametrize(
    ("meant", "line", "agent"),
    cases("""
        yes  aragog         aragog
        yes  ARAGOG         aragog/1.0 (+https://example.test)
        yes  aragog/2       aragog
        yes  aragog (all)   Aragog
        yes  aragog\tx     aragog
        no   aragogbot      aragog
        no   arago          aragog
        no   aragog-images  aragog
        no   aragog         aragog images
        yes  aragog         Mozilla/5.0 (compatible; aragog/1.0; +https://example.test)
        yes  aragog         aragog (+mailto:bot@example.test)
        yes  bot42          bot42/1.0
        no   bot42          bot43
        # the token ends where RFC 9309 allows no more
        yes  bot42          bot
    """),
)
def test_agent_belongs_to_the_matching_group(meant: str, line: str, agent: str):
    assert allows(f"User-agent: {line}\nDisallow: /", "/", agent) is (meant == "no")


def test_groups_of_one_agent_are_combined():
    robots = (
        "User-agent: a\nDisallow: /x\n\nUser-agent: b\nDisallow: /\n\nUser-agent: A\nDisallow: /y"
    )

    assert [allows(robots, path, "a") for path in ("/x", "/y", "/z")] == [False, False, True]


@pytest.mark.parametrize(
    "between", ["Sitemap: https://x.test/", "Crawl-delay: 1", "Foo: bar", "", "#"]
)
def test_only_rules_end_the_agents_of_a_group(between: str):
    robots = f"User-agent: a\n{between}\nUser-agent: b\nDisallow: /"

    assert not allows(robots, "/", "a")
    assert not allows(robots, "/", "b")
    assert allows(robots, "/", "c")


def test_specific_group_replaces_the_one_for_everybody():
    robots = "User-agent: *\nDisallow: /\n\nUser-agent: aragog\nDisallow: /x"

    assert allows(robots, "/y")
    assert not allows(robots, "/y", "other")
    assert allows("User-agent: *\nDisallow: /\n\nUser-agent: aragog", "/")


def test_rules_before_any_agent_are_ignored():
    assert allows("Disallow: /\nUser-agent: *\nAllow: /x", "/")


def test_robots_txt_itself_is_always_allowed():
    assert allows(group("Disallow: /"), "/robots.txt")
    assert not allows(group("Disallow: /"), "/robots.txt.bak")
    assert rules_for_status(503).allows("a", "https://site.test/robots.txt")


def test_lines_are_limited_to_16_kib():
    rule = "Disallow: /x/" + "y" * 17_000

    assert not allows(group(rule), "/x/" + "y" * 17_000)
    assert not allows(group(rule), "/x/" + "y" * 16_660)
    assert allows(group(rule), "/x/" + "y" * 16_000)


def test_only_the_first_500_kib_are_read():
    filler = "# filler\n" * (500 * 1024 // 9 - 3)
    inside = group(filler + "Disallow: /a")
    outside = group(filler + filler + "Disallow: /a")
    cut = ("User-agent: *\n" + "#" * 511_975 + "\nAllow: /\nDisallow: /abc").encode()

    assert not allows(inside, "/a")
    assert allows(outside, "/a")
    assert allows(cut, "/")  # a rule cut by the limit is dropped


@pytest.mark.parametrize(
    ("lines", "agent", "delay_s"),
    [
        ("User-agent: *\nCrawl-delay: 2.5", "a", 2.5),
        ("User-agent: *\nCrawl-delay: 2\n\nUser-agent: a\nDisallow: /x", "a", None),
        ("User-agent: a\nUser-agent: b\nCrawl-delay: 3", "a", 3.0),
        ("User-agent: a\nCrawl-delay: 3\nUser-agent: b\nCrawl-delay: 20", "a", 3.0),
        ("User-agent: a\nCrawl-delay: 3\nUser-agent: a\nCrawl-delay: 20", "a", 20.0),
        ("User-agent: a\nDisallow: /x\nCrawl-delay: .5s", "a", 0.5),
        ("User-agent: a\nCrawl-delay: 0,5", "a", 0.5),
        ("User-agent: a\nCrawl-delay: ,5", "a", 0.5),
        ("User-agent: a\nCrawl-delay: 1,5 s", "a", 1.5),
        ("User-agent: a\nCrawl-delay: 2,", "a", 2.0),
        ("User-agent: a\nCrawl-delay: 0,500", "a", 0.5),
        ("User-agent: a\nCrawl-delay: 1,500", "a", 1500.0),
        ("User-agent: a\nCrawl-delay: 10, 20", "a", 10.0),
        ("User-agent: a\nCrawl-delay: .", "a", None),
        ("User-agent: a\nCrawl-delay: soon", "a", None),
        ("User-agent: a\nCrawl-delay: -1", "a", None),
        ("User-agent: a\nCrawl-delay: inf", "a", None),
        ("Crawl-delay: 9", "a", None),
    ],
)
def test_crawl_delay_belongs_to_its_group(lines: str, agent: str, delay_s: float | None):
    assert RobotsRules.parse(lines.encode()).crawl_delay_s(agent) == delay_s


def test_sitemaps_may_be_anywhere_and_count_once():
    rules = RobotsRules.parse(
        b"Sitemap: https://a.test/1\nUser-agent: *\nSITEMAP:/2\nSite-map: /2\nSitemap:"
    )

    assert rules.sitemaps == ("https://a.test/1", "/2")


@pytest.mark.parametrize(
    ("status", "allowed"),
    [(200, False), (204, False), (301, True), (404, True), (410, True), (401, True), (403, True),
     (418, True), (429, False), (500, False), (503, False), (599, False), (None, False), (0, False)],
)  # fmt: skip
def test_status_decides_which_rules_apply(status: int | None, allowed: bool):
    rules = rules_for_status(status, b"User-agent: *\nDisallow: /")

    assert rules.allows("aragog", "https://site.test/") is allowed


def test_explain_names_the_line_and_the_rule():
    rules = RobotsRules.parse(b"User-agent: *\nDisallow: /a\nAllow: /a/b\n")

    def reason(path: str) -> str:
        return rules.explain("aragog", f"https://site.test{path}")

    assert reason("/a") == "refused by robots.txt line 2, Disallow: /a (group for *)"
    assert reason("/a/b") == "allowed by robots.txt line 3, Allow: /a/b (group for *)"
    assert reason("/c") == "allowed: no rule of the group for * matches"
    assert reason("/robots.txt") == "allowed: robots.txt itself is always allowed"
    assert "503" in rules_for_status(503).explain("aragog", "https://site.test/")
    assert "for aragog or *" in RobotsRules.parse(b"").explain("aragog", "https://site.test/")


def test_rules_survive_pickling_after_use():
    rules = RobotsRules.parse(b"User-agent: *\nDisallow: /a\nCrawl-delay: 2\nSitemap: /s")
    rules.allows("x", "https://site.test/a")

    again = pickle.loads(pickle.dumps(rules))

    assert not again.allows("x", "https://site.test/a")
    assert (again.crawl_delay_s("x"), again.sitemaps) == (2.0, ("/s",))
    assert not pickle.loads(pickle.dumps(rules_for_status(500))).allows("x", "https://site.test/")


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://a.test", "/"),
        ("https://a.test?b", "/?b"),
        ("https://a.test/b?c=d#e", "/b?c=d"),
        ("https://a.test#/b", "/"),
        ("https://a.test/b?u=https://c.test/", "/b?u=https://c.test/"),
        ("/b", "/b"),
        ("//a.test/b", "/b"),
        ("a.test/b", "/b"),
        ("", "/"),
        ("a.test;b", "/;b"),
    ],
)
def test_path_of_a_url_includes_its_query(url: str, path: str):
    assert get_path(url) == path


def test_product_token_ends_before_the_version():
    assert product_token("aragog/1.0 (+https://a.test)") == "aragog"
    assert product_token("Foo Bar") == "foo bar"
    assert product_token("") == ""


def test_many_wildcards_behave_like_a_few():
    wild = [f"Disallow: /*x{n}y" for n in range(100)] + ["Disallow: /*q$", "Allow: /*x7y*ok"]
    robots = group(*wild)

    for n in (0, 7, 42, 99):
        assert not allows(robots, f"/ax{n}yb")
    assert allows(robots, "/ax7yb/ok")
    assert allows(robots, "/ax100y")
    assert not allows(robots, "/aq")


@pytest.mark.parametrize("line", ["Disallow: /" + "*a" * 8000 + "b$", "Disallow: /*a*b$"])
def test_hostile_wildcards_take_no_exponential_time(line: str):
    body = group(*[f"{line}{n}" for n in range(500 * 1024 // len(line))])

    assert allows(body, "/" + "a" * 2000)  # exponential time would take centuries


@pytest.mark.parametrize(
    ("lines", "path"),
    [
        ([f"Disallow: /*{'a' * 49}b{'a' * 49}*{n}" for n in range(4400)], "/" + "a" * 2000),
        ([f"Disallow: /*{'a*' * 7000}b{n}" for n in range(30)], "/" + "a" * 2000),
        (["Disallow: /*x"], "/" + "a" * 1_000_000),
    ],
)
def test_check_that_would_take_too_long_is_refused(lines: list[str], path: str):
    rules = RobotsRules.parse(group(*lines).encode())

    assert not rules.allows("aragog", path)
    assert "too long for the wildcards" in rules.explain("aragog", path)


def test_large_ordinary_file_is_checked_for_a_long_path():
    lines = [f"Disallow: /*?filter_{n}=" for n in range(3000)]
    path = "/category/" + "a-long-word-" * 20 + "?filter_77=1&sort=price"

    assert "filter_77=" in RobotsRules.parse(group(*lines).encode()).explain("aragog", path)


def test_agents_named_together_share_their_rules():
    agents = "\n".join(f"User-agent: bot{n}" for n in range(12_000))
    lines = "\n".join(f"Disallow: /{n}\nCrawl-delay: {n}" for n in range(7_000))
    rules = RobotsRules.parse(f"{agents}\n{lines}".encode())

    assert rules.size == 7_000
    assert not rules.allows("bot11999", "/6999")
    assert rules.crawl_delay_s("bot1") == 6_999


def test_file_with_too_many_rules_refuses_everything_with_a_reason():
    rules = RobotsRules.parse(group(*(f"Allow:/{n}" for n in range(33_000))).encode())

    assert not rules.allows("aragog", "/x")
    assert "more than 30000 rules" in rules.explain("aragog", "/x")
    assert rules.size < 30_010
    assert rules.allows("aragog", "/robots.txt")


def test_repeated_rules_count_once():
    rules = RobotsRules.parse(group(*["Disallow: /a"] * 33_000).encode())

    assert rules.size == 1
    assert "line 2," in rules.explain("aragog", "/a")


def test_only_rules_for_our_agent_and_everybody_are_kept():
    body = b"User-agent: other\nDisallow: /\n\nUser-agent: *\nDisallow: /x\n"

    kept = RobotsRules.parse(body, "aragog/1.0 (+https://a.test)")

    assert kept.size == 1
    assert "line 5," in kept.explain("aragog", "/x")


def test_path_too_long_for_the_wildcards_is_refused():
    rules = RobotsRules.parse(group(*[f"Disallow: /*a{n}*b" for n in range(30_000)]).encode())
    url = "https://site.test/" + "a" * 1_000_000

    assert not rules.allows("x", url)
    assert "too long" in rules.explain("x", url)


def test_product_token_ends_before_spaces_and_a_comment():
    assert product_token("aragog  (+https://a.test)") == "aragog"
    assert product_token(" aragog\t(x)/1.0") == "aragog"
