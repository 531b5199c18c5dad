"""The record of one URL template: what its pages brought. Recent pages count more."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

KEPT = 0.8
"""
Each new page multiplies the weight of earlier ones by this. So the last five count most, because a
list may start with real pages and end with empty ones.
"""
GROWING, MIN_SURE, MIN_PROMISES, MIN_ENDLESS = 0.8, 6, 3, 2
TWINS = 3
"""A part of URLs is meaningless if this many pages were the same without it."""
FAR = 9
"""The value of `steps` for a template that is not known to lead to content."""
MAX_ANCHORS = 6
MIN_ANCHORS = 4
"""A template is a function of a site (`Reply`, `Print`) after this many links with few texts."""
LABYRINTH_PAGES, LABYRINTH_LINKS = 12, 3
"""
A section is a labyrinth if this many of its pages were found only from within it, these have this
many new links within it on average, and hardly any link leads back to a known page.
"""
LAST = 4
PAGES_PER_TEXT = 10
MIN_TRUSTED, PER_USELESS = 20, 4
"""A template is trusted after this many useful pages, while it has this many per useless one."""


class Flaw(IntEnum):
    """Why a page was useless."""

    COPY = 0
    SAME = 1
    GROWTH = 2
    NOTHING = 3
    MISSING = 4
    FUNCTION = 5


_TEXTS = (
    "repeated pages of the host",
    "had the same text as others of it",
    "only led to further pages of its kind",
    "brought nothing new",
    "were missing",
    "belonged to functions of the site",
)


@dataclass(slots=True)
class TemplateRecord:
    """What has been learned about one template. Pages are those of the template."""

    good: float = 0.0
    """The weight of useful pages."""
    bad: float = 0.0
    """The weight of useless pages."""
    grown: float = 0.0
    """The weight of its pages with new links that lead no closer to content."""
    text: float = 0.0
    """The weight of its pages that have text or lead to pages with text."""
    pending: int = 0
    """Number of followed links whose pages have not arrived yet."""
    brought: int = 0
    """Number of useful pages."""
    said: int = 0
    """Number of useful pages that are not lists."""
    steps: int = FAR
    """How many links away pages with content are; 0 if its own pages have content."""
    nothing: int = 0
    """Number of useless pages."""
    promises: int = 0
    """Number of pages that only led to untried templates, since the last useful page."""
    twins: int = 0
    """Number of pages that were the same without this part of their URL."""
    differ: int = 0
    """Number of pages that were different without this part of their URL."""
    repeated: int = 0
    """Number of links whose text occurred in earlier links to other pages."""
    named: int = 0
    """Number of links with a text of their own."""
    inner: int = 0
    """Number of pages with their own text that were found only from within the section."""
    new_links: int = 0
    """Number of new links from those pages to more pages of the section."""
    old_links: int = 0
    """Number of pages that a second page linked to."""
    variants: int = 0
    """Number of useful pages that vary a known URL by several parameters, without new words."""
    flaws: list[int] = field(default_factory=lambda: [0] * len(Flaw))
    """Number of useless pages by reason."""
    anchors: list[int] = field(default_factory=list)
    """Hashes of the most recent texts of links to its pages."""
    last: tuple[bytes, ...] = ()
    """Sketches (similarity hashes) of the most recent pages without text of their own."""

    def add(self, value: float, flaw: Flaw | None) -> None:
        """Record a page with this value, from 0 to 1."""
        self.good, self.bad = self.good * KEPT + value, self.bad * KEPT + 1 - value
        if flaw is None:
            self.brought += 1
            self.promises = 0
        else:
            self.nothing += 1
            self.flaws[flaw] += 1

    def shrunk(self, expected: float, weight: float) -> float:
        """Return the share of useful pages, averaged with `weight` pages of the expected share."""
        return (self.good + weight * expected) / (self.good + self.bad + weight)

    def link(self, anchor: int) -> None:
        """Record the text of the first link to a page."""
        if anchor in self.anchors:
            self.repeated += 1
            return
        self.named += 1
        self.anchors = [*self.anchors, anchor][-MAX_ANCHORS:]

    def link_again(self, anchor: int) -> None:
        """Record the text of the second link to a page."""
        if anchor not in self.anchors:
            self.named += 1

    @property
    def is_growing(self) -> bool:
        """True if nearly every page leads to another one."""
        return self.grown >= GROWING * (self.good + self.bad) > 0

    @property
    def is_untold(self) -> bool:
        """True if its pages have only led to untried templates."""
        return self.promises >= MIN_PROMISES and not self.brought

    @property
    def is_endless(self) -> bool:
        """True if nearly every page leads to another one, and most have no text of their own."""
        pages = self.good + self.bad
        return pages >= MIN_ENDLESS and self.is_growing and self.text < pages / 4

    @property
    def has_text(self) -> bool:
        """True if at least one in `PAGES_PER_TEXT` useful pages has text."""
        return self.said > 0 and self.said * PAGES_PER_TEXT >= self.brought

    @property
    def is_poor(self) -> bool:
        """True if most of its pages neither have text nor lead to pages with text."""
        return self.text < (self.good + self.bad) / 2

    @property
    def is_sure(self) -> bool:
        """True if nearly all of its pages were useful so far."""
        return self.brought >= MIN_SURE and self.brought >= 3 * self.nothing

    @property
    def is_trusted(self) -> bool:
        """True if so many of its pages were useful that single useless ones say little."""
        return self.brought >= MIN_TRUSTED and self.brought >= PER_USELESS * self.nothing

    @property
    def is_function(self) -> bool:
        """True if most links to its pages have the same few texts."""
        return self.repeated >= MIN_ANCHORS and self.repeated > 3 * self.named

    @property
    def is_meaningless(self) -> bool:
        """True if URLs without this part usually lead to the same page."""
        return self.twins >= TWINS and self.twins > 9 * self.differ

    @property
    def is_labyrinth(self) -> bool:
        """True if its pages lead to ever more new pages of the section and hardly ever back."""
        return (
            self.inner >= LABYRINTH_PAGES
            and self.new_links >= LABYRINTH_LINKS * self.inner
            and self.old_links * 20 < self.inner
        )

    @property
    def reason(self) -> str:
        """Why its pages are not worth a request; "" if there is no reason."""
        if self.is_labyrinth:
            return f"all of its {self.new_links} links led to further pages of it"
        if self.is_meaningless:
            return f"{self.twins} pages were the same without it"
        most = max(self.flaws)
        return f"{most} pages {_TEXTS[self.flaws.index(most)]}" if most else ""
