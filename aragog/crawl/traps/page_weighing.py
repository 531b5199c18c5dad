"""
Judges what a page brought, and records that for the page's templates. Pure (no I/O).

A page is useful if it has words that no other page of the host had, or leads to new pages of useful
templates. It is useless if it repeats another page (with a session ID, as a print version, or if it
names another page as canonical), has the same text as other pages of its template (soft 404s, empty
months), or only leads to more pages of its kind.

Pages whose only news is numbers, and lists of known pages, are useful if they are grounded
(`link_origins`). That means that pages of other kinds link to them, for example to the tables of a
league or the authors in a library. The views of a map or the days of a calendar are linked only
from each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from zlib import crc32

from aragog.crawl.traps import known_urls
from aragog.crawl.traps.host_budget import LIKELY, HostBudget
from aragog.crawl.traps.link_notes import JudgedPage, note_links
from aragog.crawl.traps.page_copies import PageCopies
from aragog.crawl.traps.page_links import PROVEN, PageLinks, links_of_page, list_code
from aragog.crawl.traps.pair_sample import NO_NEWS, News
from aragog.crawl.traps.template_record import (
    FAR,
    KEPT,
    LAST,
    MIN_PROMISES,
    Flaw,
    TemplateRecord,
)
from aragog.crawl.traps.templates import UrlTemplates, hash_of, templates_of
from aragog.crawl.traps.traits import ALIKE, PageTraits, are_alike

MIN_NEW, MIN_SHARE = 4, 8
"""
New content needs this many new word pairs. If the page resembles another one, one in this many of
its pairs must be new as well.
"""
MIN_TEXT = 0.3
MIN_DATA = 2.5
"""Minimum number of new pairs of any kind for a page of numbers."""
MIN_OWN, MIN_LISTED = 2, 4
MIN_OF_FUNCTION, MIN_OF_TEXT = 0.15, 0.1
"""
If all links to a page have the same text (`Print`), it needs this share of the new pairs that a
useful page of the host usually has.
"""
RICH, PAGES_OF_NEWS, SOME = 4, 50, 20
TEXT = 20
"""A page with at least this many word pairs of its own is a text, otherwise a list."""
MANY_PROMISES = 12
COST_OF_GROWTH, COST_OF_PROMISE = 1.0, 1.0
MAX_NEIGHBORS, MAX_GROWTH = 2, 4
HUB, WORDS_PER_LINK, MAX_OF_TEXT = 5, 4, 8
ALIKE_LIST = 0.95
MIN_COPIED = 6
"""Only pages with at least this many word pairs of their own are compared with other paths."""
MIN_OF_STEP = 3
"""A step (see `_is_below_rich_page`) has at least this many word pairs of its own."""
LEAF = 0.7
"""The value of pages such as lists of known pages, which add less than a text."""

PageLink = tuple[str, str]
"""A link's URL and its text."""


def judge(
    host: HostBudget, url: str, traits: PageTraits | None, links: Iterable[PageLink] = ()
) -> None:
    """
    Record what a URL's page brought. A URL is judged only once.

    Args:
        host: the budget of the URL's host.
        url: a normalized URL of the host.
        traits: the traits of its page; None if it could not be fetched or read.
        links: the page's links within this host, normalized, with their texts.
    """
    is_of = host.begin_judging(url)
    if is_of is None:
        return
    is_variant = is_of.url != url
    if traits is None:
        _Weighing(host, is_of, PageTraits(), is_variant).record(0.0, Flaw.MISSING)
    else:
        _Weighing(host, is_of, traits, is_variant).weigh(list(links))


def judge_stored(host: HostBudget, url: str) -> None:
    """Record a URL whose page is already stored, because an earlier crawl found it useful."""
    is_of = host.begin_judging(url)
    if is_of is not None:
        _Weighing(host, is_of, PageTraits()).record(1.0, None)


