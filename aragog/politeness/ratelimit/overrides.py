"""
The operator's word on single domains: a TOML file that is read again within seconds of a change.

    ["example.com"]            # example.com and every host under it, together
    qps = 2

    ["shops.example"]          # each host under shops.example by itself
    scope = "host"
    max_concurrent = 4

The longest name that is the host or a parent of it applies; docs/politeness.md has it all.
"""

from __future__ import annotations

import logging
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, cast

import idna

from aragog.clock import Clock, SystemClock
from aragog.errors import ConfigError

log = logging.getLogger(__name__)

# How often the file is looked at: one stat(2); the promise is 5 s.
LOOK_EVERY_S = 1.0
MAX_QPS = 10_000


@dataclass(frozen=True, slots=True)
class Override:
    """What the file says of one domain or host; None: as the settings say."""

    name: str
    """Lower case, punycode, no dot at the end."""
    qps: float | None = None
    """Requests a second; above 0."""
    scope: Literal["domain", "host"] = "domain"
    """`domain`: all hosts under `name` share the rate. `host`: each has it for itself."""
    max_concurrent: int | None = None
    """Requests under way at a time, in the whole cluster."""
    crawl_delay_cap_s: float | None = None
    """The longest Crawl-delay that is honoured; 0: none is."""
    blocked: bool = False
    """Nothing of it is fetched."""


class Overrides:
    """
    The file's last good content. Safe to share between threads.

    Args:
        path: None: no overrides.
        blocked_hosts: names that are blocked beside those of the file, with all hosts below them.
        clock: its stopwatch says when to look again.

    Raises:
        ConfigError: the file cannot be read or used; every problem names file, key and value.
    """

    def __init__(
        self,
        path: Path | None = None,
        clock: Clock | None = None,
        *,
        blocked_hosts: Sequence[str] = (),
    ) -> None:
        self.path = path
        self._blocked = _blocked_names(blocked_hosts)
        self.problem: str | None = None
        """Why the file as it is now is not used; None while it is."""
        self._clock = clock or SystemClock()
        self._looked_s = self._clock.monotonic_s()
        self._signature = _signature(path)
        self._table: Mapping[str, Override] = read_overrides(path) if path else {}

    def find(self, host: str) -> Override | None:
        """The override with the longest name that is `host` or a parent of it."""
        table = self.table()
        while table and host:
            if host in table:
                return table[host]
            host = host.partition(".")[2]
        return None

    def blocked(self, host: str) -> str | None:
        """Which setting blocks a host, for people; None: none does."""
        found = self.find(host)
        if found is not None and found.blocked:
            return f"{self.path} blocks {found.name}"
        while self._blocked and host:
            if host in self._blocked:
                return f"politeness.blocked_hosts has {host}"
            host = host.partition(".")[2]
        return None

    def table(self) -> Mapping[str, Override]:
        """All overrides by name, not older than `LOOK_EVERY_S`; costs a stat(2) that often."""
        if self.path is None:
            return self._table
        now_s = self._clock.monotonic_s()
        if now_s - self._looked_s >= LOOK_EVERY_S:
            self._looked_s = now_s
            self._look(self.path)
        return self._table

    def _look(self, path: Path) -> None:
        signature = _signature(path)
        if signature == self._signature:
            return
        self._signature = signature
        try:
            self._table = read_overrides(path)
        except ConfigError as error:
            self.problem = str(error)
            log.warning("overrides stay as they were, the file cannot be used: %s", error)
        else:
            # As loud as the complaint was, or nobody who mends the file learns that it is used.
            level = logging.WARNING if self.problem else logging.INFO
            self.problem = None
            log.log(level, "overrides read anew: %d names in %s", len(self._table), path)


def read_overrides(path: Path) -> dict[str, Override]:
    """
    The overrides in a file, by name.

    Raises:
        ConfigError: names the file and every key and value that cannot be used.
    """
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path}: cannot be read: {error}; mend it, or unset politeness.overrides_file"
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: is not TOML: {error}") from error
    problems: list[str] = []
    found: dict[str, Override] = {}
    for name, values in document.items():
        override = _read_one(f"{path}: [{name!r}]", name, values, problems)
        if override.name in found:
            problems.append(f"{path}: [{name!r}]: stands there twice; keep one")
        found[override.name] = override
    if problems:
        raise ConfigError(*problems)
    return found


def _read_one(at: str, name: str, values: Any, problems: list[str]) -> Override:
    if not isinstance(values, dict):
        problems.append(f'{at}: must be a table; write ["{name}"] above its keys')
        return Override(name)
    if any(isinstance(value, dict) for value in values.values()):
        # [example.com] is TOML for com inside example.
        problems.append(f'{at}: a name with dots goes in quotes: ["{name}.…"]')
        return Override(name)
    known = [field.name for field in fields(Override) if field.name != "name"]
    problems += [
        f"{at}.{key}: is not known; use {', '.join(known)}"
        for key in sorted(values.keys() - set(known))
    ]
    for key, value in values.items():
        must = _what_it_must_be(key, value)
        if must:
            problems.append(f"{at}.{key}: must be {must}, got {value!r}")
    host = _host(name)
    if host is None:
        problems.append(f"{at}: is not a domain or host name; give it without scheme, port or path")
    given = {key: value for key, value in values.items() if key in known}
    return Override(host or name, **cast("dict[str, Any]", given))


def _what_it_must_be(key: str, value: Any) -> str | None:
    """What the value of `key` has to be, when it is not."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match key:
        case "qps":
            good, must = number and 0 < value <= MAX_QPS, f"a number above 0, up to {MAX_QPS}"
        case "scope":
            good, must = value in ("domain", "host"), '"domain" or "host"'
        case "max_concurrent":
            good = isinstance(value, int) and number and 1 <= value <= 10_000
            must = "a whole number from 1 to 10000"
        case "crawl_delay_cap_s":
            good, must = number and 0 <= value <= 86_400, "seconds from 0 to 86400"
        case "blocked":
            good, must = isinstance(value, bool), "true or false"
        case _:
            return None
    return None if good else must


def _blocked_names(names: Sequence[str]) -> frozenset[str]:
    found = {name: _host(name) for name in names}
    problems = [
        f"politeness.blocked_hosts: {name!r} is no host; give it without scheme, port or path"
        for name, host in found.items()
        if host is None
    ]
    if problems:
        raise ConfigError(*problems)
    return frozenset(host for host in found.values() if host is not None)


def _host(name: str) -> str | None:
    """The name as hosts are spelled here, None when it is none."""
    bare = name.strip().rstrip(".").lower()
    if bare.isascii():
        allowed = bare.replace("-", "").replace(".", "").replace("_", "").isalnum()
        return bare if allowed and ".." not in bare and not bare.startswith(".") else None
    try:
        return idna.encode(bare, uts46=True).decode("ascii")
    except idna.IDNAError:
        return None


def _signature(path: Path | None) -> tuple[int, int, int] | None:
    """What changes when the file does: mtime and size; the inode, for a file renamed over it."""
    try:
        seen = path.stat() if path else None
    except OSError:
        return None
    return (seen.st_mtime_ns, seen.st_size, seen.st_ino) if seen else None
