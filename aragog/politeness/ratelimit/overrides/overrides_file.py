"""
Read the overrides file: TOML with a table for each domain or host.

    ["example.com"]            # example.com and every host under it, together
    qps = 2

    ["shops.example"]          # each host under shops.example separately
    scope = "host"
    max_concurrent = 4

docs/politeness.md lists all keys.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, cast

import idna

from aragog.errors import ConfigError
from aragog.politeness.ratelimit.overrides.live_overrides import MAX_QPS


@dataclass(frozen=True, slots=True)
class Override:
    """The override for one domain or host. None: the setting applies."""

    name: str
    """Lower case, punycode, no trailing dot."""
    qps: float | None = None
    """Requests per second; above 0."""
    scope: Literal["domain", "host"] = "domain"
    """`domain`: all hosts under `name` share the rate. `host`: each host has its own."""
    max_concurrent: int | None = None
    """Concurrent requests in the whole cluster."""
    crawl_delay_cap_s: float | None = None
    """The longest Crawl-delay that is applied, in seconds; 0: ignore Crawl-delay."""
    blocked: bool = False
    """True: its URLs are not fetched."""
    stopped: bool = False
    """True: no request is sent; its URLs wait until it is resumed."""


def read_overrides(path: Path) -> dict[str, Override]:
    """
    Read the overrides in a file, by name.

    Raises:
        ConfigError: the file is invalid; names the file and every invalid key and value.
    """
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path}: cannot be read: {error}; fix it, or unset politeness.overrides_file"
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: is not valid TOML: {error}") from error
    problems: list[str] = []
    overrides: dict[str, Override] = {}
    for name, values in document.items():
        override = _read_one(f"{path}: [{name!r}]", name, values, problems)
        if override.name in overrides:
            problems.append(f"{path}: [{name!r}]: is listed twice; keep one")
        overrides[override.name] = override
    if problems:
        raise ConfigError(*problems)
    return overrides


def _read_one(at: str, name: str, values: Any, problems: list[str]) -> Override:
    if not isinstance(values, dict):
        problems.append(f'{at}: must be a table; write ["{name}"] above its keys')
        return Override(name)
    if any(isinstance(value, dict) for value in values.values()):
        # [example.com] is TOML for com inside example.
        problems.append(f'{at}: quote a name with dots: ["{name}.…"]')
        return Override(name)
    names = [field.name for field in fields(Override) if field.name != "name"]
    problems += [
        f"{at}.{key}: is not a known key; use {', '.join(names)}"
        for key in sorted(values.keys() - set(names))
    ]
    for key, value in values.items():
        requirement = _requirement(key, value)
        if requirement:
            problems.append(f"{at}.{key}: must be {requirement}, got {value!r}")
    host = host_name(name)
    if host is None:
        problems.append(
            f"{at}: is not a domain or host name; write it without scheme, port or path"
        )
    settings = {key: value for key, value in values.items() if key in names}
    return Override(host or name, **cast("dict[str, Any]", settings))


def _requirement(key: str, value: Any) -> str | None:
    """Return what the value of `key` must be; None if it is valid or the key is unknown."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match key:
        case "qps":
            valid, requirement = (
                number and 0 < value <= MAX_QPS,
                f"a number above 0, up to {MAX_QPS}",
            )
        case "scope":
            valid, requirement = value in ("domain", "host"), '"domain" or "host"'
        case "max_concurrent":
            valid = isinstance(value, int) and number and 1 <= value <= 10_000
            requirement = "a whole number from 1 to 10000"
        case "crawl_delay_cap_s":
            valid, requirement = number and 0 <= value <= 86_400, "seconds from 0 to 86400"
        case "blocked" | "stopped":
            valid, requirement = isinstance(value, bool), "true or false"
        case _:
            return None
    return None if valid else requirement


def host_name(name: str) -> str | None:
    """Return the name in lower case and punycode; None if it is not a host name."""
    bare = name.strip().rstrip(".").lower()
    if bare.isascii():
        allowed = bare.replace("-", "").replace(".", "").replace("_", "").isalnum()
        return bare if allowed and ".." not in bare and not bare.startswith(".") else None
    try:
        return idna.encode(bare, uts46=True).decode("ascii")
    except idna.IDNAError:
        return None
