"""
What a site's robots.txt allows: parsed once, asked often, pure.

RFC 9309, with Google's parser as the judge where the RFC is silent or real files are not as it
wants them. Nothing here fetches or caches (`robots_cache` does), and no input raises. Delays are
seconds.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

from aragog.politeness.robots.match import Matcher, TooCostly
from aragog.politeness.robots.parse import EVERYBODY, MAX_RULES, RobotsLines, Rule, read_lines

# Sitemap lines that are kept of one file.
MAX_SITEMAPS = 100
_COMPATIBLE = re.compile(r"compatible;\s*([A-Za-z_-][^\s;/()]*)")
_PRODUCT_END = re.compile(r"/|\s*\(")
_PATH_START = re.compile(r"[/?;]")


class RobotsRules:
    """
    The rules of one robots.txt. Immutable; safe to share between threads; pickles without what it
    has worked out so far.

    `parse` reads a file, `rules_for_status` turns any answer to a request for one into rules.
    """

    __slots__ = ("_lines", "_matchers", "_whole", "agent")

    def __init__(
        self,
        lines: RobotsLines | None = None,
        whole: tuple[bool, str] | None = None,
        agent: str | None = None,
    ) -> None:
        self._lines = lines or RobotsLines()
        self._whole = whole
        self.agent = agent
        """The product token that alone may ask, beside names without a group; None: anybody."""
        self._matchers: dict[str, Matcher | None] = {}

    @classmethod
    def parse(cls, body: bytes, user_agent: str | None = None) -> RobotsRules:
        """
        The rules in `body`, of which the first 500 KiB count, cut at the end of a line.

        About 1 ms for 800 rules. Matchers are made when an agent is first asked about.

        Args:
            body: the file.
            user_agent: keep only its groups and those of `*`; None: everybody's.
        """
        if user_agent is None:
            return cls(read_lines(bytes(body)))
        agent = product_token(user_agent)
        return cls(read_lines(bytes(body), (agent, EVERYBODY)), agent=agent)

    def packed(self) -> bytes:
        """The rules as JSON, for `unpack`; comments and unknown lines are gone."""
        lists: dict[int, list[Rule]] = {}
        for groups in self._lines.groups.values():
            lists.update((id(rules), rules) for rules in groups)
        place = {of: number for number, of in enumerate(lists)}
        lines = self._lines
        record = {
            "agent": self.agent,
            "lists": list(lists.values()),
            "groups": {name: [place[id(g)] for g in gs] for name, gs in lines.groups.items()},
            "delays_s": {n: s for n in lines.delays_s if (s := lines.delay_s(n)) is not None},
            "sitemaps": self.sitemaps[:MAX_SITEMAPS],
        }
        return json.dumps(record, separators=(",", ":")).encode()

    @classmethod
    def unpack(cls, packed: bytes) -> RobotsRules:
        """The rules that `packed` gave."""
        record = json.loads(packed)
        lists = [[Rule(*rule) for rule in rules] for rules in record["lists"]]
        groups = {name: [lists[n] for n in places] for name, places in record["groups"].items()}
        delays_s = {name: [[delay_s]] for name, delay_s in record["delays_s"].items()}
        return cls(RobotsLines(groups, delays_s, record["sitemaps"]), agent=record["agent"])

    @property
    def size(self) -> int:
        """How many rules it holds, for whoever bounds memory."""
        lists = {id(g): len(g) for groups in self._lines.groups.values() for g in groups}
        return sum(lists.values())

    @classmethod
    def allow_all(cls, why: str) -> RobotsRules:
        """Everything is allowed, because of `why`."""
        return cls(whole=(True, why))

    @classmethod
    def disallow_all(cls, why: str) -> RobotsRules:
        """Nothing but robots.txt itself is allowed, because of `why`."""
        return cls(whole=(False, why))

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The values of Sitemap lines, each once, as written; they may be anything."""
        return tuple(dict.fromkeys(self._lines.sitemaps))

    def allows(self, user_agent: str, url: str) -> bool:
        """
        Whether `user_agent` may ask for `url`; 2-10 µs.

        Args:
            user_agent: a product token (`aragog`) or a whole User-Agent header.
            url: in any spelling; only its path and query matter.
        """
        path = path_of(url)
        if path == "/robots.txt":
            return True
        if self._whole is not None:
            return self._whole[0]
        matcher = self._matcher(self._group(user_agent))
        if matcher is None:
            return False
        try:
            rule = matcher.best(path)
        except TooCostly:
            return False
        return rule is None or rule.allow

    def refusal(self, user_agent: str, *spellings: str) -> str | None:
        """Why `user_agent` may not ask for a URL with these spellings; None where all allow it."""
        for url in spellings:
            if not self.allows(user_agent, url):
                return self.explain(user_agent, url)
        return None

    def explain(self, user_agent: str, url: str) -> str:
        """One line that names the rule, with its line number, that allows or refuses `url`."""
        path = path_of(url)
        if path == "/robots.txt":
            return "allowed: robots.txt itself always is"
        if self._whole is not None:
            return f"{_verdict(self._whole[0])}: {self._whole[1]}"
        group = self._group(user_agent)
        if group not in self._lines.groups:
            return f"allowed: no group of robots.txt is for {product_token(user_agent)} or *"
        matcher = self._matcher(group)
        if matcher is None:
            return f"refused: robots.txt has more than {MAX_RULES} rules for {group}"
        try:
            rule = matcher.best(path)
        except TooCostly:
            return "refused: the path is too long for that many wildcards in robots.txt"
        if rule is None:
            return f"allowed: no rule of the group for {group} matches"
        return f"{_verdict(rule.allow)} by robots.txt {rule} (group for {group})"

    def crawl_delay_s(self, user_agent: str) -> float | None:
        """
        Seconds that the agent's own group, or else `*`, asks to leave between two requests.

        None when it asks for none. The longest of several; not capped here.
        """
        return self._lines.delay_s(self._group(user_agent))

    def rules_for(self, user_agent: str) -> list[Rule]:
        """The rules that hold for `user_agent`, in the order of the file."""
        if self._whole is not None:
            return [Rule(self._whole[0], "/", 0)]
        return self._lines.rules(self._group(user_agent))

    def _group(self, user_agent: str) -> str:
        name = product_token(user_agent)
        return name if name in self._lines.groups else EVERYBODY

    def _matcher(self, group: str) -> Matcher | None:
        """The matcher of a group; None where it has more rules than are read."""
        if group not in self._matchers:
            rules = self._lines.rules(group)
            self._matchers[group] = Matcher(rules) if len(rules) <= MAX_RULES else None
        return self._matchers[group]

    def __reduce__(self) -> tuple[Any, ...]:
        return (RobotsRules, (self._lines, self._whole, self.agent))

    def __repr__(self) -> str:
        if self._whole is not None:
            return f"<RobotsRules {_verdict(self._whole[0])}: {self._whole[1]}>"
        return f"<RobotsRules for {', '.join(self._lines.groups) or 'nobody'}>"


