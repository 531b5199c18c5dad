"""For any bytes: no exception, and the same result as a slow matcher written from the definition."""

from __future__ import annotations

import pickle
import re

from hypothesis import given
from hypothesis import strategies as st

from aragog.crawl.politeness.robots_parser.match import Matcher
from aragog.crawl.politeness.robots_parser.parse import Rule, escape_octets
from aragog.crawl.politeness.robots_parser.spelling import comparable_path, get_path
from aragog.crawl.politeness.robots_rules import RobotsRules, rules_for_status
from urlspelling import normalize
from urlspelling import resolve as parse

PIECES = st.sampled_from(
    [
        "User-agent: ",
        "Allow: ",
        "Disallow: ",
        "Crawl-delay: ",
        "Sitemap: ",
        "a",
        "b",
        "*",
        "/",
        "$",
        "%41",
        "%2f",
        "%2A",
        "é",
        "\n",
        "\r",
        "\r\n",
        "#",
        ":",
        " ",
        "\t",
        "\x00",
        "?",
        "index.html",
    ]
)
FILES = st.lists(PIECES, max_size=60).map("".join).map(str.encode) | st.binary(max_size=300)
PATTERNS = st.text("ab*$/", min_size=1, max_size=8)
PATHS = st.text("ab$/", max_size=10).map("/".__add__)


@given(FILES, st.text(max_size=20), st.text(max_size=40))
def test_no_input_raises(body: bytes, agent: str, url: str):
    rules = RobotsRules.parse(body)

    verdict = rules.allows(agent, url)

    assert rules.explain(agent, url).startswith("allowed" if verdict else "refused")
    assert (rules.crawl_delay_s(agent) or 0) >= 0
    assert pickle.loads(pickle.dumps(rules)).allows(agent, url) is verdict
    ours = RobotsRules.parse(body, agent)
    assert ours.explain(agent, url) == rules.explain(agent, url)
    assert RobotsRules.unpack(ours.packed()).explain(agent, url) == rules.explain(agent, url)
    assert RobotsRules.unpack(ours.packed()).crawl_delay_s(agent) == rules.crawl_delay_s(agent)


@given(st.none() | st.integers(0, 999), FILES)
def test_any_status_gives_rules(status: int | None, body: bytes):
    allowed = rules_for_status(status, body).allows("a", "https://site.test/")

    if status is None or status < 200 or status == 429 or status >= 500:
        assert not allowed
    elif status >= 300:
        assert allowed
    else:
        assert allowed == RobotsRules.parse(body).allows("a", "https://site.test/")


@given(FILES)
def test_byte_order_mark_and_line_endings_change_nothing(body: bytes):
    body = b"\n" + body.replace(b"\r", b"\n")
    plain = RobotsRules.parse(body)

    for other in (b"\xef\xbb\xbf" + body, body.replace(b"\n", b"\r"), body.replace(b"\n", b"\r\n")):
        again = RobotsRules.parse(other)
        for path in ("/", "/a", "/b/index.html"):
            url = "https://site.test" + path
            assert again.explain("a", url) == plain.explain("a", url)


def slow_match(pattern: str, path: str) -> bool:
    end = pattern.endswith("$")
    parts = (pattern[:-1] if end else pattern).split("*")
    return re.match(".*".join(map(re.escape, parts)) + (r"\Z" if end else ""), path) is not None


@given(st.lists(st.tuples(st.booleans(), PATTERNS), max_size=40), PATHS)
def test_matcher_agrees_with_the_definition(pairs: list[tuple[bool, str]], path: str):
    rules = [Rule(allow, pattern, line) for line, (allow, pattern) in enumerate(pairs, 1)]
    matching = [r for r in rules if slow_match(r.pattern, path)]
    expected = max(matching, key=lambda r: (len(r.pattern), r.allow, -r.line), default=None)

    rule = Matcher(rules).best_rule(path)

    if expected is None:
        assert rule is None
    else:
        assert rule is not None
        assert (rule.allow, len(rule.pattern)) == (expected.allow, len(expected.pattern))


@given(st.binary(max_size=60))
def test_escaping_is_idempotent(value: bytes):
    once = escape_octets(value)

    assert escape_octets(once.encode()) == once
    assert once.isascii()


# No `/`, `.` and `;`, which make dot segments and session ids; no `?`, `&` and `=`, which make
# sorted queries: those change the requested URL, not only its spelling.
OCTETS = st.text(
    st.characters(min_codepoint=0x20, max_codepoint=0x7E, exclude_characters="/.;?&=#()\\")
    | st.sampled_from("\u00e9\u4e2d\u0434")
)
ESCAPES = st.integers(0, 255).map(lambda n: f"%{n:02x}") | st.just("%") | st.just("%A")
SPELLINGS = st.lists(OCTETS | ESCAPES, max_size=8).map("".join).map("/p".__add__)


@given(SPELLINGS)
def test_every_spelling_of_a_url_is_compared_like_its_normal_form(path: str):
    given_url = "https://site.test" + path

    normalized = normalize(given_url)

    compared = comparable_path(get_path(normalized))
    assert comparable_path(get_path(parse(given_url))) == compared
    if "%2e" not in path:  # a dot segment, if alone
        assert comparable_path(get_path("https://site.test" + path.rstrip(" "))) == compared


# A rule may end within an escape, and a partly decoded escape cannot be matched.
WHOLE_RULES = SPELLINGS.map(lambda text: re.sub(r"[%$ ][0-9A-Fa-f]?$", "", text.strip() + " "))


@given(SPELLINGS, WHOLE_RULES)
def test_path_disallowed_in_one_spelling_is_disallowed_when_normalized(path: str, rule: str):
    rules = RobotsRules.parse(f"User-agent: *\nDisallow: {rule}\n".encode())

    url = normalize("https://site.test" + path)

    if path.startswith(rule) and rule[-1:] not in ("", "$", "%"):
        assert not rules.allows("aragog", url)
    assert rules.allows("aragog", url) == rules.allows("aragog", path.rstrip(" "))
