"""The host index: every URL of a site, for listing and for taking down."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from aragog.urls.domain import host, reversed_host
from aragog.urlstore.pages.nodes import URL
from aragog.urlstore.records import ListPage
from aragog.zen.codec import BUCKETS, host_key
from aragog.zen.node_ids import node_id
from aragog.zen.tables import Put, Tables

HOST_URL = b"i:u"


def host_put(url: str, now_ms: int) -> Put:
    """The row of a URL."""
    return ("h", host_key(node_id(url), host(url)), {HOST_URL: url.encode()}, now_ms)


class Hosts:
    """Lists the URLs of a site, aliases too. A row whose node is gone is skipped."""

    def __init__(self, tables: Tables) -> None:
        self._index = tables["h"]
        self._nodes = tables["n"]

    def page(self, site: str, cursor: str | None, limit: int) -> ListPage[str]:
        """Up to `limit` URLs of one host; in no order that means anything."""
        label = reversed_host(site.lower().rstrip(".")).encode()
        found: list[str] = []
        last = b""
        for key, url in self._rows([label + b"\0"], bytes.fromhex(cursor or "")):
            if len(found) == limit:
                return ListPage(found, last.hex())
            last = key
            if self._nodes.get(node_id(url), [URL]):
                found.append(url)
        return ListPage(found)

    def of_domain(self, domain: str) -> Iterator[str]:
        """Every URL of a domain and of all hosts below it."""
        label = reversed_host(domain.lower().rstrip(".")).encode()
        return (url for _, url in self._rows([label + b"\0", label + b"."], b""))

    def of_host(self, site: str) -> Iterator[str]:
        """Every URL of one host."""
        label = reversed_host(site.lower().rstrip(".")).encode()
        return (url for _, url in self._rows([label + b"\0"], b""))

    def _rows(self, prefixes: list[bytes], beyond: bytes) -> Iterator[tuple[bytes, str]]:
        for bucket in range(BUCKETS):
            for prefix in prefixes:
                start = bytes([bucket]) + prefix
                stop = start[:-1] + bytes([start[-1] + 1])
                if beyond >= stop:
                    continue
                with closing(
                    self._index.scan(max(start, beyond + b"\0" if beyond else start), stop)
                ) as rows:
                    for key, row in rows:
                        yield key, row[HOST_URL].value.decode()
