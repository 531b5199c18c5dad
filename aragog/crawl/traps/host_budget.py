"""
The budgets of a host's URL templates, which decide which of its links may be followed. Pure.

A template begins with a few trial pages. `page_weighing` adds to the budgets of all templates of a
useful page and subtracts from those of a useless one. Links of a template whose budget is spent are
not followed. While a template's trial pages are being fetched, its other links are held. Links of
all templates without credit are held, too, once the host has spent its allowance for useless pages.
Parts of URLs that do not change the page are learned, and a link is judged without them.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from enum import Enum

from aragog.crawl.traps.seen_set import SeenSet
from aragog.crawl.traps.template_budget import TemplateBudget
from aragog.crawl.traps.templates import PathWords, UrlPart, UrlTemplates, hash_of, templates_of

FIRST_TRIALS, LESS_PER_PAGE = 12.0, 0.1
HOST_TRIALS, TRIALS_PER_PAGE = 3.0, 0.02
HOST_VARIANTS, VARIANTS_PER_PAGE = 4.0, 0.01
"""
A host's allowance for useless pages, after which its templates without credit wait. It is large at
first, shrinks with each useful page, and in the long run is a share of the useful pages. The third
pair is the same for URLs that were already followed without one of their parts.
"""
RESERVE = 1.5
"""Factor on that allowance for a new template next to templates with credit."""
BEYOND = 3
"""After this many useless pages numbered above all useful ones, higher numbers wait."""
MIN_OF_SHAPE = 3
"""
A new template of a shape is tried even if its host's allowance is spent, if the shape has at least
this many useful pages, and this many for each useless one.
"""
PENDING_OF_LABYRINTH = 2
"""Maximum number of pending links of a branch that may be a labyrinth."""
UNTRIED = 3
"""After this many pages whose only new links are of templates on trial, those are tried first."""
MAX_TEMPLATES, MAX_PAGES, MAX_BANDS = 200, 400, 1_000
MIN_DIFFER = 2
"""If this many pages differ without a part of their URL, the part matters."""
MAX_PLAIN = 4
"""Maximum number of meaningless parts that are removed from a URL."""
SEEN_BYTES, JUDGED_BYTES, PAIRS_BYTES, NAMED_BYTES = 8_192, 4_096, 16_384, 4_096


class LinkVerdict(Enum):
    """Whether a link may be followed."""

    FOLLOW = "follow"
    HOLD = "hold"
    DROP = "drop"


class TemplateDecision(Enum):
    """An operator's decision about a template."""

    OPEN = "open"
    CLOSED = "closed"


