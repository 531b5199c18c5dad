"""The host index: every URL of a site, for listing and for taking down."""

from __future__ import annotations

from collections.abc import Iterator

from aragog.urls.domain import reversed_host
from aragog.urlstore.pages.nodes import URL
from aragog.urlstore.records import ListPage
from aragog.zen.graph import Zen
from aragog.zen.indexes.host_index import HostWalk
from aragog.zen.mutations import Mutation, put_host
from aragog.zen.node_ids import node_id

HOST_URL = b"i:u"


def host_put(url: str, now_ms: int) -> Mutation:
    """The row of a URL."""
    return put_host(url, {HOST_URL: url.encode()}, now_ms)


class Hosts:
    """Lists the URLs of a site, aliases too. A row whose node is gone is skipped."""

    def __init__(self, zen: Zen) -> None:
        self._index = zen.hosts
        self._nodes = zen.nodes

    def page(self, site: str, cursor: str | None, limit: int) -> ListPage[str]:
        """Up to `limit` URLs of one host, in no particular order."""
        label = reversed_host(site.lower().rstrip(".")).encode()
        result: list[str] = []
        last = b""
        for key, url in self._rows([label + b"\0"], bytes.fromhex(cursor or "")):
            if len(result) == limit:
                return ListPage(result, last.hex())
            last = key
            if self._nodes.get(node_id(url), [URL]):
                result.append(url)
        return ListPage(result)

    def walk(self, beyond: str = "") -> HostWalk:
        """Walk over the distinct hosts after a text of reversed labels."""
        return self._index.hosts(beyond)

    def of_domain(self, domain: str) -> Iterator[str]:
        """Every URL of a domain and of all hosts below it."""
        label = reversed_host(domain.lower().rstrip(".")).encode()
        return (url for _, url in self._rows([label + b"\0", label + b"."], b""))

    def of_host(self, site: str) -> Iterator[str]:
        """Every URL of one host."""
        label = reversed_host(site.lower().rstrip(".")).encode()
        return (url for _, url in self._rows([label + b"\0"], b""))

    def _rows(self, prefixes: list[bytes], beyond: bytes) -> Iterator[tuple[bytes, str]]:
        for position, row in self._index.rows(prefixes, beyond):
            yield position, row[HOST_URL].value.decode()
