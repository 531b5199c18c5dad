"""Maps limiter nodes to URLs and to names for the ring's record. Names contain no passwords."""

from __future__ import annotations

from collections.abc import Sequence

from aragog.runtime.secret import reveal
from pinlater.redis.address import hosts_of, is_sentinel, redis_py_url

# The name of the server at `redis.url`, whose address may change.
SHARED_NAME = "redis.url"


class NodeAddresses:
    """
    Maps URLs to names, and names to URLs.

    Args:
        urls: the nodes in the settings, with credentials.
        shared: `redis.url`, or None.
    """

    def __init__(self, urls: Sequence[str], shared: str | None) -> None:
        self._shared = None if shared is None else reveal(shared)
        self.names_in_settings = tuple(self.name(url) for url in urls)
        self._urls = {self.name(url): reveal(url) for url in urls}
        urls_with_shared = [*urls, *([] if shared is None else [shared])]
        self._hosts = frozenset[str]().union(*map(hosts_of, urls_with_shared))

    def name(self, url: str) -> str:
        """Return a URL's name: `redis.url`, or the URL without user and password."""
        text = reveal(url)
        if text in (SHARED_NAME, self._shared):
            return SHARED_NAME
        scheme, separator, rest = redis_py_url(text).partition("://")
        return f"{scheme}{separator}{rest.rpartition('@')[2]}"

    def url(self, name: str) -> str:
        """
        Return a node's URL.

        Credentials come from the same server in the settings. Another server on a host in the
        settings gets those of `redis.url`. Other hosts get none, because anyone who can write the
        record could insert their own host.
        """
        if name == SHARED_NAME and self._shared is not None:
            return self._shared
        return self._urls.get(name) or self._add_login(name)

    def _add_login(self, name: str) -> str:
        shared = self._shared or ""
        login, at, _ = shared.partition("://")[2].rpartition("@")
        scheme, separator, address = name.partition("://")
        if scheme == "unix" or is_sentinel(name) != is_sentinel(shared):
            return name
        if not hosts_of(name) <= self._hosts:
            return name
        return f"{scheme}{separator}{login}{at}{address}"