@dataclass(slots=True)
class HostBudget:
    """All budgets of a host."""

    words: PathWords = field(default_factory=PathWords)
    templates: OrderedDict[str, TemplateBudget] = field(default_factory=OrderedDict)
    useful: int = 0
    """Number of useful pages."""
    spent: float = 0.0
    """Cost of useless pages so far."""
    varied: float = 0.0
    """Cost of pages that were the same without a part of their URL."""
    held: int = 0
    """Approximate number of held links."""
    left_out: int = 0
    """Number of links that were not followed, counted once for each crawl that found them."""
    seen: SeenSet = field(default_factory=lambda: SeenSet(SEEN_BYTES))
    """Links that were followed, and the same links without each part of their queries."""
    pairs: SeenSet = field(default_factory=lambda: SeenSet(PAIRS_BYTES))
    """Word pairs of the host's pages."""
    pages: OrderedDict[int, bytes] = field(default_factory=OrderedDict)
    """Sketches by the hash of a URL, and of the URL without a part."""
    bands: OrderedDict[int, int] = field(default_factory=OrderedDict)
    """The number of pages that had each band of a sketch."""
    judged: SeenSet = field(default_factory=lambda: SeenSet(JUDGED_BYTES))
    named: SeenSet = field(default_factory=lambda: SeenSet(NAMED_BYTES))
    """Links on pages that have new words, not only new numbers."""
    grown: SeenSet = field(default_factory=lambda: SeenSet(NAMED_BYTES))
    """Links within a branch that were first found on pages of the same branch."""
    relinked: SeenSet = field(default_factory=lambda: SeenSet(JUDGED_BYTES))
    """Pages that other pages of their branch linked to again."""

    def template(self, name: str) -> TemplateBudget:
        """A template's budget. A new one replaces the least recently used one if there are many."""
        found = self.templates.get(name)
        if found is None:
            found = self.templates[name] = TemplateBudget()
            if len(self.templates) > MAX_TEMPLATES:
                self.templates.popitem(last=False)
        else:
            self.templates.move_to_end(name)
        return found

    def verdict(self, url: str, decisions: dict[str, TemplateDecision]) -> LinkVerdict:
        """
        Decide whether a link may be followed now. If so, it is recorded as followed.

        Args:
            url: a normalized URL of this host.
            decisions: operators' decisions, by template.
        """
        is_of = templates_of(url, self.words)
        if is_of.own in self.seen:
            return LinkVerdict.FOLLOW  # already followed, so it costs nothing
        plain = self.plain(is_of)
        decided = {decisions[name] for name in is_of.templates if name in decisions}
        if TemplateDecision.CLOSED in decided:
            return LinkVerdict.DROP
        if TemplateDecision.OPEN not in decided:
            verdict = self._learned(plain, is_of.own)
            if verdict is not LinkVerdict.FOLLOW:
                return verdict
        self._follow(plain, is_of.own)
        return LinkVerdict.FOLLOW

    def was_followed(self, url: str) -> bool:
        """True if a link was followed before."""
        return hash_of(url) in self.seen

    def plain(self, is_of: UrlTemplates) -> UrlTemplates:
        """The templates of a URL without the parts that do not change the page."""
        for _ in range(MAX_PLAIN):
            parts = (p for p in is_of.parts if self._is_meaningless(p.template))
            part = next(parts, None)
            if part is None:
                break
            is_of = templates_of(part.url, self.words)
        return is_of

    def differs(self, name: str) -> bool:
        """True if pages are known to differ without this part of their URLs."""
        known = self.templates.get(name)
        return known is not None and known.differ >= MIN_DIFFER

    def _is_meaningless(self, name: str) -> bool:
        known = self.templates.get(name)
        return known is not None and known.is_meaningless

    def _learned(self, plain: UrlTemplates, own: int) -> LinkVerdict:
        budgets = [self.template(name) for name in plain.templates]
        if any(one.is_closed for one in budgets) or (plain.own != own and plain.own in self.seen):
            return LinkVerdict.DROP
        branch = self.template(plain.branch)
        if branch.may_be_labyrinth and branch.pending >= PENDING_OF_LABYRINTH:
            return LinkVerdict.HOLD
        if not budgets[0].is_untried and plain.branch != plain.templates[0]:
            budgets.remove(branch)  # the branch's budget only matters for untried templates
        if not all(one.has_room for one in budgets) or self._is_beyond(plain, budgets[0]):
            return LinkVerdict.HOLD
        if self._has_untried() and any(one.is_empty(UNTRIED) for one in budgets):
            return LinkVerdict.HOLD
        if any(self._waits(part) for part in plain.in_query):
            return LinkVerdict.HOLD
        if not all(one.may_vary for one in self._variants(plain)):
            return LinkVerdict.HOLD
        if all(one.has_credit for one in budgets) or self._is_as_others(plain, budgets):
            return LinkVerdict.FOLLOW
        is_spent = self._is_spent(RESERVE if self._is_new_sibling(budgets) else 1.0, plain)
        return LinkVerdict.HOLD if is_spent else LinkVerdict.FOLLOW

    def _is_as_others(self, plain: UrlTemplates, budgets: list[TemplateBudget]) -> bool:
        """True if a link has a new template, and useful pages of the same shape are known."""
        shape = self.templates.get(plain.shape)
        return (
            shape is not None
            and shape.brought >= MIN_OF_SHAPE
            and shape.brought >= MIN_OF_SHAPE * shape.nothing
            and all(one.has_credit or one.is_untried for one in budgets)
        )

    @staticmethod
    def _is_new_sibling(budgets: list[TemplateBudget]) -> bool:
        """True if some of a link's templates have credit, and the others are untried."""
        credited = sum(one.has_credit for one in budgets)
        return credited > 0 and all(one.has_credit or one.is_untried for one in budgets)

    def _waits(self, part: UrlPart) -> bool:
        """True if the URL without a part, which must be fetched first, is still held."""
        return part.without in self.named and part.without not in self.seen

    def _variants(self, is_of: UrlTemplates) -> list[TemplateBudget]:
        """The budgets of a URL's parts for which the URL without the part was followed."""
        return [self.template(p.template) for p in is_of.in_query if p.without in self.seen]

    @staticmethod
    def _is_beyond(is_of: UrlTemplates, path: TemplateBudget) -> bool:
        number = is_of.number or 0
        return path.beyond >= BEYOND and number > path.highest + BEYOND

    def _has_untried(self) -> bool:
        return any(one.pending and not one.brought for one in self.templates.values())

    def _is_spent(self, share: float, plain: UrlTemplates) -> bool:
        """True if the host has spent its allowance, including templates on trial."""
        most = share * (HOST_VARIANTS + VARIANTS_PER_PAGE * self.useful)
        if self.varied >= most and self._variants(plain):
            return True
        on_trial = sum(not one.has_credit and one.pending > 0 for one in self.templates.values())
        at_first = FIRST_TRIALS - LESS_PER_PAGE * self.useful
        most = share * max(at_first, HOST_TRIALS + TRIALS_PER_PAGE * self.useful)
        return self.spent + on_trial >= most

    def _follow(self, plain: UrlTemplates, own: int) -> None:
        for one in self._variants(plain):
            one.variants += 1
        for name in plain.templates:
            self.template(name).pending += 1
        self.seen.add((own, plain.own, *(part.without for part in plain.in_query)))

    def followed(self, url: str) -> None:
        """Record a link that is followed regardless of its templates."""
        is_of = templates_of(url, self.words)
        if is_of.own not in self.seen:
            self._follow(self.plain(is_of), is_of.own)

    def arrived(self, url: str) -> None:
        """Record that a followed link ended without a result for its templates."""
        is_of = templates_of(url, self.words)
        for name in {*is_of.templates, *self.plain(is_of).templates}:
            if one := self.templates.get(name):
                one.pending = max(0, one.pending - 1)

    def begin_judging(self, url: str) -> UrlTemplates | None:
        """Record that a URL's page arrived. Returns its templates, or None if judged before."""
        is_of = templates_of(url, self.words)
        if is_of.own in self.judged:
            return None
        self.judged.add((is_of.own,))
        plain = self.plain(is_of)
        self.seen.add((is_of.own, plain.own))
        for name in {*is_of.templates, *plain.templates}:
            one = self.template(name)
            one.pending = max(0, one.pending - 1)
        return plain

    def forget_pending(self) -> None:
        """Stop counting links whose pages never arrived."""
        for one in self.templates.values():
            one.pending = one.beyond = one.variants = 0

    def why_not(self, url: str, decisions: dict[str, TemplateDecision]) -> str:
        """Why a link is not followed now; "" if it is not blocked. Changes nothing."""
        words = PathWords({place: list(known) for place, known in self.words.words.items()})
        is_of = templates_of(url, words)
        for name in (*is_of.templates, *(part.template for part in is_of.parts)):
            one, decision = self.templates.get(name), decisions.get(name)
            if decision is TemplateDecision.CLOSED:
                return f"{name}: closed by an operator"
            if decision is None and one is not None and one.reason:
                return f"{name}: {one.reason}"
        return ""

    def closed(self) -> dict[str, str]:
        """The closed templates, each with the reason."""
        return {name: one.reason for name, one in self.templates.items() if one.reason}
