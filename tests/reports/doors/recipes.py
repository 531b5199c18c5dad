"""Pages, with the answers of `_pages`."""

from tests.reports.doors._pages import answer

__all__ = ["answer"]
