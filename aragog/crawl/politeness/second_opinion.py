"""
Compares our robots.txt parser with reppy, on a sample of the files that a crawl fetches.

If reppy is installed, both decide about `/` and one path per rule of our group. Differences are
counted, and the file is saved with both results for review. The crawl only follows our parser.
Files with several wildcards in one line are skipped, because reppy can take minutes for them
(`robots_engines`). Files with anything but printable ASCII are skipped, too, because reppy is
unmaintained C++ code.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from aragog.crawl.politeness.robots_rules import RobotsRules
from aragog.runtime.extras import has

MAX_BYTES = 65_536
MAX_LINE_BYTES = 2_048
MAX_PATHS = 50
_NOT_PRINTABLE = re.compile(rb"[^\t\n\r -~]")
MAX_FILES = 200
"""The maximum number of saved files. Differences in other files are only counted."""


class Difference(NamedTuple):
    """A URL about which the two parsers disagree."""

    url: str
    ours: bool
    theirs: bool


@dataclass(frozen=True, slots=True)
class SecondOpinion:
    """
    Compares the parsers. Thread-safe. Safe to repeat: a file is always saved under the same name.

    Args:
        share: the share of files to compare, from 0 to 1.
        folder: for files with differences.
        user_agent: the crawler's User-Agent.
        rng: draws the sample.
    """

    share: float
    folder: Path
    user_agent: str
    rng: Callable[[], float] = random.random

    def check(self, origin: str, body: bytes) -> bool | None:
        """Return True if the parsers disagree about this file, or None if it was not compared."""
        if not has("reppy") or self.rng() >= self.share or not is_safe(body):
            return None
        disagreements = differences(origin, body, self.user_agent)
        if disagreements:
            self._save(origin, body, disagreements)
        return bool(disagreements)

    def _save(self, origin: str, body: bytes, disagreements: Sequence[Difference]) -> None:
        """Save the file and the differences. Ignores disk errors."""
        stem = self.folder / hashlib.sha256(body).hexdigest()[:16]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if sum(1 for _ in self.folder.glob("*.json")) >= MAX_FILES:
                return
            stem.with_suffix(".txt").write_bytes(body)
            report = {
                "origin": origin,
                "differences": [difference._asdict() for difference in disagreements],
            }
            stem.with_suffix(".json").write_text(json.dumps(report, indent=1))
        except OSError:
            return


def is_safe(body: bytes) -> bool:
    """Return True if reppy can read a file in bounded time (at most one wildcard per line)."""
    if len(body) > MAX_BYTES or _NOT_PRINTABLE.search(body):
        return False
    return all(line.count(b"*") <= 1 and len(line) <= MAX_LINE_BYTES for line in body.splitlines())


def differences(origin: str, body: bytes, user_agent: str) -> list[Difference]:
    """Return an origin's tested URLs about which the parsers disagree."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from reppy.robots import Robots  # noqa: PLC0415 - an extra, and slow to import
    ours = RobotsRules.parse(body)
    theirs = Robots.parse(f"{origin}/robots.txt", body)
    name = user_agent.partition("/")[0]
    urls = [origin + path for path in _paths(ours, user_agent)]
    results = [
        Difference(u, ours.allows(user_agent, u), bool(theirs.allowed(u, name))) for u in urls
    ]
    return [difference for difference in results if difference.ours != difference.theirs]


def _paths(rules: RobotsRules, user_agent: str) -> list[str]:
    patterns = (rule.pattern for rule in rules.rules_for(user_agent)[:MAX_PATHS])
    literal_paths = (pattern.removesuffix("$").replace("*", "x") for pattern in patterns)
    return list(dict.fromkeys(["/", *(p for p in literal_paths if p.startswith("/"))]))
