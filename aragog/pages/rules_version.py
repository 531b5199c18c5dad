"""
The version of the rules and code that extract a page's fields.

The version is stored with the page, as `page.rules_version`. If it differs from the current one,
`aragog reextract` and `aragog run -O` extract the page's fields again, from its stored content. The
version is a hash of the settings and of the Python files in the settings. Of an installed package,
only the name is hashed, so run `aragog reextract --all` after you have upgraded the package.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from aragog.errors import InvalidUrl
from aragog.settings.extractor_names import is_file_name
from urlspelling.domain import host
from urlspelling.hosts import and_parents

VERSION_FIELD = "page.rules_version"
HASH_DIGITS = 16


class RulesVersions:
    """
    The version of each host's rules.

    Args:
        extractors: `pipeline.extractors`.
        tables: the setting `extract`.
    """

    def __init__(
        self, extractors: tuple[str, ...], tables: Mapping[str, Mapping[str, Any]]
    ) -> None:
        self._extractor_versions = [*extractors, *_hash_files(extractors)]
        self._by_host: dict[str, list[Any]] = {}
        for name, table in tables.items():
            host_name = name.strip().lower().removeprefix("*.").rstrip(".")
            self._by_host.setdefault(host_name, []).append([table, *_hash_files(table)])
        self.whole = (
            _hash([self._extractor_versions, self._by_host]) if extractors or tables else ""
        )
        """The version of all rules together, or "" without rules."""

    def of(self, url: str) -> str:
        """Return the version for a normalized URL's page, or "" without rules and extractors."""
        with suppress(InvalidUrl):
            names = [name for name in and_parents(host(url)) if name in self._by_host]
            if names or self._extractor_versions:
                return _hash(
                    [self._extractor_versions, [(name, self._by_host[name]) for name in names]]
                )
        return ""


def rules_versions(
    extractors: tuple[str, ...], tables: Mapping[str, Mapping[str, Any]]
) -> RulesVersions:
    """Return the versions for these settings. Calls with equal settings return the same object."""
    return _build_versions(
        extractors, orjson.dumps(tables, default=str, option=orjson.OPT_NON_STR_KEYS)
    )


@lru_cache(maxsize=16)
def _build_versions(extractors: tuple[str, ...], tables: bytes) -> RulesVersions:
    return RulesVersions(extractors, orjson.loads(tables))


def _hash_files(settings_value: Any) -> Iterator[str]:
    """Yield the hashes of the readable Python files in the settings."""
    if isinstance(settings_value, str):
        if is_file_name(settings_value):
            with suppress(OSError):
                yield sha256(Path(settings_value.rpartition(":")[0]).read_bytes()).hexdigest()
        return
    for part in settings_value.values() if isinstance(settings_value, Mapping) else settings_value:
        if isinstance(part, str | list | tuple | Mapping):
            yield from _hash_files(part)


def _hash(value: Any) -> str:
    return sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()[:HASH_DIGITS]
