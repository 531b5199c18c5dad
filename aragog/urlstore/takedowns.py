"""Takedowns of URLs, hosts and domains. Later writes cannot undo them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from aragog.errors import BadInput, TakenDown
from aragog.urlstore import nodes
from aragog.urlstore.nodes import Nodes
from aragog.urlstore.records import Fact
from aragog.urlstore.tombstones import DOMAIN, HOST, URL, Tombstones, site_name
from aragog.urlstore.write_clock import WriteClock
from aragog.urlstore.writing.removal import Takedown
from aragog.urlstore.writing.trust import Trust
from urlspelling import normalize
from zengraph.records import Row


@dataclass(frozen=True, slots=True)
class Takedowns:
    """Removes pages permanently, and refuses writes that would restore them."""

    takedown: Takedown
    tombstones: Tombstones
    nodes: Nodes
    clock: WriteClock
    trust: Trust
    serves: Callable[[str], bool] = lambda _: True

    def remove(self, url: str) -> None:
        """
        Remove a page's fields, facts, content, outlinks and due row. A later fetch restores it.

        The page's aliases stay, and so do links to it, because they belong to other pages.
        """
        now_ms = self.clock.now_ms()
        self.takedown.remove(self.nodes.resolve(normalize(url))[0], now_ms)
        self.clock.record_deletion(now_ms)

    def take_down(
        self, *, url: str | None = None, host: str | None = None, domain: str | None = None
    ) -> int:
        """
        Permanently remove a page with its aliases, or all URLs of a host or domain.

        Returns the number of URLs that lost data. Later writes to these URLs are refused until
        `lift`. A host includes all its ports, a domain all its subdomains. Data from these URLs
        that is stored under others (after a temporary redirect, for example) is also deleted, but
        those URLs are not refused. If the URL is an alias of a page on another host, only the alias
        is taken down: `pages_of` lists what a takedown includes. Pass exactly one argument. Safe to
        repeat. Data that is being written at the same time is removed too.

        Raises:
            BadInput: not exactly one argument, or not a valid host or domain.
        """
        now_ms = self.clock.now_ms()
        if (url is None) + (host is None) + (domain is None) != 2:
            raise BadInput("take_down: give one of url, host and domain")
        if url is not None:
            pages = self.pages_of(url)
            self._withdraw_from_shared(pages[0], now_ms)
            count = self.takedown.of_urls(pages, now_ms)
        elif host is not None:
            count = self.takedown.of_site(HOST, site_name(host), now_ms)
        else:
            count = self.takedown.of_site(DOMAIN, site_name(str(domain)), now_ms)
        self.clock.record_deletion(now_ms)
        return count

    def pages_of(self, url: str) -> tuple[str, ...]:
        """
        Return the normalized URLs that a takedown of `url` includes, apart from their aliases.

        These are `url` itself and its canonical URL, if both have the same host (apart from a
        leading `www.`). A canonical URL that was never fetched is not included if other pages
        declare it too, because those are different pages.
        """
        normalized = normalize(url)
        canonical = self.nodes.resolve_taken_down(normalized)
        is_same_host = canonical != normalized and nodes.have_same_host(normalized, canonical)
        if not is_same_host or self.trust.shared_record(normalized):
            return (normalized,)
        return (normalized, canonical)

    def _withdraw_from_shared(self, url: str, now_ms: int) -> None:
        if canonical := self.trust.shared_record(url):
            self.trust.withdraw_from(canonical, url, now_ms)

    def drop(self, url: str, upto_ms: int) -> None:
        """
        Delete the data of a normalized URL's page, except data newer than `upto_ms`.

        Use this for a page that now redirects to a taken-down URL. Keeps the page's watches and
        next fetch; does nothing to an alias.
        """
        now_ms = self.clock.now_ms()
        self.takedown.drop(url, now_ms, upto_ms)
        self.clock.record_deletion(now_ms)

    def withdraw(self, url: str, upto_ms: int) -> None:
        """
        Delete data that was fetched from a normalized URL up to `upto_ms`, even if it is stored
        under the canonical URL.

        Use this for a page that must not be kept. A later fetch may restore it.
        """
        now_ms = self.clock.now_ms()
        self.takedown.withdraw(url, now_ms, upto_ms)
        self.clock.record_deletion(now_ms)

    def facts_of_sent(self, url: str) -> dict[str, Fact]:
        """
        Return the facts of the page that was fetched from a URL.

        Empty if the page was last fetched from another URL.
        """
        canonical = self.takedown.page_sent_by(url)
        if canonical is None:
            return {}
        return nodes.facts_of(self.nodes.read([canonical], [nodes.FACTS])[canonical])

    def drop_content(self, url: str, upto_ms: int) -> None:
        """
        Delete the content that was fetched from a URL up to `upto_ms`.

        Keeps the page's fields. A later fetch may restore the content.
        """
        self.takedown.drop_content(url, upto_ms)

    def lift(
        self, url: str | None = None, *, host: str | None = None, domain: str | None = None
    ) -> bool:
        """
        Allow a URL, or a host's or domain's URLs, to be stored again. Restores no data.

        The URLs that a site had when it was taken down are still refused individually. Returns
        False if the URL or site was not refused.

        Raises:
            BadInput: not exactly one argument, or not a valid host or domain.
        """
        now_ms = self.clock.now_ms()
        if (url is None) + (host is None) + (domain is None) != 2:
            raise BadInput("lift_takedown: give one of url, host and domain")
        if url is None:
            kind, name = (HOST, host) if host is not None else (DOMAIN, str(domain))
            lifted = self.takedown.lift_site(kind, site_name(str(name)), now_ms)
            self.clock.record_deletion(now_ms)
            return lifted
        results = [self.takedown.lift(spelling, now_ms) for spelling in self.pages_of(url)]
        self.clock.record_deletion(now_ms)
        return any(results)

    def sites(self) -> list[tuple[str, str]]:
        """Return the taken-down hosts and domains as sorted pairs ("host" or "domain", name)."""
        return sorted(self.tombstones.all())

    def listed(self) -> list[tuple[str, str]]:
        """Return the pairs of `sites`, and ("url", URL) for each URL taken down individually."""
        return [*self.sites(), *((URL, url) for url in self.tombstones.urls())]

    def refused(self, urls: Iterable[str]) -> set[str]:
        """
        Return the normalized URLs that were taken down, individually or with their site.

        Takes one small read and one multi-get. If a URL's node is in a damaged file, only its site
        is checked.
        """
        distinct = set(urls)
        self.tombstones.current()
        by_site = {url for url in distinct if self.tombstones.refuses(url)}
        rows = self.nodes.read(filter(self.serves, distinct - by_site), [nodes.REMOVED])
        return by_site | {url for url, row in rows.items() if nodes.is_taken_down(row)}

    def count(self) -> int:
        """
        Return a number that changes with each takedown.

        Read it before a write, and pass it to `recheck` after the write.
        """
        return self.tombstones.current()

    def site_refused(self, *urls: str) -> bool:
        """Return True if a site of these URLs was taken down before the last call to `count`."""
        return any(map(self.tombstones.refuses, urls))

    def recheck(self, urls: Iterable[str], before: int) -> None:
        """Delete the data of URLs that were taken down since `count` returned `before`."""
        if self.tombstones.count() != before:
            self._delete(self.refused(urls))

    def complete(self, urls: Collection[str]) -> None:
        """
        Delete data that a writer stored before it was killed, although it was taken down.

        A takedown may come between a writer's reads and its writes. If the writer is then killed,
        it cannot call `recheck`, so a repeated write passes the URLs of the pages that it refuses.
        Takes a few reads for each URL that was taken down.
        """
        if refused := self.refused(urls):
            self.takedown.list_sent(set(urls) - refused, refused, self.clock.now_ms())
            self._delete(set(filter(self.takedown.has_data, refused)))

    def _delete(self, urls: Collection[str]) -> None:
        if urls:
            now_ms = self.clock.now_ms()
            self.takedown.of_urls(urls, now_ms, listed=False)
            self.clock.record_deletion(now_ms)

    @contextmanager
    def guard_write(self, *urls: str) -> Iterator[None]:
        """
        Refuse writes to URLs of taken-down sites, and check again after the write.

        If a takedown happens during the write, the second check deletes what was written.

        Raises:
            TakenDown: one of the URLs is refused; nothing was written.
        """
        before = self.count()
        for url in set(urls):
            if self.tombstones.refuses(url):
                raise TakenDown(url)
        yield
        self.recheck(urls, before)


def check_not_taken_down(canonical: str, row: Row) -> None:
    """
    Check that this URL was not taken down itself; `Takedowns.guard_write` checks its site.

    Raises:
        TakenDown: the URL was taken down.
    """
    if nodes.is_taken_down(row):
        raise TakenDown(canonical)
