"""Parse dates without a day, as books, films and journals have them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from richpins.values.month_names import month_number


@dataclass(frozen=True, slots=True)
class PartialDate:
    """A year, or a month of a year, for a page that gives no full date."""

    year: int
    month: int | None = None

    def isoformat(self) -> str:
        """Return `2001` or `2001-05`."""
        return f"{self.year:04}" + (f"-{self.month:02}" if self.month else "")


MIN_YEAR, MAX_YEAR = 1000, 2200
_YEAR_FIRST = re.compile(r"(?P<y>\d{4})(?:[-/.](?P<mo>\d{1,2}))?")
_CJK = re.compile(r"(?P<y>\d{4})\s?[年년](?:\s?(?P<mo>\d{1,2})\s?[月월])?")
_MONTH_FIRST = re.compile(r"(?P<mo>\d{1,2})[-/.](?P<y>\d{4})")
_NAMED_MONTH = re.compile(
    r"(?P<name>[^\W\d_]{3,12})\.?(?:,?\s{1,3}|[-/])(?:(?:de|del|of)\s)?(?P<y>\d{4})"
    r"|(?P<y2>\d{4})[,.]?\s{1,3}(?P<name2>[^\W\d_]{3,12})\.?",
    re.IGNORECASE,
)


def partial_date(text: str) -> PartialDate | None:
    """Return the year or month in `2001`, `2001/05`, `05/2001`, `May 2001` or `2001年5月`."""
    match = _YEAR_FIRST.fullmatch(text) or _MONTH_FIRST.fullmatch(text) or _CJK.fullmatch(text)
    if match is not None:
        return _valid(int(match["y"]), int(match["mo"]) if match["mo"] else None)
    match = _NAMED_MONTH.fullmatch(text)
    month = month_number(match["name"] or match["name2"]) if match else None
    if match is None or month is None:
        return None
    return _valid(int(match["y"] or match["y2"]), month)


def _valid(year: int, month: int | None) -> PartialDate | None:
    is_valid = MIN_YEAR <= year <= MAX_YEAR and (month is None or 1 <= month <= 12)
    return PartialDate(year, month) if is_valid else None
