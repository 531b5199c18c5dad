"""
Follow links as far as the templates of their URLs have budgets (`aragog.crawl.traps`).

The budgets of the hosts of a batch are read once; what its pages brought is noted, and the verdict
about each link follows. Then the links are enqueued, and the budgets are written. If another
process has changed them in the meantime, they are read again, and what this batch did is noted in
them.

Safe to run twice and to kill at any point: a page is judged once, what was enqueued is coalesced,
and links that are held leave their list after they were enqueued. A batch that is lost between
leaves links counted as under way; upkeep forgets them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from aragog.crawl.pipeline import counters
from aragog.crawl.pipeline.ports import CounterSink
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.crawl.traps.host_budget import HostBudget, LinkVerdict
from aragog.crawl.traps.page_weighing import judge, judge_stored
from aragog.crawl.traps.traits import PageTraits
from aragog.crawl.traps.trap_store import ClosedTemplate, StoredBudget, TrapStore
from urlspelling.domain import host

log = logging.getLogger(__name__)

LOOK_AFTER_S = 60
"""The age at which upkeep looks at the held links of a host, unless a batch did so before."""
MOST_HOSTS = 200
"""Hosts in one round of upkeep."""
TRIES = 3
_OPTIONS = (
    "depth", "refresh", "priority", "url_filter", "request_id", "purposes", "found_on",
    "crawl_number",
)  # fmt: skip

LinksByOptions = Mapping[EnqueueOptions, Iterable[str]]


class ArrivedPage(NamedTuple):
    """A page that came, and what it brought."""

    url: str
    """The URL of its job."""
    traits: PageTraits | None = None
    """None: it brought no page."""
    links: Sequence[str] = ()
    is_failure: bool = False
    """There is no such page."""
    is_stored: bool = False
    """It was stored before, so its content counts as useful."""


@dataclass(slots=True)
class Review:
    """The links that may be followed after some pages arrived, and the state to write then."""

    store: TrapStore
    pages: Sequence[ArrivedPage]
    budgets: dict[str, StoredBudget]
    follow: dict[EnqueueOptions, list[str]] = field(default_factory=dict)
    held: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """New links that wait, by host."""
    released: dict[str, list[str]] = field(default_factory=dict)
    """Links that no longer wait, by host."""
    useless: set[str] = field(default_factory=set)
    """Pages that repeat the content of others; their links are not followed."""

    def judge(self) -> None:
        """Note what the pages brought."""
        for page in self.pages:
            of = host(page.url)
            if of in self.budgets and not _note(self.budgets[of].budget, page):
                self.useless.add(page.url)

    def offer(self, url: str, options: EnqueueOptions, decisions: Mapping[str, Any]) -> bool:
        """Follow a link, or hold it; False if it no longer waits."""
        name = host(url)
        verdict = self.budgets[name].budget.verdict(url, decisions.get(name, {}))
        if verdict is LinkVerdict.FOLLOW:
            self.follow.setdefault(options, []).append(url)
        elif verdict is LinkVerdict.HOLD:
            self.held.setdefault(name, {})[url] = _wire(options)
        return verdict is LinkVerdict.HOLD

    def release(self, name: str, decisions: Mapping[str, Any]) -> None:
        """Offer the waiting links of a host again."""
        waiting = self.store.held(name)
        for url in sorted(waiting, key=_simplest_first):
            if not self.offer(url, _options(waiting[url]), decisions):
                self.released.setdefault(name, []).append(url)
            else:
                del self.held[name][url]

    def settle(self) -> None:
        """Write the budgets, after the links were enqueued."""
        for name in self.held.keys() | self.released.keys():
            count = self.store.change_held(
                name, self.held.get(name, {}), self.released.get(name, [])
            )
            self.budgets[name].budget.held = count
        for name in list(self.budgets):
            self._save(name)

    def _save(self, name: str) -> None:
        for _ in range(TRIES):
            if self.store.save(name, self.budgets[name]):
                return
            held = self.budgets[name].budget.held
            again = self.store.read([name])[name]
            for page in self.pages:
                if host(page.url) == name:
                    _note(again.budget, page)
            for urls in self.follow.values():
                for url in urls:
                    if host(url) == name:
                        again.budget.followed(url)
            again.budget.held = held
            self.budgets[name] = again


@dataclass(frozen=True, slots=True)
class LinkBudgets:
    """Decides which links are followed."""

    store: TrapStore
    counters: CounterSink

    def watched(self, urls: Iterable[str]) -> set[str]:
        """The URLs whose hosts have budgets; none if Redis does not answer."""
        by_host: dict[str, list[str]] = {}
        for url in urls:
            by_host.setdefault(host(url), []).append(url)
        known = self.store.known(by_host)
        return {url for name in known for url in by_host[name]}

    def follow(
        self,
        links: Mapping[str, LinksByOptions],
        pages: Sequence[ArrivedPage],
        enqueue: Callable[[EnqueueOptions, list[str]], int],
    ) -> int:
        """
        Note what pages brought, and enqueue those of the links that may be followed; how many were.

        Args:
            links: by the URL of the page that has them, and by how they are enqueued.
            pages: that came.
            enqueue: enqueues URLs and counts them.

        Raises:
            BrokerUnavailable: Redis does not answer; run it again.
        """
        named = {host(u) for found in links.values() for urls in found.values() for u in urls}
        came = {host(page.url) for page in pages}
        known = self.store.known(came - named)
        names = named | known
        if not names:
            return 0
        review = Review(self.store, pages, self.store.read(names))
        decisions = self.store.decisions()
        before = {name: _closed_of(one.budget) for name, one in review.budgets.items()}
        left_out = sum(one.budget.left_out for one in review.budgets.values())
        review.judge()
        for page_url, by_options in links.items():
            if page_url not in review.useless:
                for options, urls in by_options.items():
                    for url in urls:
                        review.offer(url, options, decisions)
        for name in came & names:
            if review.budgets[name].budget.held:
                review.release(name, decisions)
        return self._enqueue(review, before, left_out, enqueue)

    def _enqueue(
        self,
        review: Review,
        before: Mapping[str, set[str]],
        left_out: int,
        enqueue: Callable[[EnqueueOptions, list[str]], int],
    ) -> int:
        count = sum(enqueue(options, urls) for options, urls in review.follow.items())
        closed = {
            name: _closed_of(one.budget) - before[name] for name, one in review.budgets.items()
        }
        gone = [
            ClosedTemplate(name, template, review.budgets[name].budget.templates[template].reason)
            for name, templates in closed.items()
            for template in sorted(templates)
        ]
        for one in gone:
            log.info(
                "links of %s to %s are not followed any more: %s",
                one.host, one.template, one.reason,
            )  # fmt: skip
        self.store.note_closed(gone)
        now_left_out = sum(one.budget.left_out for one in review.budgets.values())
        review.settle()
        self.counters.add(
            {
                counters.TEMPLATES_CLOSED: sum(map(len, closed.values())),
                counters.LINKS_LEFT_OUT: max(0, now_left_out - left_out),
            }
        )
        return count

    def sweep(self, enqueue: Callable[[EnqueueOptions, list[str]], int]) -> int:
        """Offer links again whose awaited pages never arrived; returns how many were enqueued."""
        count = 0
        for name in self.store.waiting(LOOK_AFTER_S, MOST_HOSTS):
            review = Review(self.store, (), self.store.read([name]))
            budget = review.budgets[name].budget
            budget.forget_pending()
            review.release(name, self.store.decisions())
            if not review.released and not self.store.held(name):
                self.store.forget_waiting(name)
                continue
            review.held.setdefault(name, {})
            count += self._enqueue(review, {name: _closed_of(budget)}, budget.left_out, enqueue)
        return count


def _closed_of(budget: HostBudget) -> set[str]:
    return set(budget.closed())


def _note(budget: HostBudget, page: ArrivedPage) -> bool:
    """Note the content of a page; False if earlier pages had the same."""
    if page.is_stored:
        judge_stored(budget, page.url)
    elif page.traits is not None or page.is_failure:
        return judge(budget, page.url, page.traits, page.links)
    else:
        budget.arrived(page.url)
    return True


def _simplest_first(url: str) -> tuple[int, int]:
    """Shorter paths and fewer names first: they are tried before their combinations."""
    return url.count("&"), url.count("/")


def _wire(options: EnqueueOptions) -> bytes:
    values = {name: getattr(options, name) for name in _OPTIONS}
    return orjson.dumps({name: value for name, value in values.items() if value})


def _options(wire: bytes) -> EnqueueOptions:
    values = orjson.loads(wire)
    return EnqueueOptions(**{name: values[name] for name in _OPTIONS if name in values})


def follow_all(
    links: Mapping[str, LinksByOptions], enqueue: Callable[[EnqueueOptions, list[str]], int]
) -> int:
    """Enqueue all links without budgets; returns how many."""
    merged: dict[EnqueueOptions, dict[str, None]] = {}
    for by_options in links.values():
        for options, urls in by_options.items():
            merged.setdefault(options, {}).update(dict.fromkeys(urls))
    return sum(enqueue(options, list(urls)) for options, urls in merged.items())