@dataclass(slots=True)
class _Weighing:
    """The judgment of one page."""

    host: HostBudget
    is_of: UrlTemplates
    traits: PageTraits
    is_variant: bool = False
    """True if the URL has parts that do not change the page."""
    words: News = NO_NEWS
    numbers: News = NO_NEWS
    twins: list[str] = field(default_factory=list)
    copies: PageCopies = field(init=False)
    items: set[int] = field(default_factory=set)
    nearest: int = FAR
    others: int = 0
    """Number of new links that lead no closer to content; 0 if the page leads to new content."""
    is_rich: bool = False
    """True if the page has much new content, compared with other useful pages of the host."""
    leads: bool = False
    """True if the page leads to content that no other page led to."""
    is_step: bool = False
    """True if it is a small page below a page with much new content."""

    def __post_init__(self) -> None:
        self.copies = PageCopies(self.host, self.is_of, self.traits)

    def weigh(self, links: Sequence[PageLink]) -> None:
        """Judge the page, and record its text and its links."""
        host, traits = self.host, self.traits
        self.words, self.numbers = host.pairs.news(traits.pairs), host.pairs.news(traits.numbers)
        targets = [(host.plain(templates_of(url, host.words)), text) for url, text in links]
        value, flaw = self._value([to for to, _ in targets])
        if value is not None and value >= LIKELY:
            self._note_variant()
        if self.items:
            host.lists.add((list_code(self.items),))
        self.record(value, flaw)
        self._note_links(targets, value, flaw)
        self.copies.remember(is_copy=flaw in {Flaw.COPY, Flaw.SAME})

    def _value(self, targets: Sequence[UrlTemplates]) -> tuple[float | None, Flaw | None]:
        """Return the page's value from 0 to 1 (None if not known yet) and why it is low."""
        found = links_of_page(self.host, self.is_of, targets)
        self._note_found(found)
        self._compare(found)
        if self._is_copy():
            return 0.0, Flaw.COPY
        if self.is_of.function and not self.leads:
            return 0.0, Flaw.FUNCTION
        is_text = self._is_text() and not self._is_function(MIN_OF_TEXT)
        self.is_rich = is_text or self.news >= max(MIN_DATA, self.host.usual_news / RICH)
        if is_text:
            return 1.0, None
        if self._is_new_list(found):
            return LEAF, None
        if self.leads and not self._is_hub(found):
            return found.share, None
        if self._is_growth(found):
            return 0.0, Flaw.GROWTH
        return self._value_of_little(found)

    def _note_variant(self) -> None:
        """Count a useful page without new words that only varies a known URL."""
        if self.words.new < MIN_NEW and known_urls.is_facet(self.host, self.is_of):
            self.host.record(self.is_of.branch).variants += 1

    def _value_of_little(self, found: PageLinks) -> tuple[float | None, Flaw | None]:
        """Return what `_value` returns for a page that neither has new text nor leads to any."""
        if self.copies.is_mirror:
            return LEAF, None
        is_data = self.news >= MIN_DATA
        is_single = len(found.items) < MIN_LISTED and self._is_single()
        is_told = not found.promised or self._section().promises >= MIN_PROMISES
        if not is_data and not is_single and is_told and self._is_same(found.items):
            return 0.0, Flaw.SAME
        if self._may_stand_alone(found):
            return LEAF, None
        if not self._is_function(MIN_OF_FUNCTION):
            if (is_data or is_single) and self.host.is_grounded(self.is_of):
                return (1.0 if is_data else LEAF), None
            if self._is_list(found):
                return LEAF, None
        if is_single and self.words.own >= MIN_OF_STEP and self._is_below_rich_page():
            self.is_step = True
            return LEAF, None
        if found.promised and self._section().promises < MANY_PROMISES:
            return None, None
        grows = is_data or found.doubtful
        return found.share, Flaw.GROWTH if grows else Flaw.NOTHING

    def _may_stand_alone(self, found: PageLinks) -> bool:
        """
        True if the page's text is known and its links lead nowhere, but it may be a version of
        another page.
        """
        leads = found.promised or found.doubtful or found.dead
        return self.words.own >= MIN_COPIED and not leads and self.copies.may_be_version()

    @property
    def news(self) -> float:
        """Number of new pairs, of words and of numbers."""
        return self.words.new + self.numbers.new

    def _note_found(self, found: PageLinks) -> None:
        self.items, self.nearest = found.items, found.nearest
        self.leads = found.share >= LIKELY
        is_list = len(found.items) >= MIN_LISTED
        others = found.others - found.dead - (found.strange if is_list else 0)
        self.others = 0 if self.leads else others

    def _is_new_list(self, found: PageLinks) -> bool:
        """
        True if no page at this page's path has listed these known pages, and the page leads nowhere
        new.
        """
        return (
            len(found.items) >= MIN_LISTED
            and found.novel >= LIKELY
            and not found.promised
            and found.doubtful == found.strange
            and self.host.is_grounded(self.is_of)
        )

    def _is_list(self, found: PageLinks) -> bool:
        """
        True if the page lists known pages, and either a page with content links to it or it is the
        first to list them.
        """
        is_due = found.novel >= LIKELY or self.host.origins.is_direct(self.is_of.own)
        return bool(found.items) and is_due and found.doubtful <= MAX_NEIGHBORS

    def _section(self) -> TemplateRecord:
        return self.host.known(self.is_of.section)

    def _is_trusted(self) -> bool:
        """True if several pages link to the page, and some pages of its section have text."""
        section = self.host.known(self.is_of.section)
        return self.is_of.own in self.host.relinked and section.has_text

    def _is_growth(self, found: PageLinks) -> bool:
        """True if the page leads to many unproven pages, and has little new text itself."""
        if self._is_trusted() or (self.is_rich and self.host.is_grounded(self.is_of)):
            return False
        return self._is_hub(found) or found.doubtful >= MAX_GROWTH

    def _is_hub(self, found: PageLinks) -> bool:
        """True if the page has little new text for the number of unproven pages it leads to."""
        unproven = found.strange
        if self.host.spent >= self.host.allowance:
            unproven += found.promised
        return unproven >= HUB and unproven * WORDS_PER_LINK > self.news and not self.leads

    def _is_below_rich_page(self) -> bool:
        """True if the page one level above has much new content, like a recipe above its steps."""
        parent = self.is_of.url.partition("?")[0].rstrip("/").rpartition("/")[0]
        if parent.count("/") < 3:
            return False
        return any(hash_of(url) in self.host.rich for url in (parent, f"{parent}/"))

    def _is_single(self) -> bool:
        """True if no other page had exactly this text, even if none of its words are new."""
        host = self.host
        own = [*host.pairs.own(self.traits.pairs), *host.pairs.own(self.traits.numbers)]
        place = crc32(" ".join(map(str, sorted(own))).encode())
        is_new = len(own) >= MIN_OWN and place not in host.lists
        host.lists.add((place,))
        return is_new

    def _is_text(self) -> bool:
        """True if enough of the text is new."""
        new = self.words.new
        is_some = new >= self.host.usual_news / SOME and not self._is_little()
        return new >= MIN_NEW and (new >= MIN_TEXT * self.words.own or is_some)

    def _compare(self, found: PageLinks) -> None:
        """Find out whether the page has the text of another one."""
        is_listed = bool(found.items) and found.novel >= LIKELY
        own = self.words.own + self.numbers.own
        has_text = own >= TEXT
        least = ALIKE_LIST if is_listed else ALIKE
        self.twins = self.copies.twins(least) if has_text else []
        is_text = own >= MIN_COPIED and self.numbers.new < MIN_DATA and found.share < LIKELY
        if is_text and self._is_little():
            self.copies.compare()

    def _is_little(self) -> bool:
        return self.words.new < MIN_NEW or self.words.new * MIN_SHARE < self.words.own

    def _is_copy(self) -> bool:
        host, canonical = self.host, self.traits.canonical
        if canonical:
            known = templates_of(canonical, host.words).own
            self._learn_canonical(canonical)
            if known in host.judged:
                return True
            host.judged.add((known,))
            host.covered.add((known,))
        return bool(self.twins and self._is_little()) or self.copies.is_repeated

    def _learn_canonical(self, canonical: str) -> None:
        for part in self.is_of.parts:
            if part.url == canonical:
                self.copies.count_twin(part.template)

    def _is_function(self, least: float) -> bool:
        """True if links like `Print` lead to the page and it has little new text."""
        if not self._is_of_function():
            return False
        return self.news < least * self.host.usual_news

    def _is_of_function(self) -> bool:
        return self.host.known(self.is_of.finest).is_function

    def record(self, value: float | None, flaw: Flaw | None) -> None:
        """Record the value for the page's templates and in the host's totals."""
        host = self.host
        if value is None:
            host.record(self.is_of.section).promises += 1
            host.spent += COST_OF_PROMISE
            host.promised += COST_OF_PROMISE
            return
        if flaw is Flaw.COPY and self.is_variant and self.is_of.own in host.judged:
            return  # the superfluous part is known now, so such links are no longer followed
        if value >= LIKELY:
            host.useful += 1
            self._note_news()
            if self.is_rich:
                host.rich.add((self.is_of.own,))
                kept = min(host.promised, COST_OF_PROMISE)  # a page that promised more led to it
                host.promised, host.spent = host.promised - kept, host.spent - kept
            elif not self.is_step and host.is_endless(self.is_of, host.record(self.is_of.section)):
                host.spent += COST_OF_GROWTH
        elif not host.is_trusted(self.is_of):
            chance = host.expected(self.is_of)
            host.spent += 1.0 if self.twins else min(1.0, 2 - 2 * chance)
        if flaw in {Flaw.SAME, Flaw.COPY, Flaw.NOTHING} or value >= LIKELY:
            is_empty = not self.items and flaw is not None
            host.ends.note(self.is_of.url, is_useful=value >= LIKELY, is_empty=is_empty)
        if flaw is Flaw.COPY and self.twins:
            for name in dict.fromkeys(self.twins):
                host.record(name).add(value, flaw)
            return
        names = self._credited_names() if value >= LIKELY else self._blamed_names()
        for name in dict.fromkeys(names):
            host.record(name).add(value, flaw)
        if value >= LIKELY:
            self._note_steps(host.record(self.is_of.section))

    def _blamed_names(self) -> list[str]:
        """Return the templates that a useless page counts against."""
        own = self.is_of
        if own.function:
            return [own.finest]  # it says nothing about other URLs with the same folders or names
        is_within = self.host.is_only_of_links_within(own)
        names = [own.from_within] if is_within else list(own.levels)
        least = 0 if is_within else 1
        return names + [
            mark for mark in own.marks if len(own.marks) <= least or not self._is_proven(mark)
        ]

    def _credited_names(self) -> list[str]:
        """Return the templates that a useful page counts for."""
        own = self.is_of
        within = [own.from_within] if self.host.origins.is_from_within(own.own) else []
        return [*own.levels, *own.marks, *within]

    def _note_news(self) -> None:
        host, news = self.host, self.news
        if news and self.is_rich:
            host.news = min(host.news + news, PAGES_OF_NEWS * max(news, host.usual_news))
            host.usual_news += (news - host.usual_news) * news / host.news

    def _note_steps(self, section: TemplateRecord) -> None:
        """Record how many links away the section's pages are from pages with content."""
        if len(self.items) < MIN_LISTED and self.is_rich:
            section.said += 1
        if section.said >= PROVEN:
            section.steps = 0
        section.steps = min(section.steps, self.nearest + 1)

    def _is_proven(self, mark: str) -> bool:
        one = self.host.record(mark)
        return one.good > 2 and one.good > 3 * one.bad

    def _note_links(
        self,
        targets: Sequence[tuple[UrlTemplates, str]],
        value: float | None,
        flaw: Flaw | None,
    ) -> None:
        is_useful = value is not None and value >= LIKELY
        page = JudgedPage(
            self.is_of,
            is_useful=is_useful,
            is_content=is_useful and self.news >= MIN_DATA and len(self.items) <= MAX_OF_TEXT,
            has_words=self.words.new >= MIN_NEW,
            flaw=flaw,
        )
        note_links(self.host, page, targets)
        section = self.host.record(self.is_of.section)
        section.grown = section.grown * KEPT + (0 if self.is_step else min(self.others, 1))
        section.text = section.text * KEPT + (self.is_rich or self.leads)

    def _is_same(self, items: set[int]) -> bool:
        """True if the page resembles the section's last pages, or lists the same links."""
        if not items:
            section = self.host.record(self.is_of.section)
            same = any(are_alike(other, self.traits.sketch) for other in section.last)
            section.last = (*section.last, self.traits.sketch)[-LAST:]
            return same
        return list_code(items) in self.host.lists
