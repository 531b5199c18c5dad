"""The rules that one process keeps in memory: bounded by origins, by files and by rules."""

from __future__ import annotations

import threading
from collections import OrderedDict

from aragog.politeness.robots.record import RobotsRecord
from aragog.politeness.robots.rules import RobotsRules

# A record takes about 0.5 KB.
MAX_ORIGINS = 50_000
# Files, and rules in all of them together; a rule takes about 250 bytes with its matcher.
MAX_FILES = 5_000
MAX_RULES = 200_000


class RobotsMemory:
    """
    Records by origin and rules by version; whatever was used last is dropped last. Thread-safe.

    Origins whose rules are equal share them, since their records have the same version.
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
        self._seen: OrderedDict[str, tuple[RobotsRecord, float]] = OrderedDict()
        self._rules: OrderedDict[bytes, RobotsRules] = OrderedDict()
        self._rules_count = 0

    def get(self, origin: str) -> tuple[RobotsRecord, RobotsRules, float] | None:
        """The record and the rules of `origin`, and when they were looked up, if all is known."""
        with self._lock:
            record, looked_s = self._seen.get(origin, (None, 0.0))
            rules = self._rules.get(record.version) if record else None
            return (record, rules, looked_s) if record and rules is not None else None

    def rules(self, version: bytes) -> RobotsRules | None:
        """The rules of a version."""
        with self._lock:
            return self._rules.get(version)

    def keep(self, origin: str, record: RobotsRecord, rules: RobotsRules, looked_s: float) -> None:
        """Remember what was looked up at `looked_s` (stopwatch)."""
        with self._lock:
            self._seen[origin] = record, looked_s
            self._seen.move_to_end(origin)
            while len(self._seen) > self._max_origins:
                self._seen.popitem(last=False)
            if record.version not in self._rules:
                self._rules_count += rules.size
            self._rules[record.version] = rules
            self._rules.move_to_end(record.version)
            while len(self._rules) > 1 and self._too_many():
                self._rules_count -= self._rules.popitem(last=False)[1].size

    def _too_many(self) -> bool:
        return len(self._rules) > self._max_files or self._rules_count > self._max_rules

    def drop(self, origin: str) -> None:
        """Forget the record of `origin`: there is a newer one."""
        with self._lock:
            self._seen.pop(origin, None)

    def __len__(self) -> int:
        """How many files' rules are kept."""
        return len(self._rules)
