"""
Crawl by the rules alone, without servers: pages are requested in link order, ten at a time.

When none is left, held links are offered once more, like in `aragog.crawl.stages.held_link_sweep`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from random import Random
from typing import NamedTuple

from aragog.crawl.traps.held_links import LOOKED_AT
from aragog.crawl.traps.host_budget import HostBudget, LinkVerdict
from aragog.crawl.traps.link_order import MAX_OF_KIND, best_first
from aragog.crawl.traps.page_weighing import PageLink, judge
from aragog.crawl.traps.traits import PageTraits, traits_of
from bench.traps.measure import Origin
from bench.traps.site import Answer, Site
from richpins import document, links

AT_ONCE = 10


class ReadPage(NamedTuple):
    """What the rules see of a page."""

    traits: PageTraits
    links: list[PageLink]


class RulesCrawl:
    """The crawl of one host."""

    def __init__(self, web: Origin, site: Site, most: int) -> None:
        self.web, self.site, self.left = web, site, most
        self.base = f"http://{site.host}"
        self.budget = HostBudget()
        self.queue = deque([f"{self.base}/"])
        self.asked = set(self.queue)
        self.held: dict[str, None] = {}
        self.random = Random(site.host)

    def run(self) -> None:
        """Crawl until no link may be followed, or the most requests were made."""
        under_way: deque[str] = deque()
        while self.left and (self.queue or under_way or self._swept()):
            while self.queue and len(under_way) < AT_ONCE:
                under_way.append(self.queue.popleft())
            self._page(under_way.popleft())
            self.left -= 1

    def _swept(self) -> bool:
        """Offer held links again when no pages are left. Returns True if one is followed."""
        self.budget.forget_pending()
        self.budget.held = len(self.held)
        for _ in range(0, len(self.held), LOOKED_AT):
            self._offer_held(is_last=True)
            if self.queue:
                break
        return bool(self.queue)

    def _offer_held(self, found: Iterable[str] = (), *, is_last: bool = False) -> None:
        some = list(self.held)
        if len(some) > LOOKED_AT:
            some = self.random.sample(some, LOOKED_AT)
        most = LOOKED_AT if is_last else MAX_OF_KIND
        self._offer(best_first(self.budget, {*some, *found}, most), is_last=is_last)

    def read(self, url: str, answer: Answer) -> ReadPage:
        """Read a page as a worker does."""
        page = document.parse(
            answer.body.encode(), url=url, content_type="text/html; charset=utf-8"
        )
        found = [(link.url, link.text) for link in links.extract(page, limit=1000)]
        own = [(link, text) for link, text in found if link.startswith(f"{self.base}/")]
        return ReadPage(traits_of(page, url), own)

    def _page(self, url: str) -> None:
        answer = self.web.answer(self.site.host, url.removeprefix(self.base))
        if answer.status != 200:
            judge(self.budget, url, None)
            found = []
        else:
            page = self.read(url, answer)
            judge(self.budget, url, page.traits, page.links)
            found = [link for link, _ in page.links]
        self._offer_found(found)

    def _offer_found(self, urls: list[str]) -> None:
        self.held.update(dict.fromkeys(url for url in urls if url not in self.asked))
        self.budget.held = len(self.held)
        if self.budget.is_idle:
            self._offer_held(urls)
        else:
            self._offer(best_first(self.budget, urls))

    def _offer(self, urls: list[str], *, is_last: bool = False) -> None:
        for url in urls:
            if url in self.asked:
                continue
            verdict = self.budget.verdict(url, {}, is_last=is_last)
            if verdict is LinkVerdict.FOLLOW:
                self.asked.add(url)
                self.queue.append(url)
            if verdict is LinkVerdict.HOLD:
                self.held.setdefault(url)
            else:
                self.held.pop(url, None)


def crawl_by_rules(sites: list[Site], *, max_of_host: int) -> Origin:
    """Crawl all sites from their home pages, each separately."""
    web = Origin.of(sites)
    for site in sites:
        RulesCrawl(web, site, max_of_host).run()
    return web
