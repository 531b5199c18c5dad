"""
Follow links as far as the templates of their URLs have budgets (`aragog.crawl.traps`).

The budgets of a batch's hosts are read once; what its pages brought is noted, and the verdict
about each link follows. Then the links are enqueued, and the budgets are written. If another
process has changed them in the meantime, they are read again, and what this batch did is noted in
them.

Safe to run twice and to kill at any point: a page is judged once, what was enqueued is coalesced,
links are held before the page that named them has ended, and leave their list after they were
enqueued. A batch that is lost between leaves links counted as under way; upkeep forgets them
(`held_link_sweep`).
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
from aragog.crawl.traps.held_links import HeldLink, HeldLinks, Move, Moved, MovedLink
from aragog.crawl.traps.host_budget import HostBudget, LinkVerdict
from aragog.crawl.traps.page_weighing import judge, judge_stored
from aragog.crawl.traps.traits import PageTraits
from aragog.crawl.traps.trap_store import ClosedTemplate, StoredBudget, TrapStore
from urlspelling.domain import host

log = logging.getLogger(__name__)

TRIES = 3
_OPTIONS = (
    "depth", "refresh", "priority", "url_filter", "request_id", "purposes", "found_on",
    "crawl_number",
)  # fmt: skip

LinksByOptions = Mapping[EnqueueOptions, Iterable[str]]


class ArrivedPage(NamedTuple):
    """A page that came, and what it brought."""

    url: str
    """Its job's URL."""
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
    links: HeldLinks
    pages: Sequence[ArrivedPage]
    budgets: dict[str, StoredBudget]
    follow: dict[EnqueueOptions, list[str]] = field(default_factory=dict)
    moves: dict[str, dict[tuple[int, str], MovedLink]] = field(default_factory=dict)
    """What becomes of links, by host, and by crawl and link."""
    useless: set[str] = field(default_factory=set)
    """Pages that repeat the content of others; their links are not followed."""

    def judge(self) -> None:
        """Note what the pages brought."""
        for page in self.pages:
            of = host(page.url)
            if of in self.budgets and not _note(self.budgets[of].budget, page):
                self.useless.add(page.url)

    def offer(self, url: str, options: EnqueueOptions, decisions: Mapping[str, Any]) -> LinkVerdict:
        """Follow a link, hold it, or leave it out."""
        name = host(url)
        budget = self.budgets[name].budget
        is_new = not budget.was_followed(url)
        verdict = budget.verdict(url, decisions.get(name, {}))
        if verdict is LinkVerdict.FOLLOW:
            self.follow.setdefault(options, []).append(url)
            if is_new or budget.held or budget.left_out:
                self.move(Move.FOLLOW, url, options)
        elif verdict is LinkVerdict.HOLD:
            self.move(Move.HOLD, url, options)
        else:
            self.move(Move.LEAVE_OUT, url, options)
        return verdict

    def pass_over(self, url: str, options: EnqueueOptions) -> None:
        """Leave out a link of a page that said what others say, unless it was named before."""
        if not self.budgets[host(url)].budget.was_followed(url):
            self.move(Move.LEAVE_OUT_UNHELD, url, options)

    def move(self, move: Move, url: str, options: EnqueueOptions) -> None:
        """Note what becomes of a link."""
        wire = wire_of(options) if move is Move.HOLD else b""
        moved = MovedLink(move, options.crawl_number, url, wire)
        self.moves.setdefault(host(url), {})[moved.crawl, url] = moved

    def release(
        self,
        held: Iterable[HeldLink],
        decisions: Mapping[str, Any],
        ended: Callable[[int], bool] = lambda _: False,
    ) -> list[HeldLink]:
        """Offer links again that wait; returns those that wait still."""
        waiting = []
        for link in sorted(held, key=_simplest_first):
            options = options_of(link.options)
            if ended(link.crawl):
                self.move(Move.FORGET, link.url, options)
            elif self.offer(link.url, options, decisions) is LinkVerdict.HOLD:
                del self.moves[host(link.url)][link.crawl, link.url]  # as it is
                waiting.append(link)
        return waiting

    def settle(self) -> dict[str, Moved]:
        """Write what became of links and the budgets, after the links were enqueued."""
        moved = {name: self.links.move(name, some.values()) for name, some in self.moves.items()}
        for name, change in moved.items():
            _note_moved(self.budgets[name].budget, change)
        for name in list(self.budgets):
            self._save(name, moved.get(name))
        return moved

    def _save(self, name: str, moved: Moved | None) -> None:
        for _ in range(TRIES):
            if self.store.save(name, self.budgets[name]):
                return
            again = self.store.read([name])[name]
            for page in self.pages:
                if host(page.url) == name:
                    _note(again.budget, page)
            for urls in self.follow.values():
                for url in urls:
                    if host(url) == name:
                        again.budget.followed(url)
            if moved:
                _note_moved(again.budget, moved)
            self.budgets[name] = again


@dataclass(frozen=True, slots=True)
class LinkBudgets:
    """Decides which links are followed."""

    store: TrapStore
    links: HeldLinks
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
        review = Review(self.store, self.links, pages, self.store.read(names))
        decisions = self.store.decisions()
        before = {name: closed_of(one.budget) for name, one in review.budgets.items()}
        review.judge()
        for page_url, by_options in links.items():
            for options, urls in by_options.items():
                for url in urls:
                    if page_url in review.useless:
                        review.pass_over(url, options)
                    else:
                        review.offer(url, options, decisions)
        for name in came & names:
            if review.budgets[name].budget.held:
                review.release(self.links.some(name), decisions)
        return self.enqueue(review, before, enqueue)

    def enqueue(
        self,
        review: Review,
        before: Mapping[str, set[str]],
        enqueue: Callable[[EnqueueOptions, list[str]], int],
    ) -> int:
        """Enqueue what a review follows, and write the rest; how many links were enqueued."""
        count = sum(enqueue(options, urls) for options, urls in review.follow.items())
        closed = {
            name: closed_of(one.budget) - before[name] for name, one in review.budgets.items()
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
        moved = review.settle()
        self.counters.add(
            {
                counters.TEMPLATES_CLOSED: sum(map(len, closed.values())),
                counters.LINKS_LEFT_OUT: sum(one.left_out for one in moved.values()),
            }
        )
        return count


def closed_of(budget: HostBudget) -> set[str]:
    """The templates that are closed."""
    return set(budget.closed())


def _note_moved(budget: HostBudget, moved: Moved) -> None:
    budget.held = moved.held
    budget.left_out = max(0, budget.left_out + moved.left_out - moved.taken_back)


def _note(budget: HostBudget, page: ArrivedPage) -> bool:
    """Note a page's content; False if earlier pages had the same."""
    if page.is_stored:
        judge_stored(budget, page.url)
    elif page.traits is not None or page.is_failure:
        return judge(budget, page.url, page.traits, page.links)
    else:
        budget.arrived(page.url)
    return True


def _simplest_first(link: HeldLink) -> tuple[int, int]:
    """Shorter paths and fewer names first: they are tried before their combinations."""
    return link.url.count("&"), link.url.count("/")


def wire_of(options: EnqueueOptions) -> bytes:
    """How a link is enqueued, as JSON."""
    values = {name: getattr(options, name) for name in _OPTIONS}
    return orjson.dumps({name: value for name, value in values.items() if value})


def options_of(wire: bytes) -> EnqueueOptions:
    """How a held link is enqueued."""
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
