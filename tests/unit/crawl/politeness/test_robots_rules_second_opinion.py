"""reppy as a second opinion: where it follows RFC 9309, both parsers agree.

Cases that reppy is known to interpret differently are left out: equally long contradictory rules,
escaped special characters, agents with a version, several wildcards (exponential in reppy), and a
star at the end, which reppy drops before comparing lengths.
"""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.crawl.politeness.robots_rules import RobotsRules
from tests.support.examples import examples
from tests.support.missing_parts import REPPY

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    reppy = pytest.importorskip("reppy.robots", reason=REPPY.reason)

WORDS = st.sampled_from(["", "a", "b", "ab", "news", "shop/cart", "x.html"])
PATTERNS = st.one_of(
    WORDS.map("/{}".format),
    st.tuples(WORDS, WORDS.filter(bool)).map(lambda t: f"/{t[0]}*{t[1]}"),
    WORDS.map("/{}$".format),
)
PATHS = st.lists(WORDS, max_size=3).map(lambda words: "/" + "/".join(words))
GROUPS = st.dictionaries(
    st.sampled_from(["*", "aragog", "other"]),
    st.dictionaries(PATTERNS, st.booleans(), max_size=6),
    max_size=3,
)


@given(GROUPS, st.lists(PATHS, min_size=1, max_size=5))
@examples(200)
def test_reppy_agrees(groups: dict[str, dict[str, bool]], paths: list[str]):
    lines: list[str] = []
    for agent, rules in groups.items():
        lines.append(f"User-agent: {agent}")
        by_length = {len(pattern): (pattern, allow) for pattern, allow in rules.items()}
        for pattern, allow in by_length.values():
            lines.append(f"{'Allow' if allow else 'Disallow'}: {pattern}")
        lines.append("Disallow:")
    body = "\n".join(lines).encode()
    theirs = reppy.Robots.parse("https://site.test/robots.txt", body)
    ours = RobotsRules.parse(body)

    for path in paths:
        url = f"https://site.test{path}"
        assert ours.allows("aragog", url) == theirs.allowed(url, "aragog"), (body, url)
