"""Pages, as `_pages` answers them."""

from tests.reports.doors._pages import answer

__all__ = ["answer"]
