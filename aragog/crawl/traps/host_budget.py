"""
A host's budget: decides which of the host's links may be followed. Pure (no I/O).

Each URL template (`templates`) has a record of what its pages brought. The records of a link's
templates, with more weight on the more precise ones, tell how likely the link's page is to be
useful. Links to likely useful pages are followed. The others are held. A few of these are followed
as well, within the host's allowance, which grows with the number of its useful pages. So traps of
any kind cost a bounded share of the requests to a host, and a misjudged template gets another
chance.

Doubtful links wait until no other link of the host is in progress: what a page adds is only known
after all simpler pages were fetched. The budget also learns which parts of URLs do not change the
page, and judges links without these parts.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from enum import Enum
from zlib import crc32

from aragog.crawl.traps import known_urls
from aragog.crawl.traps.link_origins import LinkOrigins
from aragog.crawl.traps.pair_sample import PairSample
from aragog.crawl.traps.seen_set import SeenSet
from aragog.crawl.traps.series_ends import MIN_BEYOND, SURELY_BEYOND, SeriesEnds
from aragog.crawl.traps.template_record import TemplateRecord
from aragog.crawl.traps.templates import PathWords, UrlTemplates, hash_of, templates_of

EXPECTED, WEIGHT = 0.6, 2.0
"""The share of useful pages expected of a new template, and how many pages this guess counts as."""
LIKELY, LAST_CHANCE = 0.5, 0.3
"""
A link is followed at once if the chance that its page is useful is at least the first value. When
no such links are left, the second value is enough for a link to be tried.
"""
FIRST_TRIALS, TRIALS_PER_PAGE = 8.0, 0.03
"""The allowance: how many useless pages any host may have, and how many more per useful page."""
MAX_RECORDS, MAX_PAGES, MAX_BANDS, MAX_ON_TRIAL = 800, 1_000, 2_000, 100
MIN_FROM_OUTSIDE = 2
"""
Once other sections link to this many useful pages of a template, the pages that only their own
section links to are judged separately.
"""
BEYOND = 0.2
"""The chance that a page beyond the end of its numbered series is useful."""
FUNCTION = 0.2
"""
The highest chance of a page whose URL names a function of the site (`site_functions`), unless
nearly all pages of its most precise template led to new pages.
"""
LINKS_OF_FRAME, MAX_LINKS = 5, 4_096
AT_FIRST, LESS_PER_PAGE = 20.0, 0.1
REST = 0.1
"""If at the end at most this many links per useful page are held, all of them are allowed."""
MAX_VARIANTS, VARIANTS_PER_PAGE = 50, 0.1
"""
How many pages of a branch may vary known URLs without new words, and how many more per useful page
of the host, once it holds many links. Further links of this kind are dropped.
"""
FEW, ENDLESS = 2, 5
"""
Templates are trusted while the host holds at most `FEW` links per useful page. Variants have a
bound if it holds more than `ENDLESS`.
"""
MAX_DOUBTFUL = 3
"""How many doubtful links may be pending at the same time."""
MAX_PLAIN = 4
"""Maximum number of meaningless parts that are removed from a URL."""
SEEN_BYTES, JUDGED_BYTES = 16_384, 8_192


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
    """What has been learned about a host's templates and pages. Sets contain hashes of URLs."""

    words: PathWords = field(default_factory=PathWords)
    records: OrderedDict[str, TemplateRecord] = field(default_factory=OrderedDict)
    useful: int = 0
    """Number of useful pages."""
    spent: float = 0.0
    """Number of useless pages."""
    promised: float = 0.0
    """The part of `spent` for pages that only led to untried templates."""
    pending: int = 0
    """Number of followed links whose pages have not arrived yet."""
    meaningless: set[str] = field(default_factory=set)
    """Parts of URLs that may not change the page."""
    usual_news: float = 0.0
    """
    Mean number of new word pairs on a useful page. Pages with more new pairs have more weight, so
    many small pages do not lower what is expected of a page.
    """
    news: float = 0.0
    """The weight of `usual_news`: the number of new pairs on the pages that it covers, up to a
    limit."""
    held: int = 0
    """Approximate number of held links."""
    left_out: int = 0
    """Number of links that were not followed. Each counts once per crawl that found it."""
    on_trial: OrderedDict[int, None] = field(default_factory=OrderedDict)
    """Pending links that use up the host's allowance."""
    doubtful: OrderedDict[int, int] = field(default_factory=OrderedDict)
    """Pending links that were doubtful. The values are hashes of their most general template."""
    seen: SeenSet = field(default_factory=lambda: SeenSet(SEEN_BYTES))
    """Links that were followed."""
    covered: SeenSet = field(default_factory=lambda: SeenSet(JUDGED_BYTES))
    """URLs whose page was requested under another URL."""
    linked: SeenSet = field(default_factory=lambda: SeenSet(SEEN_BYTES))
    """Links that were found on at least one page."""
    judged: SeenSet = field(default_factory=lambda: SeenSet(JUDGED_BYTES))
    """Pages that were judged, and the canonical URLs that they declared."""
    relinked: SeenSet = field(default_factory=lambda: SeenSet(JUDGED_BYTES))
    """Links that were found on several pages."""
    listed: SeenSet = field(default_factory=lambda: SeenSet(SEEN_BYTES))
    """Links of useful pages, each combined with the path of its page."""
    lists: SeenSet = field(default_factory=lambda: SeenSet(JUDGED_BYTES))
    """Pages' lists of links, regardless of their order, and pages' texts."""
    rich: SeenSet = field(default_factory=lambda: SeenSet(JUDGED_BYTES))
    """Pages with much new content."""
    ends: SeriesEnds = field(default_factory=SeriesEnds)
    origins: LinkOrigins = field(default_factory=LinkOrigins)
    pairs: PairSample = field(default_factory=PairSample)
    """Word pairs of the host's pages."""
    links: PairSample = field(
        default_factory=lambda: PairSample(share=LINKS_OF_FRAME, most=MAX_LINKS)
    )
    """Links of the host's pages."""
    pages: OrderedDict[int, bytes] = field(default_factory=OrderedDict)
    """
    Sketches (similarity hashes) of pages, by the hash of the URL, and by the hashes of the URL
    without one of its parts.
    """
    bands: OrderedDict[int, int] = field(default_factory=OrderedDict)
    """The page that first had each band (a part of a sketch)."""

    def record(self, name: str) -> TemplateRecord:
        """
        Return a template's record, or a new one. Beyond `MAX_RECORDS`, the least recently used is
        dropped.
        """
        found = self.records.get(name)
        if found is None:
            found = self.records[name] = TemplateRecord()
            if len(self.records) > MAX_RECORDS:
                self.records.popitem(last=False)
        else:
            self.records.move_to_end(name)
        return found

    def known(self, name: str) -> TemplateRecord:
        """Return a template's record and mark it as used; an empty record if there is none."""
        found = self.records.get(name)
        if found is None:
            return TemplateRecord()
        self.records.move_to_end(name)
        return found

    def verdict(
        self, url: str, decisions: dict[str, TemplateDecision], *, is_last: bool = False
    ) -> LinkVerdict:
        """
        Decide whether a link may be followed now. If so, record it as followed.

        Args:
            url: a normalized URL of this host.
            decisions: operators' decisions, by template.
            is_last: True if no page of the host is in progress, so waiting would teach nothing.
        """
        is_of = templates_of(url, self.words)
        if is_of.own in self.seen:
            return LinkVerdict.FOLLOW  # already followed, so it costs nothing
        decided = {decisions[name] for name in is_of.templates if name in decisions}
        if TemplateDecision.CLOSED in decided:
            return LinkVerdict.DROP
        plain = self.plain(is_of)
        if TemplateDecision.OPEN in decided:
            self._follow(plain, is_of.own)
            return LinkVerdict.FOLLOW
        return self._learned(plain, is_of.own, is_last=is_last)

    def was_followed(self, url: str) -> bool:
        """True if a link was followed before."""
        return hash_of(url) in self.seen

    def plain(self, is_of: UrlTemplates) -> UrlTemplates:
        """Return the templates of a URL without the parts that do not change the page."""
        for _ in range(MAX_PLAIN if self.meaningless else 0):
            parts = (
                part
                for part in is_of.parts
                if not part.is_of_path and self.is_meaningless(part.template)
            )
            part = next(parts, None)
            if part is None:
                break
            is_of = templates_of(part.url, self.words)
        return is_of

    def is_meaningless(self, name: str) -> bool:
        """True if URLs without this part usually lead to the same page."""
        known = self.records.get(name) if name in self.meaningless else None
        return known is not None and known.is_meaningless

    def expected(self, is_of: UrlTemplates) -> float:
        """Return the chance that a page with these templates is useful."""
        chance, known = EXPECTED, [self.records.get(name) for name in is_of.levels]
        for at, (name, one) in enumerate(zip(is_of.levels, known, strict=True)):
            if one is None:
                break
            self.records.move_to_end(name)
            finer = known[at + 1] if at + 1 < len(known) else None
            alone = _without(one, finer) if finer else one
            chance = alone.shrunk(chance, WEIGHT)
        within = self.records.get(is_of.from_within)
        if within and self.origins.is_from_within(is_of.own):
            chance = min(chance, within.shrunk(chance, WEIGHT))
        if self.names_function(is_of):
            chance = min(chance, FUNCTION)
        marks = [self.records.get(mark) for mark in is_of.marks]
        return min([chance, *(one.shrunk(EXPECTED, WEIGHT) for one in marks if one)])

    def names_function(self, is_of: UrlTemplates) -> bool:
        """True if a URL names a function, and its template has not yet proved to be useful."""
        finest = self.records.get(is_of.finest)
        return bool(is_of.function) and not (finest is not None and finest.is_sure)

    def is_only_of_links_within(self, is_of: UrlTemplates) -> bool:
        """
        True if only a URL's own section links to it, while other sections link to useful pages of
        the same template. If the URL's page is useless, this says nothing about the useful ones.
        """
        if not self.origins.is_from_within(is_of.own):
            return False
        within = self.known(is_of.from_within).brought
        return self.known(is_of.finest).brought - within >= MIN_FROM_OUTSIDE

    def _learned(self, plain: UrlTemplates, own: int, *, is_last: bool) -> LinkVerdict:
        if own in self.covered or (plain.own != own and known_urls.is_fetched(self, plain.own)):
            return LinkVerdict.DROP
        if known_urls.is_moved(self, plain):
            return LinkVerdict.DROP
        section = self.known(plain.section)
        if section.is_labyrinth or self.known(plain.branch).is_labyrinth:
            return LinkVerdict.DROP
        if self._is_one_variant_too_many(plain):
            return LinkVerdict.DROP
        if section.pending > 2 * section.good:
            return LinkVerdict.HOLD
        chance = self.expected(plain)
        least = SURELY_BEYOND if section.is_sure else MIN_BEYOND
        is_beyond = self.ends.is_beyond(plain.url, least)
        if is_beyond or self.origins.is_tainted(plain.own):
            chance = min(chance, BEYOND)
        is_doubtful = chance < LIKELY or self.is_doubtful(plain, section)
        if is_doubtful and (not self.is_idle or self._is_tried(plain, section)):
            return LinkVerdict.HOLD
        if not is_last and known_urls.waits_for_simpler(self, plain):
            return LinkVerdict.HOLD
        is_trial = (
            chance < LIKELY
            or not section.brought
            or self.is_endless(plain, section)
            or (section.is_poor and not self._is_sure(plain) and known_urls.is_variant(self, plain))
        )
        most = self._most(chance, plain) if is_last else self.allowance
        if is_trial and self.spent + len(self.on_trial) >= most:
            return LinkVerdict.HOLD
        self._follow(plain, own)
        if is_trial and len(self.on_trial) < MAX_ON_TRIAL:
            self.on_trial[own] = None
        if is_doubtful and len(self.doubtful) < MAX_ON_TRIAL:
            self.doubtful[own] = crc32(plain.levels[0].encode())
        return LinkVerdict.FOLLOW

    def _is_one_variant_too_many(self, plain: UrlTemplates) -> bool:
        """True if the URL varies a known one, like more pages of its branch than are allowed."""
        most = MAX_VARIANTS + VARIANTS_PER_PAGE * self.useful
        if self.known(plain.branch).variants < most or self.held <= ENDLESS * self.useful:
            return False
        return known_urls.is_facet(self, plain)

    def _most(self, chance: float, plain: UrlTemplates) -> float:
        """Return how many useless pages the host may have if this link is one of the last ones."""
        section = self.known(plain.section)
        names = plain.levels if "?" in plain.url else plain.levels[1:] or plain.levels
        leads = any(one.brought and not one.is_poor for one in map(self.known, names))
        is_proven = section.brought or leads
        if chance >= LIKELY and is_proven and not self.is_endless(plain, section):
            return float("inf")
        least = LIKELY if "?" in plain.url else LAST_CHANCE
        is_new = chance >= least and not any(
            self.records[name].brought or self.records[name].nothing
            for name in names
            if name in self.records
        )
        at_first, rest = AT_FIRST - LESS_PER_PAGE * self.useful, REST * self.useful
        if self.held > rest or (chance < LIKELY and section.is_growing):
            rest = 0.0
        return max(at_first, self.allowance * (2 if is_new else 1)) + rest

    def is_endless(self, plain: UrlTemplates, section: TemplateRecord) -> bool:
        """
        True if pages of the section lead to ever more pages. False if the section is trusted, if
        several pages of other sections link to the URL, or if several pages link to it and its
        section has text.
        """
        if not section.is_endless or self.is_trusted(plain):
            return False
        if known_urls.is_named_elsewhere(self, plain.own):
            return False
        return not (section.has_text and plain.own in self.relinked)

    def is_grounded(self, plain: UrlTemplates) -> bool:
        """True if a URL is grounded (`link_origins`) or its section is trusted."""
        return self.origins.is_grounded(plain.own) or self.is_trusted(plain)

    def is_trusted(self, plain: UrlTemplates) -> bool:
        """
        True if most pages of a URL's section were useful and few links wait. A space that grows
        without end soon holds many more links than it has pages.
        """
        return self.held <= FEW * self.useful and self.known(plain.section).is_trusted

    @property
    def is_idle(self) -> bool:
        """True if no links are pending, except doubtful ones."""
        return self.pending <= len(self.doubtful)

    def is_doubtful(self, plain: UrlTemplates, section: TemplateRecord) -> bool:
        """True if a link must wait until no others are pending, although its page may be useful."""
        return (
            (section.is_growing and not self.is_trusted(plain))
            or section.is_untold
            or not self.is_grounded(plain)
            or (not self._is_sure(plain) and known_urls.is_variant(self, plain))
            or (not section.is_sure and self.known(plain.finest).is_function)
        )

    def _is_sure(self, plain: UrlTemplates) -> bool:
        """True if nearly all pages of one of the URL's templates were useful so far."""
        names = plain.levels if "?" in plain.url else plain.levels[1:] or plain.levels
        return any(self.records[name].is_sure for name in names if name in self.records)

    def _is_tried(self, plain: UrlTemplates, section: TemplateRecord) -> bool:
        """True if a similar doubtful link is pending, so it is better to wait for its page."""
        kind = crc32(plain.levels[0].encode())
        pending = sum(one == kind for one in self.doubtful.values())
        if self._is_sure(plain):
            return pending > section.good
        return pending > 0 or len(self.doubtful) >= MAX_DOUBTFUL

    @property
    def allowance(self) -> float:
        """How many useless pages the host may have."""
        return FIRST_TRIALS + TRIALS_PER_PAGE * self.useful

    def _follow(self, plain: UrlTemplates, own: int) -> None:
        self.record(plain.section).pending += 1
        self.pending += 1
        self.seen.add((own,))
        if plain.own != own:
            self.covered.add((plain.own,))

    def followed(self, url: str) -> None:
        """Record that a link is followed regardless of its templates."""
        is_of = templates_of(url, self.words)
        if is_of.own not in self.seen:
            self._follow(self.plain(is_of), is_of.own)

    def arrived(self, url: str) -> None:
        """Record that a followed link ended without a result for its templates."""
        is_of = templates_of(url, self.words)
        self._end(is_of.own, self.plain(is_of))

    def begin_judging(self, url: str) -> UrlTemplates | None:
        """Record that a page arrived. Returns its URL's templates, or None if already judged."""
        is_of = templates_of(url, self.words)
        if is_of.own in self.judged:
            return None
        self.judged.add((is_of.own,))
        plain = self.plain(is_of)
        self.seen.add((is_of.own,))
        self._end(is_of.own, plain)
        return plain

    def _end(self, own: int, plain: UrlTemplates) -> None:
        section = self.record(plain.section)
        section.pending = max(0, section.pending - 1)
        self.pending = max(0, self.pending - 1)
        self.on_trial.pop(own, None)
        self.doubtful.pop(own, None)

    def forget_pending(self) -> None:
        """Stop counting links whose pages never arrived."""
        self.pending = 0
        self.on_trial.clear()
        self.doubtful.clear()
        for one in self.records.values():
            one.pending = 0


def _without(one: TemplateRecord, finer: TemplateRecord) -> TemplateRecord:
    """Return a record's weights without the pages of a more precise template."""
    return TemplateRecord(good=max(0.0, one.good - finer.good), bad=max(0.0, one.bad - finer.bad))
