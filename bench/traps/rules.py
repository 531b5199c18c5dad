"""
Crawl by the rules alone, without servers: pages are requested in link order, ten at a time.

When none is left, held links are offered once more, like in `aragog.crawl.stages.held_link_sweep`.
"""

from __future__ import annotations

from collections import deque

from aragog.crawl.traps.host_budget import HostBudget, LinkVerdict
from aragog.crawl.traps.page_weighing import judge
from aragog.crawl.traps.traits import traits_of
from bench.traps.measure import Origin
from bench.traps.site import Site
from richpins import document, links

AT_ONCE = 10


class _Crawl:
    """The crawl of one host."""

    def __init__(self, web: Origin, site: Site, most: int) -> None:
        self.web, self.site, self.left = web, site, most
        self.base = f"http://{site.host}"
        self.budget = HostBudget()
        self.queue = deque([f"{self.base}/"])
        self.asked = set(self.queue)
        self.held: dict[str, None] = {}

    def run(self) -> None:
        under_way: deque[str] = deque()
        while self.left and (self.queue or under_way or self._swept()):
            while self.queue and len(under_way) < AT_ONCE:
                under_way.append(self.queue.popleft())
            self._page(under_way.popleft())
            self.left -= 1

    def _swept(self) -> bool:
        """Offer held links again when no pages are left. Returns True if one is followed."""
        self.budget.forget_pending()
        self._offer_held()
        return bool(self.queue)

    def _offer_held(self) -> None:
        self._offer(sorted(self.held, key=lambda url: (url.count("&"), url.count("/"))))

    def _page(self, url: str) -> None:
        answer = self.web.answer(self.site.host, url.removeprefix(self.base))
        if answer.status != 200:
            judge(self.budget, url, None)
            return
        page = document.parse(
            answer.body.encode(), url=url, content_type="text/html; charset=utf-8"
        )
        found = [link.url for link in links.extract(page, limit=1000)]
        found = [link for link in found if link.startswith(f"{self.base}/")]
        if judge(self.budget, url, traits_of(page, url), found):
            self._offer(found)
        self._offer_held()

    def _offer(self, urls: list[str]) -> None:
        for url in urls:
            if url in self.asked:
                continue
            verdict = self.budget.verdict(url, {})
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
        _Crawl(web, site, max_of_host).run()
    return web
