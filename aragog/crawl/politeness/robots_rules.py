"""
The rules of a robots.txt file: which URLs a user agent may fetch.

They follow RFC 9309, and Google's parser where the RFC is silent or real files deviate from it. No
input raises an error. Delays are in seconds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from functools import lru_cache
from typing import Any

from aragog.crawl.politeness.robots_parser import parse as parser
from aragog.crawl.politeness.robots_parser.match import Matcher, TooCostly
from aragog.crawl.politeness.robots_parser.parse import (
    ALL_AGENTS,
    MAX_RULES,
    RobotsLines,
    Rule,
    UsageRule,
    read_lines,
)
from aragog.crawl.politeness.robots_parser.spelling import comparable_path, get_path
from aragog.crawl.politeness.robots_parser.timed_rules import TimedRule, minute_of_day
from aragog.crawl.politeness.robots_parser.usage_rules import UsageRules
from aragog.crawl.politeness.tdm_file import TdmRule, TdmRules
from aragog.pages.preferences import (
    AIPREF,
    SIGNALS,
    TDM_FILE_READ,
    UseStatement,
    content_signal,
    content_usage,
    refused_purpose,
)

# How many bytes of a file are read (RFC 9309, 2.5).
MAX_BYTES = parser.MAX_BYTES
# How many Sitemap lines per file are kept.
MAX_SITEMAPS = 100
_COMPATIBLE = re.compile(r"compatible;\s*([A-Za-z_-][^\s;/()]*)")
_PRODUCT_END = re.compile(r"[/(]")


class RobotsRules:
    """The rules of one robots.txt. Immutable and thread-safe. Pickles omit the cached matchers."""

    __slots__ = ("_lines", "_matchers", "_tdm_rules", "_usage", "_verdict_for_all", "agent", "tdm")

    def __init__(
        self,
        lines: RobotsLines | None = None,
        verdict_for_all: tuple[bool, str] | None = None,
        agent: str | None = None,
        tdm: tuple[TdmRule, ...] | None = None,
    ) -> None:
        self._lines = lines or RobotsLines()
        self._verdict_for_all = verdict_for_all
        self.agent = agent
        """The product token whose groups were kept in addition to those for `*`. None if all were
        kept."""
        self.tdm = tdm
        """The rules of the site's tdmrep.json, or None if it was not requested."""
        self._tdm_rules = TdmRules(tdm) if tdm else None
        self._matchers: dict[str, Matcher | None] = {}
        self._usage: dict[tuple[str, str], UsageRules] = {}

    @classmethod
    def parse(cls, body: bytes, user_agent: str | None = None) -> RobotsRules:
        """
        Parse the first 500 KiB of `body`, up to the end of a line.

        Keeps only the groups of `user_agent` and `*`; all groups if None. Takes about 1 ms for 800
        rules. An agent's matcher is built on first use.
        """
        if user_agent is None:
            return cls(read_lines(bytes(body)))
        agent = product_token(user_agent)
        return cls(read_lines(bytes(body), (agent, ALL_AGENTS)), agent=agent)

    def with_tdm(self, tdm: tuple[TdmRule, ...] | None) -> RobotsRules:
        """Return the same rules plus those of the site's tdmrep.json."""
        return RobotsRules(self._lines, self._verdict_for_all, self.agent, tdm)

    def packed(self) -> bytes:
        """Return the rules as JSON for `unpack`, without comments and unknown lines."""
        lists: dict[int, list[Rule]] = {}
        for groups in self._lines.groups.values():
            lists.update((id(rules), rules) for rules in groups)
        index = {identity: number for number, identity in enumerate(lists)}
        lines = self._lines
        record: dict[str, Any] = {
            "agent": self.agent,
            "lists": list(lists.values()),
            "groups": {name: [index[id(g)] for g in gs] for name, gs in lines.groups.items()},
            "delays_s": {n: s for n in lines.delays_s if (s := lines.delay_s(n)) is not None},
            "sitemaps": self.sitemaps[:MAX_SITEMAPS],
        }
        optional = {
            "usage": {name: [r for group in gs for r in group] for name, gs in lines.usage.items()},
            "signals": lines.signals,
            "licenses": lines.licenses,
            "timed": {name: lines.timed_rules(name) for name in lines.timed},
        }
        record |= {name: value for name, value in optional.items() if value}
        if self.tdm is not None:
            record["tdm"] = self.tdm
        return json.dumps(record, separators=(",", ":")).encode()

    @classmethod
    def unpack(cls, packed: bytes) -> RobotsRules:
        record = json.loads(packed)
        lists = [[Rule(*rule) for rule in rules] for rules in record["lists"]]
        groups = {name: [lists[n] for n in numbers] for name, numbers in record["groups"].items()}
        delays_s = {name: [[delay_s]] for name, delay_s in record["delays_s"].items()}
        usage = record.get("usage", {})
        lines = RobotsLines(
            groups,
            delays_s,
            record["sitemaps"],
            {name: [[UsageRule(*rule) for rule in rules]] for name, rules in usage.items()},
            [UsageRule(*rule) for rule in record.get("signals", ())],
            [(value, number) for value, number in record.get("licenses", ())],
            {
                name: [[TimedRule(*rule) for rule in rules]]
                for name, rules in record.get("timed", {}).items()
            },
        )
        tdm = record.get("tdm")
        tdm_rules = None if tdm is None else tuple(TdmRule(*rule) for rule in tdm)
        return cls(lines, agent=record["agent"], tdm=tdm_rules)

    @property
    def size(self) -> int:
        """The number of rules. The in-process cache limits their total."""
        lines = self._lines
        lists = {id(g): len(g) for groups in lines.groups.values() for g in groups}
        lists |= {id(g): len(g) for groups in lines.usage.values() for g in groups}
        return sum(lists.values()) + len(lines.signals) + len(self.tdm or ())

    @classmethod
    def allow_all(cls, reason: str) -> RobotsRules:
        """Return rules that allow everything, with a reason for display."""
        return cls(verdict_for_all=(True, reason))

    @classmethod
    def disallow_all(cls, reason: str) -> RobotsRules:
        """Return rules that only allow robots.txt itself, with a reason for display."""
        return cls(verdict_for_all=(False, reason))

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The distinct values of Sitemap lines, not validated."""
        return tuple(dict.fromkeys(self._lines.sitemaps))

    def allows(self, user_agent: str, url: str) -> bool:
        """
        Return True if `user_agent` may fetch `url`. Takes 2-10 µs.

        Args:
            user_agent: a product token (`aragog`) or a full User-Agent header.
            url: a URL in any form. Only its path and query matter.
        """
        path = get_path(url)
        if path == "/robots.txt":
            return True
        if self._verdict_for_all is not None:
            return self._verdict_for_all[0]
        matcher = self._get_matcher(self._group_name(user_agent))
        if matcher is None:
            return False
        try:
            rule = matcher.best_rule(path)
        except TooCostly:
            return False
        return rule is None or rule.allow

    def refusal(self, user_agent: str, *url_forms: str) -> str | None:
        """Return why `user_agent` may not fetch one of these forms of a URL, or None."""
        for url in url_forms:
            if not self.allows(user_agent, url):
                return self.explain(user_agent, url)
        return None

    def explain(self, user_agent: str, url: str) -> str:
        """Return a line of text that names the deciding rule for `url` and its line number."""
        path = get_path(url)
        if path == "/robots.txt":
            return "allowed: robots.txt itself is always allowed"
        if self._verdict_for_all is not None:
            return f"{_verdict_text(self._verdict_for_all[0])}: {self._verdict_for_all[1]}"
        group = self._group_name(user_agent)
        if group not in self._lines.groups:
            return f"allowed: no group of robots.txt is for {product_token(user_agent)} or *"
        matcher = self._get_matcher(group)
        if matcher is None:
            return f"refused: robots.txt has more than {MAX_RULES} rules for {group}"
        try:
            rule = matcher.best_rule(path)
        except TooCostly:
            return "refused: the path is too long for the wildcards in robots.txt"
        if rule is None:
            return f"allowed: no rule of the group for {group} matches"
        return f"{_verdict_text(rule.allow)} by robots.txt {rule} (group for {group})"

    def statements(self, user_agent: str, url: str, drafts: Collection[str]) -> list[UseStatement]:
        """
        Return what the file states about the use of `url`, with the line of each statement.

        If the site's tdmrep.json was read, includes its statements and the note `TDM_FILE_READ`.

        In each syntax, the longest matching path applies. Lines with equal paths apply together.

        Args:
            user_agent: the agent whose group applies.
            url: a URL in any form.
            drafts: the draft standards to apply (`aragog.pages.preferences.DRAFTS`).
        """
        lines = self._lines
        statements = [
            UseStatement("license", value[:200], f"robots.txt line {number}, License")
            for value, number in lines.licenses
        ]
        if self.tdm is not None:
            statements.append(TDM_FILE_READ)
        if self._tdm_rules is not None:
            statements += self._tdm_rules.statements(get_path(url))
        if self._verdict_for_all is not None or not (lines.usage or lines.signals):
            return statements
        group, path = self._group_name(user_agent), get_path(url)
        for draft, syntax, read in _SYNTAXES:
            if draft in drafts:
                for rule in self._usage_rules(group, syntax).find_matching(path):
                    statements += read(rule.value, str(rule)[:300])
        return statements

    def _usage_rules(self, group: str, syntax: str) -> UsageRules:
        key = group, syntax
        if key not in self._usage:
            rules = [r for r in self._lines.usage_rules(group) if r.syntax == syntax]
            self._usage[key] = UsageRules(rules)
        return self._usage[key]

    def use_refusal(
        self,
        user_agent: str,
        purposes: Collection[str],
        drafts: Collection[str],
        *url_forms: str,
    ) -> str | None:
        """Return why a purpose is forbidden for one of these forms of a URL, or None."""
        if not purposes:
            return None
        for url in url_forms:
            if statement := refused_purpose(self.statements(user_agent, url, drafts), purposes):
                return f"not for {statement.purpose}: {statement.where}"
        return None

    def crawl_delay_s(self, user_agent: str, at_s: float | None = None) -> float | None:
        """
        Return the seconds between two requests, from Crawl-delay and Request-rate lines.

        Uses the agent's own group, or else the group for `*`. Returns the longest value, or None.
        The caller applies `crawl_delay_cap_s`.

        Args:
            user_agent: the agent whose group applies.
            at_s: the time, in seconds since the epoch, for Request-rate lines with hours. If None,
                all apply.
        """
        group = self._group_name(user_agent)
        delay_s = self._lines.delay_s(group)
        if not self._lines.timed:
            return delay_s
        rates = [
            rule.delay_s
            for rule in self._lines.timed_rules(group)
            if not rule.is_visit and (at_s is None or rule.applies_at(minute_of_day(at_s)))
        ]
        return max((s for s in (delay_s, *rates) if s is not None), default=None)

    @property
    def is_timed(self) -> bool:
        """True if the file has Request-rate or Visit-time lines."""
        return bool(self._lines.timed)

    def visit_wait_s(self, user_agent: str, at_s: float) -> float:
        """
        Return the seconds until the agent's next Visit-time; 0.0 if it is now or there is none.

        Spans shorter than `MIN_VISIT_MIN` are extended, because no site can be fetched in one
        minute per day. If there are several spans, each one allows visits.

        Args:
            user_agent: the agent whose group applies.
            at_s: the current time, in seconds since the epoch.
        """
        if not self._lines.timed:
            return 0.0
        spans = [r for r in self._lines.timed_rules(self._group_name(user_agent)) if r.is_visit]
        if not spans:
            return 0.0
        minute = minute_of_day(at_s)
        if any(span.with_min_length().applies_at(minute) for span in spans):
            return 0.0
        return min((span.begin_min - minute) % 1440 for span in spans) * 60

    def timed_lines(self, user_agent: str) -> list[str]:
        """Return the Request-rate and Visit-time lines of the agent's group, for display."""
        return [str(rule) for rule in self._lines.timed_rules(self._group_name(user_agent))]

    def rules_for(self, user_agent: str) -> list[Rule]:
        """Return the rules for `user_agent`, in the order of the file."""
        if self._verdict_for_all is not None:
            return [Rule(self._verdict_for_all[0], "/", 0)]
        return self._lines.rules(self._group_name(user_agent))

    def _group_name(self, user_agent: str) -> str:
        name = product_token(user_agent)
        return name if name in self._lines.groups else ALL_AGENTS

    def _get_matcher(self, group: str) -> Matcher | None:
        """Return a group's matcher, or None if it has too many rules."""
        if group not in self._matchers:
            rules = self._lines.rules(group)
            self._matchers[group] = Matcher(rules) if len(rules) <= MAX_RULES else None
        return self._matchers[group]

    def __reduce__(self) -> tuple[Any, ...]:
        return (RobotsRules, (self._lines, self._verdict_for_all, self.agent, self.tdm))

    def __repr__(self) -> str:
        if self._verdict_for_all is not None:
            allowed, reason = self._verdict_for_all
            return f"<RobotsRules {_verdict_text(allowed)}: {reason}>"
        return f"<RobotsRules for {', '.join(self._lines.groups) or 'no agent'}>"


