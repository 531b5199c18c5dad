"""The in-process cache of robots.txt: records by origin, and parsed rules by version."""

from __future__ import annotations

import threading
from collections import OrderedDict

from aragog.crawl.politeness.robots_records import (
    RobotsRecord,
)
from aragog.crawl.politeness.robots_rules import RobotsRules

# A record takes about 0.5 KB.
MAX_ORIGINS = 50_000
# Limits on the number of files and of their rules. A rule and its matcher take about 250 bytes.
MAX_FILES = 5_000
MAX_RULES = 200_000


class RobotsMemory:
    """
    A cache of limited size, which drops the entries stored longest ago. Thread-safe.

    Origins with equal rules share one copy, because their records have the same version.
    """

    def __init__(
        self,
        *,
        max_origins: int = MAX_ORIGINS,
        max_files: int = MAX_FILES,
        max_rules: int = MAX_RULES,
    ) -> None:
        self._max_origins, self._max_files, self._max_rules = max_origins, max_files, max_rules
        self._lock = threading.Lock()
        self._records: OrderedDict[str, tuple[RobotsRecord, float]] = OrderedDict()
        self._rules: OrderedDict[bytes, RobotsRules] = OrderedDict()
        self._rule_count = 0

    def get(self, origin: str) -> tuple[RobotsRecord, RobotsRules, float] | None:
        """Return an origin's record and rules, and when they were last checked, or None."""
        with self._lock:
            record, checked_s = self._records.get(origin, (None, 0.0))
            rules = self._rules.get(record.version) if record else None
            return (record, rules, checked_s) if record and rules is not None else None

    def rules(self, version: bytes) -> RobotsRules | None:
        """Return the rules with this version, or None."""
        with self._lock:
            return self._rules.get(version)

    def keep(self, origin: str, record: RobotsRecord, rules: RobotsRules, checked_s: float) -> None:
        """Cache a record and its rules, read at `checked_s` (monotonic clock)."""
        with self._lock:
            self._records[origin] = record, checked_s
            self._records.move_to_end(origin)
            while len(self._records) > self._max_origins:
                self._records.popitem(last=False)
            if record.version not in self._rules:
                self._rule_count += rules.size
            self._rules[record.version] = rules
            self._rules.move_to_end(record.version)
            while len(self._rules) > 1 and self._is_full():
                self._rule_count -= self._rules.popitem(last=False)[1].size

    def _is_full(self) -> bool:
        return len(self._rules) > self._max_files or self._rule_count > self._max_rules

    def drop(self, origin: str) -> None:
        """Remove an origin's record."""
        with self._lock:
            self._records.pop(origin, None)

    def __len__(self) -> int:
        return len(self._rules)
