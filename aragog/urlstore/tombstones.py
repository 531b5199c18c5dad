"""
Tombstones: markers for hosts and domains that were taken down.

A URL that was taken down individually has a marker in its node instead. These URLs are also listed
next to the tombstones.

Each tombstone is a row in every bucket of the table of unique values, so none is lost with a
damaged file. A counter next to them changes with each takedown, including those of individual URLs.
A process reads the tombstones again only if the counter has changed. If it changed during a write,
the writer checks again what it wrote, so a page is removed even if the write came after the
takedown.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from aragog.errors import BadInput, InvalidUrl
from urlspelling import normalize
from urlspelling.domain import host as host_of
from urlspelling.hosts import longest_match
from zengraph import MultiGraph
from zengraph.records import newest_ms

HOST, DOMAIN, URL = "host", "domain", "url"

_NAME = b"down\0"
_URLS = b"down-url\0"
_COUNTER = b"down-count"
_VALUE = b"i:v"
_COUNT = b"i:c"


def site_name(site: str) -> str:
    """
    Normalize a host to lower case and Punycode, without a trailing dot.

    Raises:
        BadInput: not a host, or a host with a scheme, port or path.
    """
    text = site.strip()
    if "://" in text:
        raise BadInput(f"{site!r} is a URL: pass only its host")
    try:
        url = normalize(f"http://{text}/")
    except InvalidUrl as error:
        raise BadInput(f"{site!r} is not a host name: {error.reason}") from error
    name = host_of(url)
    if url != f"http://{name}/" or any(char in text for char in "/?#@\\"):
        raise BadInput(f"{site!r} is more than a host: pass it without port, path and user")
    port = text.rpartition(":")
    if port[1] and not text.endswith("]"):
        raise BadInput(f"{site!r} has a port: a host covers all its ports, pass {port[0]!r}")
    return name


class Tombstones:
    """The taken-down hosts and domains. Threads may share an instance."""

    def __init__(self, zen: MultiGraph) -> None:
        self._registry = zen.registry
        self._lock = threading.Lock()
        self._read_count = -1
        self._hosts: frozenset[str] = frozenset()
        self._domains: frozenset[str] = frozenset()

    def count(self) -> int:
        """Return a number that changes with each takedown. Takes one small read."""
        cell = self._registry.get(self._row(_COUNTER), [_COUNT]).get(_COUNT)
        return int.from_bytes(cell.value) if cell else 0

    def current(self) -> int:
        """Read the tombstones again if the counter changed; returns the counter."""
        count = self.count()
        if count != self._read_count:
            with self._lock:
                entries = self.all()
                self._hosts = frozenset(name for kind, name in entries if kind == HOST)
                self._domains = frozenset(name for kind, name in entries if kind == DOMAIN)
                self._read_count = count
        return count

    @property
    def is_empty(self) -> bool:
        """True if no site was taken down when `current` was last called."""
        return not self._hosts and not self._domains

    def refuses(self, url: str) -> bool:
        """Return True if a URL's site was taken down when `current` was last called."""
        if self.is_empty:
            return False
        name = host_of(url)
        return name in self._hosts or longest_match(name, self._domains) is not None

    def all(self) -> list[tuple[str, str]]:
        prefix = self._row(_NAME)
        rows = self._registry.beginning_with(prefix)
        keys = [name.removeprefix(prefix).decode() for name, _ in rows]
        return [(kind, name) for kind, _, name in (key.partition("\0") for key in keys)]

    def add(self, kind: str, name: str, now_ms: int) -> None:
        """Refuse a site from now on; safe to repeat."""
        for bucket in self._registry.buckets():
            self._registry.put(_key(bucket, kind, name), {_VALUE: b"1"}, at_ms=now_ms)
        self.mark_changed()

    def remove(self, kind: str, name: str, now_ms: int) -> bool:
        """Accept a site again; False if it was not refused."""
        removed = False
        for bucket in self._registry.buckets():
            key = _key(bucket, kind, name)
            if row := self._registry.get(key):
                removed = True
                self._registry.delete(key, at_ms=max(now_ms, newest_ms(row)))
        self.mark_changed()
        return removed

    def urls(self) -> list[str]:
        """Return the URLs that were taken down individually, and their aliases, sorted."""
        prefix = self._row(_URLS)
        rows = self._registry.beginning_with(prefix)
        return [name.removeprefix(prefix).decode() for name, _ in rows]

    def list_urls(self, urls: Iterable[str], now_ms: int) -> None:
        """Add URLs to the list of `urls`. Safe to repeat."""
        keys = (bytes([b]) + _URLS + url.encode() for b in self._registry.buckets() for url in urls)
        self._registry.put_many([(key, {_VALUE: b"1"}, now_ms) for key in keys])

    def unlist_url(self, url: str, now_ms: int) -> None:
        """Remove a URL from the list of `urls`, if it is there."""
        for bucket in self._registry.buckets():
            key = bytes([bucket]) + _URLS + url.encode()
            if row := self._registry.get(key):
                self._registry.delete(key, at_ms=max(now_ms, newest_ms(row)))

    def mark_changed(self) -> None:
        """Change the counter, so that every process reads the tombstones again."""
        for bucket in self._registry.buckets():
            self._registry.incr(bytes([bucket]) + _COUNTER, _COUNT, 1)

    def repair(self, now_ms: int) -> None:
        """Restore the tombstones of replaced files from other buckets."""
        names_by_bucket: dict[int, set[bytes]] = {
            bucket: {
                name[1:]
                for prefix in (_NAME, _URLS)
                for name, _ in self._registry.beginning_with(bytes([bucket]) + prefix)
            }
            for bucket in self._registry.buckets()
        }
        all_names = set[bytes]().union(*names_by_bucket.values())
        for bucket, names in names_by_bucket.items():
            for name in all_names - names:
                self._registry.put(bytes([bucket]) + name, {_VALUE: b"1"}, at_ms=now_ms)
        if any(all_names - names for names in names_by_bucket.values()):
            self.mark_changed()

    def _row(self, name: bytes) -> bytes:
        return bytes([self._registry.open_bucket()]) + name


def _key(bucket: int, kind: str, name: str) -> bytes:
    return bytes([bucket]) + _NAME + kind.encode() + b"\0" + name.encode()
