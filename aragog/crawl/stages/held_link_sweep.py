"""
Follows or drops the held links of hosts whose pages have stopped arriving.

Links are held while pages of their URL templates are in progress (`link_budgets`). Once the crawl
has no waiting URLs in the domain, no more pages will arrive, and the links are reconsidered. If no
link of a host may be followed, its held links are dropped, so that the crawl can end.

A killed worker cannot end a crawl too early: its URLs count as waiting until their batches are
redelivered, and a page ends only after its links are held.

Safe to run twice and concurrently: a link is counted only when its state really changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from aragog.crawl.pipeline.crawl_counts import CrawlCounters
from aragog.crawl.stages.crawl_checks import CrawlSource
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.crawl.stages.link_budgets import LinkBudgets, Review, closed_of, options_of
from aragog.crawl.traps.held_links import HeldLink, Move
from urlspelling.domain import registered_domain

MAX_HOSTS = 200
"""How many hosts of a server one run handles."""
LOOK_AFTER_S = 3_600
"""After this time, links are reconsidered even if URLs of their domain are waiting, because the
host may not answer."""

Enqueue = Callable[[EnqueueOptions, list[str]], int]


@dataclass(frozen=True, slots=True)
class HeldLinkSweep:
    """
    Reconsiders held links.

    Args:
        counts: the waiting URLs of each crawl.
        crawls: which crawls have ended.
        recognizes_traps: if False, all held links are followed.
    """

    budgets: LinkBudgets
    counts: CrawlCounters
    crawls: CrawlSource
    recognizes_traps: bool = True

    def run(self, enqueue: Enqueue) -> int:
        """
        Reconsider held links. Returns how many were enqueued.

        Raises:
            TransientError: Redis or the broker did not answer; run it again.
        """
        ages = self.budgets.links.hosts(MAX_HOSTS)
        return sum(self._look(name, age_s, enqueue) for name, age_s in ages.items())

    def _look(self, name: str, age_s: int, enqueue: Enqueue) -> int:
        links = self.budgets.links
        held = links.all(name)
        if not self.recognizes_traps:
            return self._follow_all(name, held, enqueue)
        quiet = self._quiet(name, held)
        if not quiet and age_s < LOOK_AFTER_S:
            return 0
        store, ended = self.budgets.store, self.crawls.crawls().ended
        review = Review(store, links, (), store.read([name]))
        budget = review.budgets[name].budget
        before = {name: closed_of(budget)}
        budget.forget_pending()
        waiting = review.release(held, store.decisions(), ended.__contains__, is_last=True)
        if not review.follow:
            for link in waiting:
                if link.crawl in quiet:
                    review.move(Move.LEAVE_OUT, link.url, options_of(link.options))
        if not review.moves:
            links.looked_at(name)
        return self.budgets.enqueue(review, before, enqueue)

    def _quiet(self, name: str, held: Iterable[HeldLink]) -> set[int]:
        """The crawls without waiting URLs in this host's domain."""
        ended, domain = self.crawls.crawls().ended, registered_domain(name)
        crawls = {link.crawl for link in held}
        return {n for n in crawls if n in ended or self.counts.has_no_waiting_urls(n, domain)}

    def _follow_all(self, name: str, held: Iterable[HeldLink], enqueue: Enqueue) -> int:
        ended = self.crawls.crawls().ended
        review = Review(self.budgets.store, self.budgets.links, (), {})
        for link in held:
            options = options_of(link.options)
            if link.crawl not in ended:
                review.follow.setdefault(options, []).append(link.url)
            review.move(Move.FORGET, link.url, options)
        count = sum(enqueue(options, urls) for options, urls in review.follow.items())
        self.budgets.links.move(name, review.moves.get(name, {}).values())
        return count
