"""The budget of one URL template: what its pages brought, and what it may still spend."""

from __future__ import annotations

from dataclasses import dataclass

TRIAL, OPEN = 3.0, 9.0
"""The budget of a new template, and of a proven one, whose links are all followed."""
TWINS = 3
"""
After this many pages that were the same without a part of their URL, the part is meaningless.
"""
MIN_BROUGHT = 5
"""Minimum number of useful pages before all links of a template are followed."""
FAST = 50
"""An open template with fewer useful pages has at most as many pending links as useful pages."""
LISTS = 2
"""Maximum pending links of a template whose pages have only links; fewer if its budget is less."""
FAR = 9
"""The value of `steps` for a template that is not known to lead to words."""
LABYRINTH_PAGES, LABYRINTH_LINKS = 12, 3
FIRST_OF_LABYRINTH = 4
"""
A branch is a labyrinth after this many pages that were found only from within the branch, if they
have this many new links within it each, and other pages hardly link back to known ones. After the
smaller number of pages it may be a labyrinth.
"""
FEW_IN_A_ROW, MAX_IN_A_ROW = 2, 5
"""
Consecutive useless pages after which only one link may be pending, and after which none is
followed, unless at least twice as many pages were useful before.
"""
MAX_VARIANTS = 5
"""
If this many pages differed from those without a part of their URL, all links with that part are
followed.
"""


@dataclass(slots=True)
class TemplateBudget:
    """What is known about one template."""

    budget: float = TRIAL
    charged: float = 0.0
    """Its share of its host's spending on trials. Returned when a page is useful."""
    promises: int = 0
    """Consecutive pages whose only new links were of templates on trial."""
    pending: int = 0
    """Links that were followed and whose pages have not arrived yet."""
    brought: int = 0
    """Number of useful pages."""
    said: int = 0
    """Useful pages with words of their own."""
    steps: int = FAR
    """Number of links from its pages to pages with words of their own; 0 if they are such pages."""
    nothing: int = 0
    """Number of useless pages."""
    twins: int = 0
    """Number of pages that were the same without this part of their URL."""
    differ: int = 0
    """Number of pages that differed without this part of their URL."""
    variants: int = 0
    """Pending links with this part for which the URL without it was followed before."""
    inner: int = 0
    """Number of pages of a branch with own words that were found only from within the branch."""
    new_links: int = 0
    """Number of new links from those pages to further pages of the branch."""
    old_links: int = 0
    """Number of the branch's pages that another page linked to again."""
    row: int = 0
    """Consecutive useless pages; not counted for a branch."""
    highest: int = 0
    """The highest number in the URL of a useful page."""
    beyond: int = 0
    """Number of pages with higher numbers that only repeated other pages."""
    last: tuple[bytes, ...] = ()
    """Sketches of the last useless pages."""

    @property
    def is_open(self) -> bool:
        """True if all of the template's links are followed."""
        return self.budget >= OPEN and self.brought >= MIN_BROUGHT

    @property
    def has_credit(self) -> bool:
        """True if links are still followed after the host has spent its allowance."""
        return self.is_open or 2 * self.brought > 2 * self.nothing + self.promises

    def is_empty(self, most: int) -> bool:
        """True if no page was useful, and `most` or more only linked to templates on trial."""
        return self.promises >= most and not self.brought

    @property
    def has_room(self) -> bool:
        """True if another link may be followed before the pages of pending links have arrived."""
        if self.row >= FEW_IN_A_ROW and self.pending:
            return False
        if self.is_open:
            return self.brought >= FAST or self.pending < self.brought
        most = 1 + self.brought if self.said > 1 else min(1 + self.brought, LISTS)
        return self.pending < min(self.budget, most)

    @property
    def is_untried(self) -> bool:
        """True if none of the template's pages has been judged."""
        return not self.brought and not self.nothing and not self.promises

    @property
    def is_closed(self) -> bool:
        """True if none of the template's links is followed."""
        return self.budget <= 0 or self.is_exhausted or self.is_labyrinth

    @property
    def is_exhausted(self) -> bool:
        """True if too many consecutive pages were useless."""
        return self.row >= max(MAX_IN_A_ROW, self.brought // 2)

    @property
    def is_meaningless(self) -> bool:
        """True if URLs without this part usually lead to the same page."""
        return self.twins >= TWINS and self.twins > 9 * self.differ

    @property
    def may_vary(self) -> bool:
        """True if another link with this part may be followed after the URL without it."""
        return self.differ >= MAX_VARIANTS or self.variants <= self.differ

    @property
    def is_labyrinth(self) -> bool:
        """True if the branch's pages lead to ever more new pages of it and never back."""
        return self.inner >= LABYRINTH_PAGES and self.may_be_labyrinth

    @property
    def may_be_labyrinth(self) -> bool:
        """True if the branch's first pages behave as those of a labyrinth."""
        return (
            self.inner >= FIRST_OF_LABYRINTH
            and self.new_links >= LABYRINTH_LINKS * self.inner
            and self.old_links * 20 < self.inner
        )

    @property
    def state(self) -> str:
        """`open`, `closed` or `on trial`."""
        return "closed" if self.is_closed else "open" if self.is_open else "on trial"

    @property
    def reason(self) -> str:
        """Why the template is closed; "" if it is not."""
        if self.is_labyrinth:
            return f"all of its {self.new_links} links led to further pages of it"
        if self.is_meaningless:
            return f"{self.twins} pages were the same without it"
        is_spent = self.budget <= 0 or self.is_exhausted
        return f"{self.nothing} pages brought nothing new" if is_spent else ""

    def add(self, change: float, most: float = OPEN, least: float = 0.0) -> None:
        """Add to the budget, without raising it over `most` or lowering it below `least`."""
        if change > 0:
            self.budget = max(self.budget, min(most, self.budget + change))
        else:
            self.budget = min(self.budget, max(least, self.budget + change))