_SYNTAXES = (
    (AIPREF, "content-usage", content_usage),
    (SIGNALS, "content-signal", content_signal),
)


def rules_for_status(status: int | None, body: bytes = b"") -> RobotsRules:
    """
    Map the response to a request for robots.txt to rules (RFC 9309, section 2.3.1).

    After a 2xx, the body applies. After a 5xx, a 429 or no response (DNS, connection, timeout),
    nothing is allowed. Otherwise (4xx, failed redirects), everything is allowed.

    Args:
        status: the last response's status, or None if there was none.
        body: only used for a 2xx.
    """
    if status is None:
        return RobotsRules.disallow_all("robots.txt could not be reached")
    if 200 <= status < 300:
        return RobotsRules.parse(body)
    # 429 means that the server is busy, not that there are no rules. Google treats it like a 5xx.
    if status >= 500 or status == 429 or status < 200:
        return RobotsRules.disallow_all(f"robots.txt returned status {status}")
    return RobotsRules.allow_all(f"there is no robots.txt (status {status})")


@lru_cache(maxsize=256)
def product_token(user_agent: str) -> str:
    """
    Return a User-Agent's product token, in lower case.

    Both `aragog/1.0 (+https://example.org/bot)` and `Mozilla/5.0 (compatible; aragog/1.0; …)` yield
    `aragog`.
    """
    if user_agent.startswith("Mozilla/") and (match := _COMPATIBLE.search(user_agent)):
        return match.group(1).lower()
    return _PRODUCT_END.split(user_agent.strip(), maxsplit=1)[0].rstrip().lower()


def comparable_url(url: str) -> str:
    """Return the part of an absolute URL to compare with rules: normalized path and query."""
    return comparable_path(get_path(url))


def _verdict_text(allowed: bool) -> str:
    return "allowed" if allowed else "refused"
