"""
The budgets of a host's URL templates: what its pages brought, and which of its links may be
fetched. Pure.

A template begins with a few pages on trial. A page that brings something adds to the budgets of all
its templates, one that brings nothing takes from those that are not proven yet. A page brings
something if it has words of its own that no page of the host had, or links to new pages of
templates that are proven. It brings nothing if it says what other pages of its template say (soft
404s, empty months), or what the page says without a part of its URL (sessions, versions for
printing), or only what several pages say (searches, facets).

Links of a template whose budget is spent are not followed. While the pages on trial are under way,
its other links are held, and so are those of new templates once the host has spent what it may on
trials.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from aragog.crawl.traps.seen_set import SeenSet
from aragog.crawl.traps.templates import PathWords, UrlPart, UrlTemplates, templates_of
from aragog.crawl.traps.traits import PageTraits, are_alike

TRIAL, OPEN = 3.0, 9.0
"""The budget of a new template; that of a proven one, whose links are all followed."""
WORDS, LINKS, PROMISES, NOTHING, SAME = 3.0, 1.0, -0.5, -1.0, -2.0
"""
What a page adds to the budgets of its templates: for words of its own; for links alone; for links
to templates that are on trial themselves; for nothing; for what others said before.
"""
LEAST_NEW_PAIRS, LEAST_NEW_SHARE = 3, 1 / 14
"""
The new pairs among half of the pairs of a page, and their share, that make new content.
"""
HOST_TRIALS, TRIALS_PER_PAGE = 6.0, 0.05
"""
What a host may spend on templates that never brought anything, and what each useful page adds.
"""
TWINS = 3
"""
Pages that were the same without a part of their URL, after which the part has no meaning.
"""
LEAST_BROUGHT = 5
"""Pages of it that must have brought something before all of its links are followed."""
PROVEN = 1
"""Pages that brought something, after which a template is worth being linked to."""
MOST_BY_LINKS = 6.0
"""The budget that a template can have by links alone: it is not proven by them."""
LEAST_PROMISED, MOST_PROMISES = 1.0, 12
"""After `MOST_PROMISES`, this much of a budget is left: what they lead to decides."""
BEYOND = 3
"""Such pages with numbers above all that brought something, after which higher ones wait."""
MOST_TEMPLATES, MOST_PAGES, MOST_BANDS = 200, 400, 1_000
MIRRORS, LAST = 8, 3
"""URLs at which one text may be, as the versions of a manual are."""
LABYRINTH_PAGES = 30
"""Pages whose links lead on in a template, none of them back, after which it is a labyrinth."""
SEEN_BYTES, JUDGED_BYTES, PAIRS_BYTES = 4_096, 2_048, 8_192


class LinkVerdict(Enum):
    """Whether a link may be followed."""

    FOLLOW = "follow"
    HOLD = "hold"
    DROP = "drop"


class TemplateDecision(Enum):
    """What an operator said about a template."""

    OPEN = "open"
    CLOSED = "closed"


@dataclass(slots=True)
class TemplateBudget:
    """What is known about one template."""

    budget: float = TRIAL
    charged: float = 0.0
    """What it has spent of the trials of its host; returned when it brings something."""
    promises: int = 0
    """Pages in a row that had but links to templates on trial."""
    pending: int = 0
    """Links that were followed and whose pages have not come."""
    brought: int = 0
    """Pages that brought something."""
    said: int = 0
    """Those of them that had words of their own."""
    nothing: int = 0
    """Pages that brought nothing."""
    twins: int = 0
    """Pages that were the same without this part of their URLs."""
    differ: int = 0
    """Pages that were not."""
    onward: int = 0
    """Pages with links to further pages of the template."""
    new_links: int = 0
    """Links to further pages of the template that were new."""
    old_links: int = 0
    highest: int = 0
    """The highest number in the URL of a page that brought something."""
    beyond: int = 0
    """Pages with higher numbers that said what others say."""
    last: tuple[bytes, ...] = ()
    """The sketches of its last pages that brought nothing."""

    @property
    def is_open(self) -> bool:
        """Whether all of its links are followed."""
        return self.budget >= OPEN and self.brought >= LEAST_BROUGHT

    @property
    def is_proven(self) -> bool:
        """Whether links to it promise something."""
        return self.brought >= PROVEN and self.budget >= TRIAL

    @property
    def has_room(self) -> bool:
        """Whether another of its links may be followed before the pages of the others have come."""
        return self.is_open or self.pending < min(self.budget, 1 + self.brought)

    @property
    def is_closed(self) -> bool:
        """Whether none is."""
        return self.budget <= 0 or self.is_labyrinth

    @property
    def is_meaningless(self) -> bool:
        """Whether this part of a URL leads to the page that the URL has without it."""
        return self.twins >= TWINS and self.twins > 9 * self.differ

    @property
    def is_labyrinth(self) -> bool:
        """Whether its pages lead to ever new pages of it and never back."""
        return self.onward >= LABYRINTH_PAGES and self.old_links * 50 < self.new_links

    @property
    def state(self) -> str:
        """`open`, `closed` or `on trial`."""
        return "closed" if self.is_closed else "open" if self.is_open else "on trial"

    @property
    def reason(self) -> str:
        """Why it is closed; "" if it is not."""
        if self.is_labyrinth:
            return f"all of its {self.new_links} links led to further pages of it"
        if self.is_meaningless:
            return f"{self.twins} pages were the same without it"
        return f"{self.nothing} pages brought nothing new" if self.budget <= 0 else ""

    def add(self, change: float, most: float = OPEN, least: float = 0.0) -> None:
        """Add to the budget, within bounds that it does not pass."""
        if change > 0:
            self.budget = max(self.budget, min(most, self.budget + change))
        else:
            self.budget = min(self.budget, max(least, self.budget + change))


@dataclass(slots=True)
class HostBudget:
    """All of a host."""

    words: PathWords = field(default_factory=PathWords)
    templates: OrderedDict[str, TemplateBudget] = field(default_factory=OrderedDict)
    useful: int = 0
    """Pages that brought something."""
    spent: float = 0.0
    """Trials of templates that never brought anything."""
    held: int = 0
    """About how many links wait for a verdict."""
    left_out: int = 0
    """Links that were not followed."""
    seen: SeenSet = field(default_factory=lambda: SeenSet(SEEN_BYTES))
    """Links that were followed, also without each part of their URLs."""
    pairs: SeenSet = field(default_factory=lambda: SeenSet(PAIRS_BYTES))
    """Pairs of words of its pages."""
    pages: OrderedDict[int, bytes] = field(default_factory=OrderedDict)
    """Sketches by the hash of a URL, and of a URL without a part."""
    bands: OrderedDict[int, int] = field(default_factory=OrderedDict)
    """How many pages had each band of a sketch."""
    judged: SeenSet = field(default_factory=lambda: SeenSet(JUDGED_BYTES))

    def template(self, name: str) -> TemplateBudget:
        """The budget of a template; a new one replaces the one unused for longest."""
        found = self.templates.get(name)
        if found is None:
            found = self.templates[name] = TemplateBudget()
            if len(self.templates) > MOST_TEMPLATES:
                self.templates.popitem(last=False)
        else:
            self.templates.move_to_end(name)
        return found

    def verdict(self, url: str, decisions: dict[str, TemplateDecision]) -> LinkVerdict:
        """
        Whether a link may be followed now; if so, it is noted as followed.

        Args:
            url: a normalized URL of this host.
            decisions: of the operator, by template.
        """
        is_of = templates_of(url, self.words)
        if is_of.own in self.seen:
            return LinkVerdict.FOLLOW  # it waits or was fetched, and costs nothing
        decided = {decisions[name] for name in is_of.templates if name in decisions}
        if TemplateDecision.CLOSED in decided:
            return self._dropped()
        if TemplateDecision.OPEN not in decided:
            verdict = self._learned(is_of)
            if verdict is not LinkVerdict.FOLLOW:
                return verdict if verdict is LinkVerdict.HOLD else self._dropped()
        self._follow(is_of)
        return LinkVerdict.FOLLOW

    def _dropped(self) -> LinkVerdict:
        self.left_out += 1
        return LinkVerdict.DROP

    def _learned(self, is_of: UrlTemplates) -> LinkVerdict:
        budgets = [self.template(name) for name in is_of.templates]
        for part in is_of.parts:
            if part.without in self.seen and self.template(part.template).is_meaningless:
                return LinkVerdict.DROP
        if any(one.is_closed for one in budgets):
            return LinkVerdict.DROP
        on_trial = [one for one in budgets if not one.is_open]
        if not all(one.has_room for one in budgets) or self._is_beyond(is_of, budgets[0]):
            return LinkVerdict.HOLD
        if any(not one.brought for one in on_trial) and self._trials() >= self._may_spend():
            return LinkVerdict.HOLD
        return LinkVerdict.FOLLOW

    @staticmethod
    def _is_beyond(is_of: UrlTemplates, path: TemplateBudget) -> bool:
        number = is_of.number or 0
        return path.beyond >= BEYOND and number > path.highest + path.highest // 8 + BEYOND

    def _trials(self) -> int:
        """Links that are under way to pages of templates that never brought anything."""
        return sum(one.pending for one in self.templates.values() if not one.brought)

    def _may_spend(self) -> float:
        return HOST_TRIALS + TRIALS_PER_PAGE * self.useful - self.spent

    def judge(self, url: str, traits: PageTraits | None, links: Iterable[str]) -> bool:
        """
        Note what the page of a URL brought, once for each URL; whether its links are worth
        following.

        Args:
            url: a normalized URL of this host.
            traits: of its page; None: it could not be fetched or read.
            links: its links within this host, normalized.
        """
        is_of = templates_of(url, self.words)
        if is_of.own in self.judged:
            return True
        self.judged.add((is_of.own,))
        self.seen.add((is_of.own,))
        budgets = {name: self.template(name) for name in is_of.templates}
        for one in budgets.values():
            one.pending = max(0, one.pending - 1)
        if traits is None:
            self._take(is_of.templates, NOTHING)
            return True
        is_own = self._weigh(is_of, budgets, traits, self._new_links(is_of, budgets, links))
        self._remember(is_of, traits)
        return is_own

    def _weigh(
        self,
        is_of: UrlTemplates,
        budgets: dict[str, TemplateBudget],
        traits: PageTraits,
        new_links: bool | None,
    ) -> bool:
        """Change the budgets by what a page brought; False if others said the same before."""
        path = budgets[is_of.templates[0]]
        if self._has_new_words(traits):
            self._give(budgets.values(), WORDS, OPEN)
            self._twin(is_of.parts, traits)
        elif twin := self._twin(is_of.parts, traits):
            self._take([twin], SAME)
            return False
        elif new_links:
            self._give(budgets.values(), LINKS, MOST_BY_LINKS)
        elif new_links is False:
            self._promise(budgets.values())
            return True
        elif self._copies(traits) >= MIRRORS or self._is_repeated(path, traits):
            path.beyond += (is_of.number or 0) > path.highest
            self._take(is_of.templates, SAME)
            return False
        else:
            self._take(is_of.templates, PROMISES if self._copies(traits) else NOTHING)
            return True
        path.highest, path.beyond = max(path.highest, is_of.number or 0), 0
        return True

    def _promise(self, budgets: Iterable[TemplateBudget]) -> None:
        """Take a little for links whose worth is not known; less than all, if not too often."""
        for one in budgets:
            if not one.is_open:
                one.promises += 1
                one.add(PROMISES, least=LEAST_PROMISED if one.promises <= MOST_PROMISES else 0.0)

    def _has_new_words(self, traits: PageTraits) -> bool:
        new = sum(1 for code in traits.pairs if code not in self.pairs)
        return new >= max(LEAST_NEW_PAIRS, LEAST_NEW_SHARE * len(traits.pairs))

    def _give(self, budgets: Iterable[TemplateBudget], change: float, most: float) -> None:
        self.useful += 1
        for one in budgets:
            self.spent = max(0.0, self.spent - one.charged)
            one.charged, one.promises = 0.0, 0
            one.brought += 1
            one.said += change == WORDS
            one.add(change, most)

    def _new_links(
        self, is_of: UrlTemplates, budgets: dict[str, TemplateBudget], links: Iterable[str]
    ) -> bool | None:
        """Whether it has new links of proven templates; None: it has no new link."""
        found: bool | None = None
        own = budgets[is_of.templates[0]]
        before = own.new_links + own.old_links
        for link in links:
            to = templates_of(link, self.words)
            is_new = to.own not in self.seen
            if to.templates == is_of.templates and to.own != is_of.own:
                own.new_links += is_new
                own.old_links += not is_new
            if not is_new or set(to.templates) <= budgets.keys():
                continue  # growing by itself is no use
            known = [self.templates.get(name) for name in to.templates]
            if any(one is not None and one.is_closed for one in known):
                continue
            elsewhere = to.templates[0] != is_of.templates[0]
            found = found or all(
                one is not None and one.is_proven and (elsewhere or one.said) for one in known
            )
        own.onward += own.new_links + own.old_links > before
        return found

    def _take(self, names: Sequence[str], change: float) -> None:
        """
        Take from the templates that are not proven, or from all if all are.

        A path that other pages have without the names of a query is not what brings nothing.
        """
        of_query = [name for name in names if name.startswith("?")]
        some = [self.template(name) for name in of_query or names]
        for one in [one for one in some if not one.is_open] or some:
            if not one.brought:
                charge = min(1.0, -change) / len(some)
                self.spent += charge
                one.charged += charge
            one.nothing += change <= NOTHING
            one.add(change)

    def _twin(self, parts: Sequence[UrlPart], traits: PageTraits) -> str:
        """The part of a URL without which the page is the same; "": no such part is known."""
        found = ""
        for part in parts:
            other = self.pages.get(part.without)
            if other is None:
                continue
            template = self.template(part.template)
            if are_alike(other, traits.sketch):
                template.twins += 1
                found = found or part.template
            else:
                template.differ += 1
        return found

    @staticmethod
    def _is_repeated(template: TemplateBudget, traits: PageTraits) -> bool:
        """Whether the last pages of the template that brought nothing said the same."""
        same = sum(are_alike(other, traits.sketch) for other in template.last)
        template.last = (*template.last, traits.sketch)[-LAST:]
        return same >= 2

    def _copies(self, traits: PageTraits) -> int:
        """How many pages of the host said nearly the same."""
        return max((self.bands.get(band, 0) for band in traits.bands), default=0)

    def _remember(self, is_of: UrlTemplates, traits: PageTraits) -> None:
        self.pairs.add(traits.pairs)
        for place in (is_of.own, *(part.without for part in is_of.parts)):
            self.pages.setdefault(place, traits.sketch)
        while len(self.pages) > MOST_PAGES:
            self.pages.popitem(last=False)
        for band in traits.bands:
            self.bands[band] = self.bands.get(band, 0) + 1
        while len(self.bands) > MOST_BANDS:
            self.bands.popitem(last=False)

    def stored(self, url: str) -> None:
        """Note that the page of a URL is stored already: an earlier crawl found it worth that."""
        is_of = templates_of(url, self.words)
        if is_of.own in self.judged:
            return
        self.judged.add((is_of.own,))
        self.seen.add((is_of.own,))
        budgets = [self.template(name) for name in is_of.templates]
        for one in budgets:
            one.pending = max(0, one.pending - 1)
        self._give(budgets, WORDS, OPEN)

    def arrived(self, url: str) -> None:
        """Note that a followed link ended without telling anything of its templates."""
        for name in templates_of(url, self.words).templates:
            if one := self.templates.get(name):
                one.pending = max(0, one.pending - 1)

    def followed(self, url: str) -> None:
        """Note a link that is followed, whatever its templates are."""
        is_of = templates_of(url, self.words)
        if is_of.own not in self.seen:
            self._follow(is_of)

    def _follow(self, is_of: UrlTemplates) -> None:
        for name in is_of.templates:
            self.template(name).pending += 1
        self.seen.add((is_of.own, *(part.without for part in is_of.parts)))

    def forget_pending(self) -> None:
        """Links whose pages never came count no longer, and one more trial is allowed."""
        for one in self.templates.values():
            one.pending = one.beyond = 0
        self.spent = max(0.0, self.spent - 1)

    def why_not(self, url: str, decisions: dict[str, TemplateDecision]) -> str:
        """Why a link to a URL is not followed now; "" if it is. It changes nothing."""
        for name in templates_of(url, PathWords({k: list(v) for k, v in self.words.words.items()}))[
            1
        ]:
            one, decision = self.templates.get(name), decisions.get(name)
            if decision is TemplateDecision.CLOSED:
                return f"{name}: closed by an operator"
            if decision is None and one is not None and one.reason:
                return f"{name}: {one.reason}"
        return ""

    def closed(self) -> dict[str, str]:
        """The templates that are closed, with the reason."""
        return {name: one.reason for name, one in self.templates.items() if one.reason}