def rules_for_status(status: int | None, body: bytes = b"") -> RobotsRules:
    """
    The rules that an answer to a request for robots.txt stands for (RFC 9309 section 2.3.1).

    2xx: what the body says. 5xx, 429, or none at all (DNS, connection, timeout): nothing is
    allowed. Everything else, 4xx and redirects that led nowhere: there are no rules.

    Args:
        status: of the last hop; None when there was no answer.
        body: read for a 2xx only.
    """
    if status is None:
        return RobotsRules.disallow_all("robots.txt could not be reached")
    if 200 <= status < 300:
        return RobotsRules.parse(body)
    # 429 is a server that is busy, not a site without rules; Google reads it as a 5xx.
    if status >= 500 or status == 429 or status < 200:
        return RobotsRules.disallow_all(f"robots.txt answered with status {status}")
    return RobotsRules.allow_all(f"there is no robots.txt (status {status})")


@lru_cache(maxsize=256)
def product_token(user_agent: str) -> str:
    """
    The name under which robots.txt knows a crawler, in lower case.

    `aragog/1.0 (+https://example.org/bot)` is `aragog`; so is
    `Mozilla/5.0 (compatible; aragog/1.0; …)`. Two words without version or comment are no name
    that a group can have.
    """
    if user_agent.startswith("Mozilla/") and (found := _COMPATIBLE.search(user_agent)):
        return found.group(1).lower()
    return _PRODUCT_END.split(user_agent.strip(), maxsplit=1)[0].lower()


def path_of(url: str) -> str:
    """
    Path and query of a URL with or without a scheme, without the fragment; `/` when it has none.

    Text that is no URL gives some path; nothing is normalized.
    """
    start = 2 if url.startswith("//") else 0
    early = _PATH_START.search(url, start)
    scheme = url.find("://", start)
    if scheme >= 0 and not (early and early.start() < scheme):
        early = _PATH_START.search(url, scheme + 3)
    if early is None:
        return "/"
    begin, end = early.start(), url.find("#", start)
    if 0 <= end < begin:
        return "/"
    path = url[begin:end] if end >= 0 else url[begin:]
    return path if path[:1] == "/" else "/" + path


def _verdict(allowed: bool) -> str:
    return "allowed" if allowed else "refused"
