"""
robots.txt: the URLs that a file and its response allow.

Input: `robots`, the file (`encoding` as for pages); `agent`; `url`, or `urls`; `status`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aragog.crawl.politeness.robots_rules import rules_for_status
from tests.reports.doors._bytes import data


def answer(given: Mapping[str, Any]) -> dict[str, Any]:
    """The allowed URLs, the delay and the sitemaps."""
    robots = given.get("robots", "")
    is_text = isinstance(robots, str)
    body = robots.encode(given.get("encoding", "utf-8")) if is_text else data(robots)
    agent = given.get("agent", "aragog")
    rules = rules_for_status(given.get("status", 200), body)
    urls = given.get("urls", [given.get("url", "https://a.test/")])
    allowed = [rules.allows(agent, url) for url in urls]
    return {
        "allowed": allowed if "urls" in given else allowed[0],
        "delay_s": rules.crawl_delay_s(agent),
        "sitemaps": list(rules.sitemaps),
    }
