"""
Fuzz the robots.txt parser: `one_input` takes any bytes and must not raise.

    python -m tests.fuzz.fuzz_robots [inputs]     number of mutations

If atheris is installed, fuzzing is coverage-guided and takes libFuzzer's arguments.
"""

from __future__ import annotations

import random

from aragog.crawl.politeness.robots_rules import RobotsRules, rules_for_status
from tests.fuzz.engine import edited, fuzz

SEEDS = (
    b"User-agent: *\nDisallow: /a*b$\nAllow: /a/index.html\nCrawl-delay: 1.5\n",
    b"\xef\xbb\xbfUSER-AGENT: bot/1\r\rDisallow /x%2a%C3\xa9\r\nSitemap: https://a.test/\r",
    b"Disalow: /\nUser agent: *\nDisallow: ******$$$\n#\0\nAllow: /%7E\n",
)
AGENT = "bot/1.0 (+https://a.test)"


def one_input(data: bytes) -> bool:
    """The first line is the path, the rest the file. Returns whether the path is allowed."""
    path, _, body = data.partition(b"\n")
    url = "https://a.test/" + path.decode("utf-8", "replace")
    rules = RobotsRules.parse(body)
    allowed = rules.allows(AGENT, url)
    text = rules.explain(AGENT, url)
    if text.startswith("allowed") is not allowed:
        raise AssertionError(text)
    rules.crawl_delay_s(AGENT)
    tuple(rules.sitemaps)
    rules_for_status(len(body) % 700, body)
    return allowed


def mutations(seed: int, count: int) -> list[bytes]:
    """`count` inputs made from the seeds, each preceded by a path."""
    rng = random.Random(seed)
    return [b"x%41*\n" + edited(rng, SEEDS, SEEDS) for _ in range(count)]


if __name__ == "__main__":
    fuzz(one_input, mutations)
