"""
Follows links within the budgets of their URL templates (`aragog.crawl.traps`).

For each batch, the budgets of its hosts are read once and updated with the contents of its pages.
The budgets decide whether each link is followed, held or dropped. The followed links are enqueued,
and the budgets are written. If another process changed a budget in the meantime, this budget is
read and updated again.

Safe to run twice and to kill at any point. A page is judged once, and URLs in flight are not sent
again. Links are held before their page's job ends, and stay held until they are enqueued.
Links of a lost batch count as in progress until the periodic sweep (`held_link_sweep`).
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
from aragog.crawl.stages.inherited_options import INHERITED
from aragog.crawl.traps.held_links import HeldLink, HeldLinks, Move, Moved, MovedLink
from aragog.crawl.traps.host_budget import HostBudget, LinkVerdict
from aragog.crawl.traps.link_order import MAX_OF_KIND, best_first
from aragog.crawl.traps.page_weighing import PageLink, judge, judge_stored
from aragog.crawl.traps.template_states import closed_templates
from aragog.crawl.traps.traits import PageTraits
from aragog.crawl.traps.trap_store import ClosedTemplate, StoredBudget, TrapStore
from urlspelling.domain import host

log = logging.getLogger(__name__)

TRIES = 3
_OPTIONS = ("depth", *INHERITED)
_DEFAULTS = EnqueueOptions()

LinksByOptions = Mapping[EnqueueOptions, Iterable[str]]


class ArrivedPage(NamedTuple):
    """A page that has arrived."""

    url: str
    """The URL of its job."""
    traits: PageTraits | None = None
    """None if the fetch returned no page."""
    links: Sequence[PageLink] = ()
    """Links within the host, with their texts."""
    is_failure: bool = False
    """True if the page does not exist."""
    is_stored: bool = False
    """True if it was already stored. Its content then counts as useful."""


@dataclass(slots=True)
class Review:
    """The links that may be followed after some pages arrived, and the state to write afterward."""

    store: TrapStore
    links: HeldLinks
    pages: Sequence[ArrivedPage]
    budgets: dict[str, StoredBudget]
    follow: dict[EnqueueOptions, list[str]] = field(default_factory=dict)
    moves: dict[str, dict[tuple[int, str], MovedLink]] = field(default_factory=dict)
    """The decision about each link, by host, then by crawl and URL."""

    def judge(self) -> None:
        """Update the budgets with the pages' content."""
        for page in self.pages:
            of = host(page.url)
            if of in self.budgets:
                _note(self.budgets[of].budget, page)

    def offer(
        self,
        url: str,
        options: EnqueueOptions,
        decisions: Mapping[str, Any],
        *,
        is_last: bool = False,
    ) -> LinkVerdict:
        """Decide whether to follow, hold or drop a link."""
        name = host(url)
        budget = self.budgets[name].budget
        is_new = not budget.was_followed(url)
        verdict = budget.verdict(url, decisions.get(name, {}), is_last=is_last)
        if verdict is LinkVerdict.FOLLOW:
            self.follow.setdefault(options, []).append(url)
            if is_new or budget.held or budget.left_out:
                self.move(Move.FOLLOW, url, options)
        elif verdict is LinkVerdict.HOLD:
            self.move(Move.HOLD, url, options)
        else:
            self.move(Move.LEAVE_OUT, url, options)
        return verdict

    def move(self, move: Move, url: str, options: EnqueueOptions) -> None:
        wire = wire_of(options) if move is Move.HOLD else b""
        moved = MovedLink(move, options.crawl_number, url, wire)
        self.moves.setdefault(host(url), {})[moved.crawl, url] = moved

    def offer_all(
        self,
        found: Mapping[str, Sequence[EnqueueOptions]],
        held: Sequence[HeldLink],
        decisions: Mapping[str, Any],
    ) -> None:
        """Offer one host's found and held links, the best ones first."""
        known = {(link.url, link.crawl) for link in held}
        new = [
            HeldLink(options.crawl_number, url, wire_of(options))
            for url, some in found.items()
            for options in some
        ]
        new = [one for one in new if (one.url, one.crawl) not in known]
        waiting = self.release([*held, *new], decisions)
        for link in waiting:
            if (link.url, link.crawl) not in known:
                self.move(Move.HOLD, link.url, options_of(link.options))

    def release(
        self,
        held: Iterable[HeldLink],
        decisions: Mapping[str, Any],
        ended: Callable[[int], bool] = lambda _: False,
        *,
        is_last: bool = False,
    ) -> list[HeldLink]:
        """
        Reconsider a host's held links. Returns those that stay held.

        Pass `is_last=True` if no page of the host is in progress.
        """
        found = {(link.url, link.crawl): link for link in held}
        waiting = []
        for link in self._best_first(found.values(), is_last=is_last):
            del found[link.url, link.crawl]
            options = options_of(link.options)
            if ended(link.crawl):
                self.move(Move.FORGET, link.url, options)
            elif self.offer(link.url, options, decisions, is_last=is_last) is LinkVerdict.HOLD:
                del self.moves[host(link.url)][link.crawl, link.url]  # unchanged
                waiting.append(link)
        return [*waiting, *found.values()]

    def _best_first(self, held: Iterable[HeldLink], *, is_last: bool) -> list[HeldLink]:
        links: dict[str, list[HeldLink]] = {}
        for link in held:
            links.setdefault(link.url, []).append(link)
        if not links:
            return []
        budget = self.budgets[host(next(iter(links)))].budget
        most = len(links) if is_last else MAX_OF_KIND
        return [link for url in best_first(budget, links, most) for link in links[url]]

    def settle(self) -> dict[str, Moved]:
        """Write the decisions and budgets once the links are enqueued."""
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
        """Return those URLs whose hosts have budgets. Empty if Redis does not answer."""
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
        Update budgets, and enqueue the links that may be followed. Returns how many.

        Args:
            links: by the URL of the page that contains them, then by enqueue options.
            pages: the pages that have arrived.
            enqueue: enqueues URLs and returns how many were new.

        Raises:
            BrokerUnavailable: Redis did not answer; run it again.
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
        found = _found_links(links)
        for name in names:
            budget = review.budgets[name].budget
            is_due = name in came and budget.held and budget.is_idle
            held = self.links.some(name) if is_due else []
            review.offer_all(found.get(name, {}), held, decisions)
        return self.enqueue(review, before, enqueue)

    def enqueue(
        self,
        review: Review,
        before: Mapping[str, set[str]],
        enqueue: Callable[[EnqueueOptions, list[str]], int],
    ) -> int:
        """Enqueue a review's links and write its decisions. Returns how many were enqueued."""
        count = sum(enqueue(options, urls) for options, urls in review.follow.items())
        closed = {
            name: closed_of(one.budget) - before[name] for name, one in review.budgets.items()
        }
        gone = [
            ClosedTemplate(name, template, review.budgets[name].budget.records[template].reason)
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
    """The closed URL templates."""
    return set(closed_templates(budget))


def _note_moved(budget: HostBudget, moved: Moved) -> None:
    budget.held = moved.held
    budget.left_out = max(0, budget.left_out + moved.left_out - moved.taken_back)


def _note(budget: HostBudget, page: ArrivedPage) -> None:
    if page.is_stored:
        judge_stored(budget, page.url)
    elif page.traits is not None or page.is_failure:
        judge(budget, page.url, page.traits, page.links)
    else:
        budget.arrived(page.url)


def _found_links(
    links: Mapping[str, LinksByOptions],
) -> dict[str, dict[str, list[EnqueueOptions]]]:
    """The pages' links by host, each with its enqueue options."""
    found: dict[str, dict[str, list[EnqueueOptions]]] = {}
    for by_options in links.values():
        for options, urls in by_options.items():
            for url in urls:
                some = found.setdefault(host(url), {}).setdefault(url, [])
                if options not in some:
                    some.append(options)
    return found


def wire_of(options: EnqueueOptions) -> bytes:
    """The enqueue options of a link, as JSON."""
    values = {name: getattr(options, name) for name in _OPTIONS}
    # Falsy values count, too: priority 0 is the most urgent, and "" is a crawl without a purpose.
    return orjson.dumps(
        {name: value for name, value in values.items() if value != getattr(_DEFAULTS, name)}
    )


def options_of(wire: bytes) -> EnqueueOptions:
    """The enqueue options of a held link."""
    values = orjson.loads(wire)
    return EnqueueOptions(**{name: values[name] for name in _OPTIONS if name in values})


def follow_all(
    links: Mapping[str, LinksByOptions], enqueue: Callable[[EnqueueOptions, list[str]], int]
) -> int:
    """Enqueue all links, ignoring budgets. Returns how many."""
    merged: dict[EnqueueOptions, dict[str, None]] = {}
    for by_options in links.values():
        for options, urls in by_options.items():
            merged.setdefault(options, {}).update(dict.fromkeys(urls))
    return sum(enqueue(options, list(urls)) for options, urls in merged.items())
