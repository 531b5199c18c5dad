"""
The budgets of a host's URL templates, and which of its links may be followed. Pure.

A template begins with a few pages on trial. `page_weighing` adds to the budgets of all templates of
a page that brings something, and takes from those of one that brings nothing. Links of a template
whose budget is spent are not followed. While the pages on trial are under way, its other links are
held, and so are those of all templates without credit once the host has spent what it may on pages
that brought nothing. Parts of URLs that change nothing are learned, and a link is judged without
them.
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
What a host may spend on pages that bring nothing before its templates without credit wait: much at
first, less with each useful page, and in the long run a share of the useful pages. The same for
URLs that others have without a part of them.
"""
RESERVE = 1.5
"""Times as much may be spent before a new template waits whose branch brings something."""
BEYOND = 3
"""Such pages with numbers above all that brought something, after which higher ones wait."""
LEAST_OF_SHAPE = 3
"""
Pages of a shape that brought something, for each that did not, before a new template of the shape
is tried whatever its host has spent.
"""
PENDING_OF_LABYRINTH = 2
"""Links under way of a branch that may be a labyrinth."""
UNTRIED = 3
"""Such pages with but links to templates on trial, after which those are tried first."""
MOST_TEMPLATES, MOST_PAGES, MOST_BANDS = 200, 400, 1_000
LEAST_DIFFER = 2
"""Pages that were others without a part of their URL, after which the part is one that counts."""
MOST_PLAIN = 4
"""Parts without meaning that are taken from one URL."""
SEEN_BYTES, JUDGED_BYTES, PAIRS_BYTES, NAMED_BYTES = 8_192, 4_096, 16_384, 4_096


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
class HostBudget:
    """All of a host."""

    words: PathWords = field(default_factory=PathWords)
    templates: OrderedDict[str, TemplateBudget] = field(default_factory=OrderedDict)
    useful: int = 0
    """Pages that brought something."""
    spent: float = 0.0
    """Pages that brought nothing."""
    varied: float = 0.0
    """Pages that were others without a part of their URL."""
    held: int = 0
    """About how many links wait for a verdict."""
    left_out: int = 0
    """Links that were not followed, each once for each crawl that found it."""
    seen: SeenSet = field(default_factory=lambda: SeenSet(SEEN_BYTES))
    """Links that were followed, also without each part of their URLs."""
    pairs: SeenSet = field(default_factory=lambda: SeenSet(PAIRS_BYTES))
    """Pairs of words of its pages."""
    pages: OrderedDict[int, bytes] = field(default_factory=OrderedDict)
    """Sketches by the hash of a URL, and of a URL without a part."""
    bands: OrderedDict[int, int] = field(default_factory=OrderedDict)
    """How many pages had each band of a sketch."""
    judged: SeenSet = field(default_factory=lambda: SeenSet(JUDGED_BYTES))
    named: SeenSet = field(default_factory=lambda: SeenSet(NAMED_BYTES))
    """Links of pages that have more than numbers of their own."""
    grown: SeenSet = field(default_factory=lambda: SeenSet(NAMED_BYTES))
    """Links within a branch that no page had named before one of the branch."""
    relinked: SeenSet = field(default_factory=lambda: SeenSet(JUDGED_BYTES))
    """Pages that others of their branch linked to again."""

    def template(self, name: str) -> TemplateBudget:
        """A template's budget; a new one replaces the one unused for longest."""
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
        """Whether a link was followed before."""
        return hash_of(url) in self.seen

    def plain(self, is_of: UrlTemplates) -> UrlTemplates:
        """The templates of a URL without its parts that change nothing."""
        for _ in range(MOST_PLAIN):
            parts = (p for p in is_of.parts if self._is_meaningless(p.template))
            part = next(parts, None)
            if part is None:
                break
            is_of = templates_of(part.url, self.words)
        return is_of

    def differs(self, name: str) -> bool:
        """Whether pages are known to be others without this part of their URLs."""
        known = self.templates.get(name)
        return known is not None and known.differ >= LEAST_DIFFER

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
            budgets.remove(branch)  # it speaks for templates that are untried
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
        """Whether a link is of a new template, and others of its shape brought something."""
        shape = self.templates.get(plain.shape)
        return (
            shape is not None
            and shape.brought >= LEAST_OF_SHAPE
            and shape.brought >= LEAST_OF_SHAPE * shape.nothing
            and all(one.has_credit or one.is_untried for one in budgets)
        )

    @staticmethod
    def _is_new_sibling(budgets: list[TemplateBudget]) -> bool:
        """Whether a link is of a new template, beside others that bring something."""
        credited = sum(one.has_credit for one in budgets)
        return credited > 0 and all(one.has_credit or one.is_untried for one in budgets)

    def _waits(self, part: UrlPart) -> bool:
        """Whether the URL without a part, which is to be checked first, waits itself."""
        return part.without in self.named and part.without not in self.seen

    def _variants(self, is_of: UrlTemplates) -> list[TemplateBudget]:
        """A URL's parts without which it was followed before."""
        return [self.template(p.template) for p in is_of.in_query if p.without in self.seen]

    @staticmethod
    def _is_beyond(is_of: UrlTemplates, path: TemplateBudget) -> bool:
        number = is_of.number or 0
        return path.beyond >= BEYOND and number > path.highest + BEYOND

    def _has_untried(self) -> bool:
        return any(one.pending and not one.brought for one in self.templates.values())

    def _is_spent(self, share: float, plain: UrlTemplates) -> bool:
        """Whether it has spent what it may on pages without use, those on trial included."""
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
        """Note a link that is followed, whatever its templates are."""
        is_of = templates_of(url, self.words)
        if is_of.own not in self.seen:
            self._follow(self.plain(is_of), is_of.own)

    def arrived(self, url: str) -> None:
        """Note that a followed link ended without telling anything of its templates."""
        is_of = templates_of(url, self.words)
        for name in {*is_of.templates, *self.plain(is_of).templates}:
            if one := self.templates.get(name):
                one.pending = max(0, one.pending - 1)

    def begin_judging(self, url: str) -> UrlTemplates | None:
        """Note that the page of a URL came; its templates, or None if it came before."""
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
        """Links whose pages never came count no longer."""
        for one in self.templates.values():
            one.pending = one.beyond = one.variants = 0

    def why_not(self, url: str, decisions: dict[str, TemplateDecision]) -> str:
        """Why a link to a URL is not followed now; "" if it is. It changes nothing."""
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
        """The templates that are closed, with the reason."""
        return {name: one.reason for name, one in self.templates.items() if one.reason}
