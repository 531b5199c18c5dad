"""
The host index lists every URL of a host, and every page that was fetched from the host but is
stored under another URL.

Takedowns need the second list: after a redirect or a merge, a host's text may be stored under URLs
of other hosts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from aragog.urlstore.nodes import CANONICAL, SENTINEL, alias_of
from aragog.urlstore.records import ListPage
from urlspelling import url_key
from urlspelling.domain import host, reversed_host
from zengraph import MultiGraph
from zengraph.links import Naming
from zengraph.records import ID_BYTES, LabelWalk, Mutation, put_order

HOST_URL = b"i:u"
SENDER = b"i:f"


SAMPLED = b"i:s"
SAMPLED_OF = 8
SAMPLE = b"\xff\xff"
"""Key prefix of the sampled pages (`sample_put`)."""
_SENDERS = b"\xff"
"""Key prefix of pages by the host they were fetched from. No reversed host starts with it."""


def host_order(url: str) -> bytes:
    """
    Return a normalized URL's host with reversed labels, and a zero byte.

    Row keys with this prefix sort URLs by host.
    """
    return reversed_host(host(url)).encode() + b"\0"


def host_put(zen: MultiGraph, url: str, now_ms: int) -> Mutation:
    """Return the mutation that adds a URL to the index."""
    return put_order(zen.node_id(url), host_order(url), {HOST_URL: url.encode()}, now_ms)


def sender_put(zen: MultiGraph, url: str, sender: str, sent_at_ms: int) -> Mutation:
    """Return the mutation that records when `sender` returned the page stored under `url`."""
    order = _SENDERS + host_order(sender) + zen.node_id(sender)
    cells = {HOST_URL: url.encode(), SENDER: sender.encode()}
    return put_order(zen.node_id(url), order, cells, sent_at_ms)


def is_in_sample(url: str) -> bool:
    """Return True for one URL in eight, chosen by its hash."""
    return url_key(url)[-1] % SAMPLED_OF == 0


def sample_put(zen: MultiGraph, url: str, now_ms: int) -> Mutation:
    """
    Return the mutation that adds a page to the sample, ordered by its URL's hash.

    Nodes are grouped by host, so only the pages after a random hash are representative.
    """
    return put_order(zen.node_id(url), SAMPLE + url_key(url), {SAMPLED: b"1"}, now_ms)


def moved_sender(position: bytes, sender: str | None, naming: Naming) -> bytes:
    """Return a `sender_put` row's position with the IDs of `naming`; other rows keep theirs."""
    if sender is None or position[1:2] != _SENDERS:
        return position
    order = _SENDERS + host_order(sender) + naming.node_id(sender)
    return position[:1] + order + position[-ID_BYTES:]


class SentPage(NamedTuple):
    """A page that was fetched from another URL."""

    position: bytes
    url: str
    """The URL under which the page's data is stored."""
    sent_at_ms: int
    """When the data was last fetched from the sender."""


class Hosts:
    """
    Lists the URLs of a host or domain, with aliases.

    Only `page` skips URLs whose data was deleted.
    """

    def __init__(self, zen: MultiGraph) -> None:
        self._zen = zen
        self._index = zen.by_order
        self._nodes = zen.nodes

    def page(self, site: str, cursor: str | None, limit: int) -> ListPage[str]:
        """Return up to `limit` URLs of one host, in no particular order."""
        label = reversed_host(site.lower().rstrip(".")).encode()
        result: list[str] = []
        last_position = b""
        for key, url in self._rows([label + b"\0"], bytes.fromhex(cursor or "")):
            if len(result) == limit:
                return ListPage(result, last_position.hex())
            last_position = key
            row = self._nodes.get(self._zen.node_id(url), [SENTINEL, CANONICAL])
            if SENTINEL in row or alias_of(row, url) is not None:
                result.append(url)
        return ListPage(result)

    def walk(self, beyond: str = "") -> LabelWalk:
        """Walk over the distinct hosts, starting after the reversed labels `beyond`."""
        return self._index.labels(beyond)

    def of_domain(self, domain: str) -> Iterator[str]:
        label = reversed_host(domain.lower().rstrip(".")).encode()
        return (url for _, url in self._rows([label + b"\0", label + b"."], b""))

    def of_host(self, site: str) -> Iterator[str]:
        label = reversed_host(site.lower().rstrip(".")).encode()
        return (url for _, url in self._rows([label + b"\0"], b""))

    def sent_by_url(self, sender: str) -> Iterator[SentPage]:
        """Yield pages with data fetched from this URL. Takes one small read per bucket."""
        return self._sent_pages(host(sender), [b"\0" + self._zen.node_id(sender)])

    def sent_by_host(self, site: str) -> Iterator[SentPage]:
        """Yield pages with data fetched from URLs of a host."""
        return self._sent_pages(site, [b"\0"])

    def sent_by_domain(self, domain: str) -> Iterator[SentPage]:
        """Yield pages with data fetched from URLs of a domain or hosts below it."""
        return self._sent_pages(domain, [b"\0", b"."])

    def _sent_pages(self, site: str, endings: list[bytes]) -> Iterator[SentPage]:
        """Yield pages by sender. `endings`: a zero byte for the host, a dot for subdomains."""
        prefix = _SENDERS + reversed_host(site).encode()
        for position, row in self._index.rows([prefix + ending for ending in endings]):
            cell = row[HOST_URL]
            yield SentPage(position, cell.value.decode(), cell.at_ms)

    def _rows(self, prefixes: list[bytes], after: bytes) -> Iterator[tuple[bytes, str]]:
        for position, row in self._index.rows(prefixes, after):
            yield position, row[HOST_URL].value.decode()
