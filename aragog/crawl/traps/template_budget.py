"""What is known about one template of URLs: what its pages brought, and what it may still spend."""

from __future__ import annotations

from dataclasses import dataclass

TRIAL, OPEN = 3.0, 9.0
"""The budget of a new template; that of a proven one, whose links are all followed."""
TWINS = 3
"""
Pages that were the same without a part of their URL, after which the part has no meaning.
"""
LEAST_BROUGHT = 5
"""Pages of it that must have brought something before all of its links are followed."""
FAST = 50
"""Such pages, after which any number of its links may be under way; before, as many as came."""
LISTS = 2
"""Links under way of a template whose pages have but links; fewer if its budget is less."""
FAR = 9
"""Steps that a template has which is not known to lead to words."""
LABYRINTH_PAGES, LABYRINTH_LINKS = 12, 3
FIRST_OF_LABYRINTH = 4
"""
Pages of a branch that only the branch itself has led to, each with so many new links within it, and
none that another page names again: after so many it is a labyrinth. After the first ones it may be.
"""
FEW_IN_A_ROW, MOST_IN_A_ROW = 2, 5
"""
Pages in a row that brought nothing: then one link is under way at a time, and then none, unless
twice as many pages have brought something before.
"""
MOST_VARIANTS = 5
"""
Pages that were others without a part of their URL, after which all links with that part are
followed.
"""


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
    steps: int = FAR
    """Links from its pages to pages with words of their own: 0 if its own pages have them."""
    nothing: int = 0
    """Pages that brought nothing."""
    twins: int = 0
    """Pages that were the same without this part of their URLs."""
    differ: int = 0
    """Pages that were not."""
    variants: int = 0
    """Links under way that have this part, while the URL without it was followed before."""
    inner: int = 0
    """Pages of a branch with words of their own that only the branch itself has led to."""
    new_links: int = 0
    """Their links to further pages of the branch."""
    old_links: int = 0
    """Pages of the branch that another page linked to again."""
    row: int = 0
    """Pages in a row that brought nothing; not counted for a branch."""
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
    def has_credit(self) -> bool:
        """Whether it goes on when its host has spent all of its trials."""
        return self.is_open or 2 * self.brought > 2 * self.nothing + self.promises

    def is_empty(self, most: int) -> bool:
        """Whether it promised so often, and never brought anything."""
        return self.promises >= most and not self.brought

    @property
    def has_room(self) -> bool:
        """Whether another of its links may be followed before the pages of the others have come."""
        if self.row >= FEW_IN_A_ROW and self.pending:
            return False
        if self.is_open:
            return self.brought >= FAST or self.pending < self.brought
        most = 1 + self.brought if self.said > 1 else min(1 + self.brought, LISTS)
        return self.pending < min(self.budget, most)

    @property
    def is_untried(self) -> bool:
        """Whether no page of it has come."""
        return not self.brought and not self.nothing and not self.promises

    @property
    def is_closed(self) -> bool:
        """Whether none is."""
        return self.budget <= 0 or self.is_exhausted or self.is_labyrinth

    @property
    def is_exhausted(self) -> bool:
        """Whether too many pages in a row brought nothing."""
        return self.row >= max(MOST_IN_A_ROW, self.brought // 2)

    @property
    def is_meaningless(self) -> bool:
        """Whether this part of a URL leads to the page that the URL has without it."""
        return self.twins >= TWINS and self.twins > 9 * self.differ

    @property
    def may_vary(self) -> bool:
        """Whether another link with this part may be followed that others have without it."""
        return self.differ >= MOST_VARIANTS or self.variants <= self.differ

    @property
    def is_labyrinth(self) -> bool:
        """Whether its pages lead to ever more new pages of it and never back."""
        return self.inner >= LABYRINTH_PAGES and self.may_be_labyrinth

    @property
    def may_be_labyrinth(self) -> bool:
        """Whether that is so for the first of its pages."""
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
        """Why it is closed; "" if it is not."""
        if self.is_labyrinth:
            return f"all of its {self.new_links} links led to further pages of it"
        if self.is_meaningless:
            return f"{self.twins} pages were the same without it"
        is_spent = self.budget <= 0 or self.is_exhausted
        return f"{self.nothing} pages brought nothing new" if is_spent else ""

    def add(self, change: float, most: float = OPEN, least: float = 0.0) -> None:
        """Add to the budget, within bounds that it does not pass."""
        if change > 0:
            self.budget = max(self.budget, min(most, self.budget + change))
        else:
            self.budget = min(self.budget, max(least, self.budget + change))
