"""
Judges what a page brought, and changes the budgets of its templates accordingly. Pure.

A page is useful if it has words that no other page of the host had, or links to new pages of useful
templates. It is useless if it has the text of the page without a part of its URL (sessions, print
versions), of other pages of its template (soft 404s, empty months), or only text that several pages
have (searches, facets).

Numbers count less than words, because there are infinitely many of them. A page with only new
numbers is useful if another kind of page links to it, but not if it leads to further pages of its
own kind (views of a map, statistics of any range).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aragog.crawl.traps.host_budget import MAX_BANDS, MAX_PAGES, UNTRIED, HostBudget
from aragog.crawl.traps.template_budget import FAR, MIN_BROUGHT, OPEN, TemplateBudget
from aragog.crawl.traps.templates import AGAIN, UrlTemplates, templates_of
from aragog.crawl.traps.traits import PageTraits, are_alike

WORDS, LINKS, PROMISES, NOTHING, SAME = 3.0, 1.0, -0.5, -1.0, -2.0
"""
What a page adds to the budgets of its templates if it brought words of its own; only links; only
links to templates on trial; nothing; only what other pages had said before.
"""
MIN_NEW, MIN_SHARE = 4, 14
"""
Minimum number of new word pairs for new content. For a page that is like the one without a part of
its URL, also one new pair in this many.
"""
PROMISE_COST = 0.5
"""Cost to the host of a page with only links to templates on trial, until one is useful."""
MIN_SAID = 2
"""
A template with this many pages with words of their own is worth leading to. One is not enough,
because the first page always has new words.
"""
MIN_GROWTH = 2
"""
A page with only new numbers and this many new links within its branch is in an infinite space.
"""
MAX_BY_LINKS = 6.0
"""Maximum budget that a template can get by links alone, which do not prove it."""
MIN_PROMISED, MAX_PROMISES = 1.0, 12
"""Until `MAX_PROMISES`, at least this much of a budget is left to try what the links lead to."""
MIN_OF_BRANCH = 1.0
"""
The minimum budget of a branch, and of a proven template with pages that repeat others' text. So
they are never closed for that reason.
"""
TEXT = 20
"""A page with at least this many own word pairs is a text, otherwise a list."""
MIRRORS, LAST = 8, 3
"""Number of URLs that may have the same text, such as the versions of a manual."""


def judge(host: HostBudget, url: str, traits: PageTraits | None, links: Iterable[str] = ()) -> bool:
    """
    Record what a URL's page brought, once per URL. Returns True if its links are worth following.

    Args:
        host: the budgets of the URL's host.
        url: a normalized URL of the host.
        traits: the traits of its page; None if it could not be fetched or read.
        links: the page's links within this host, normalized.
    """
    is_of = host.begin_judging(url)
    if is_of is None:
        return True
    weighing = _Weighing(host, is_of, [host.template(name) for name in is_of.templates])
    return weighing.fail() if traits is None else weighing.weigh(traits, list(links))


def judge_stored(host: HostBudget, url: str) -> None:
    """Record a URL whose page is already stored, because an earlier crawl found it useful."""
    is_of = host.begin_judging(url)
    if is_of is not None:
        _Weighing(host, is_of, [host.template(name) for name in is_of.templates]).give(WORDS)


@dataclass(frozen=True, slots=True)
class _Weighing:
    """One page."""

    host: HostBudget
    is_of: UrlTemplates
    budgets: list[TemplateBudget]

    def fail(self) -> bool:
        self._take(NOTHING)
        return True

    def weigh(self, traits: PageTraits, links: Sequence[str]) -> bool:
        """Change the budgets by what the page brought. Returns False if it repeats other pages."""
        change = self._change(traits, links)
        self._remember(traits)
        return change > SAME

    def _change(self, traits: PageTraits, links: Sequence[str]) -> float:
        host = self.host
        targets = [host.plain(templates_of(link, host.words)) for link in links]
        new, numbers = self._new_of(traits.pairs), self._new_of(traits.numbers)
        twin = self._twin(traits)
        if twin and new * MIN_SHARE < len(traits.pairs):
            return self._take(SAME, [twin])
        new_links = self._new_links(targets)
        if new >= MIN_NEW:
            self._count_inner(targets)
            self._name(targets)
            return self.give(WORDS)
        if new + numbers >= MIN_NEW:
            return self._take(NOTHING) if self._grows(targets) else self.give(WORDS)
        copies = self._copies(traits)
        if copies and len(traits.pairs) >= TEXT:
            return self._copy(copies)
        if new_links is not None:
            self._name(targets)
            if new_links:
                return self.give(LINKS, MAX_BY_LINKS)
            is_tried = self.budgets[0].promises >= UNTRIED
            return (
                self._take(NOTHING) if is_tried and self._is_repeated(traits) else self._promise()
            )
        if copies >= MIRRORS or self._is_repeated(traits):
            self.budgets[0].beyond += (self.is_of.number or 0) > self.budgets[0].highest
            return self._take(SAME)
        return self._take(PROMISES if copies else NOTHING)

    def _copy(self, copies: int) -> float:
        """Subtract for a text that another page has."""
        varied = [p.template for p in self.is_of.in_query if p.without in self.host.judged]
        if varied or copies >= MIRRORS:
            return self._take(SAME, varied)
        is_moved = any(name == AGAIN or name.startswith("**/") for name in self.is_of.templates)
        return self._take(NOTHING if is_moved else PROMISES)

    def _name(self, targets: Iterable[UrlTemplates]) -> None:
        self.host.named.add(to.own for to in targets)

    def _grows(self, targets: Iterable[UrlTemplates]) -> bool:
        """True if a page with only new numbers belongs to an infinite space."""
        within = self._within(targets)
        own = self.is_of.own
        is_grown = own in self.host.grown and own not in self.host.named
        return within >= MIN_GROWTH or is_grown

    def _count_inner(self, targets: Iterable[UrlTemplates]) -> None:
        """Count a page with words that was found only from its branch, to detect a labyrinth."""
        within = self._within(targets)
        if self.is_of.own in self.host.grown:
            branch = self.host.template(self.is_of.branch)
            branch.inner += 1
            branch.new_links += within

    def _within(self, targets: Iterable[UrlTemplates]) -> int:
        """Count and record links to pages of the same branch that no page has linked to before."""
        host, own = self.host, self.is_of
        found = {to.own for to in targets if to.branch == own.branch and not self._is_known(to)}
        host.grown.add(found)
        return len(found)

    def _is_known(self, to: UrlTemplates) -> bool:
        """True if a page was linked to, perhaps with other values of possibly meaningless names."""
        host = self.host
        places = [to.own, *(p.without for p in to.in_query if not host.differs(p.template))]
        return any(place in host.named or place in host.seen for place in places)

    def _new_of(self, pairs: Sequence[int]) -> int:
        return sum(1 for code in pairs if code not in self.host.pairs)

    def give(self, change: float, most: float = OPEN) -> float:
        self.host.useful += 1
        for one in self.budgets:
            self.host.spent = max(0.0, self.host.spent - one.charged)
            one.charged, one.promises, one.row = 0.0, 0, 0
            one.brought += 1
            one.said += change == WORDS
            if one.said >= MIN_SAID:
                one.steps = 0
            one.add(change, most)
        if self.is_of.shape:
            self.host.template(self.is_of.shape).brought += 1
        path, number = self.budgets[0], self.is_of.number or 0
        if number > path.highest:
            path.highest, path.beyond = number, 0
        return change

    def _promise(self) -> float:
        """Subtract a little for links of unknown value, at first without spending the budget."""
        self.host.spent += PROMISE_COST
        for one in self.budgets:
            if not one.is_open:
                one.promises += 1
                one.charged += PROMISE_COST / len(self.budgets)
                one.add(PROMISES, least=MIN_PROMISED if one.promises <= MAX_PROMISES else 0.0)
        return PROMISES

    def _take(self, change: float, names: Sequence[str] = ()) -> float:
        """
        Subtract from the templates that are not proven, or from all if all are proven.

        If the URL has a query, only its names are charged, because the path may be useful without
        them.
        """
        if self.is_of.shape:
            self.host.template(self.is_of.shape).nothing += 1
        names = names or self.is_of.templates
        of_query = [name for name in names if name.startswith("?")]
        some = [(name, self.host.template(name)) for name in of_query or names]
        cost = min(1.0, -change)
        if change == SAME and all(name.startswith(("?", ";", "**/")) for name in names):
            self.host.varied += cost
        else:
            self.host.spent += cost
        for name, one in [(name, one) for name, one in some if not one.is_open] or some:
            if not one.brought and change > SAME:
                one.charged += cost / len(some)
            one.nothing += change <= NOTHING
            one.row += change <= NOTHING and not name.endswith("/...")
            is_kept = name.endswith("/...") or (change == PROMISES and one.brought >= MIN_BROUGHT)
            one.add(change, least=MIN_OF_BRANCH if is_kept else 0.0)
        return change

    def _new_links(self, targets: Iterable[UrlTemplates]) -> bool | None:
        """
        True if the page has new links to templates nearer to words. None if it has no new link.

        Templates that only lead to each other are never nearer, however many links they have.
        """
        host, is_of = self.host, self.is_of
        found, steps = False, FAR
        for to in targets:
            if self._is_known(to):
                self._count_again(to)
            if to.own in host.seen:
                continue
            if set(to.templates) <= set(is_of.templates):
                continue  # more links of the same templates are not useful
            known = [one for name in to.templates if (one := host.templates.get(name))]
            if any(one.is_closed for one in known):
                continue
            found = True
            if len(known) == len(to.templates) and all(one.has_credit for one in known):
                steps = min(steps, known[0].steps)
        if not found:
            return None
        own = self.budgets[0]
        if steps >= max(own.steps, 1):
            return False
        own.steps = min(own.steps, steps + 1)
        return True

    def _count_again(self, to: UrlTemplates) -> None:
        """Count a link to a known page of a branch, once per page; a labyrinth has few of them."""
        host = self.host
        places = [to.own, *(p.without for p in to.in_query if not host.differs(p.template))]
        if any(place in host.grown for place in places) and places[-1] not in host.relinked:
            host.relinked.add((places[-1],))
            host.template(to.branch).old_links += 1

    def _twin(self, traits: PageTraits) -> str:
        """The part of the URL without which the page is the same; "" if none is known."""
        found = ""
        for part in self.is_of.parts:
            other, known = self.host.pages.get(part.without), part.template in self.host.templates
            if other is None:
                continue
            if known:
                one = self.host.template(part.template)
                one.variants = max(0, one.variants - 1)
            if are_alike(other, traits.sketch):
                self.host.template(part.template).twins += 1
                found = found or part.template
            elif known:
                self.host.template(part.template).differ += 1
        return found

    def _is_repeated(self, traits: PageTraits) -> bool:
        """True if at least two of the template's last useless pages had the same text."""
        path = self.budgets[0]
        same = sum(are_alike(other, traits.sketch) for other in path.last)
        path.last = (*path.last, traits.sketch)[-LAST:]
        return same >= 2

    def _copies(self, traits: PageTraits) -> int:
        """The number of the host's pages that had nearly the same text."""
        return max((self.host.bands.get(band, 0) for band in traits.bands), default=0)

    def _remember(self, traits: PageTraits) -> None:
        host = self.host
        host.pairs.add((*traits.pairs, *traits.numbers))
        for place in (self.is_of.own, *(part.without for part in self.is_of.in_query)):
            host.pages.setdefault(place, traits.sketch)
        while len(host.pages) > MAX_PAGES:
            host.pages.popitem(last=False)
        for band in traits.bands:
            host.bands[band] = host.bands.get(band, 0) + 1
        while len(host.bands) > MAX_BANDS:
            host.bands.popitem(last=False)
