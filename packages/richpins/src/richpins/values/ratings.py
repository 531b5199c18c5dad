"""Parse ratings: value, scale and count."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from richpins.structured_data.graph import Node
from richpins.structured_data.sources import Sources
from richpins.values import numbers


@dataclass(frozen=True, slots=True)
class Rating:
    """A rating and its scale."""

    value: Decimal
    best: Decimal | None = None
    """The top of the scale; None if the page does not give it (then it is usually 5)."""
    worst: Decimal | None = None
    """The bottom of the scale; None if the page does not give it."""
    count: int | None = None
    """The number of ratings, or of reviews if the page counts only those."""
    review_count: int | None = None
    """The number of reviews, if the page gives it."""


def read_rating(sources: Sources, field: str, nodes: list[Node]) -> Rating | None:
    """Return the rating that `nodes` declare, and record its source as `field`."""
    candidates = sources.lists(nodes, "aggregaterating")
    return sources.ledger.pick(field, rating, candidates, expected="a rating")


def rating(value: Any) -> Rating | None:
    """Return the rating in an AggregateRating or Rating node, or in a plain number."""
    if isinstance(value, list):
        return next(filter(None, map(rating, value)), None)
    if not isinstance(value, Node):
        number = numbers.decimal(value)
        return Rating(number) if number is not None and number > 0 else None
    best = numbers.decimal(value.first("bestrating"))
    worst = numbers.decimal(value.first("worstrating"))
    raw = value.first("ratingvalue", "average")
    number = _parse_value(raw)
    if number is None or number < 0 or (best is not None and number > max(best, Decimal(5))):
        return None
    if worst is not None and number < (worst if best is None else min(worst, best)):
        return None
    reviews = numbers.count(value.first("reviewcount"))
    count = numbers.count(value.first("ratingcount", "votes", "count"))
    if number == 0 and not count and not reviews:
        return None
    return Rating(number, best, worst, count if count is not None else reviews, reviews)


def _parse_value(raw: Any) -> Decimal | None:
    """Parse `4.5`, `4,5`, `4.5/5`, `4.5 out of 5`."""
    if isinstance(raw, str):
        raw = re.split(r"\s{0,3}(?:/|out of|von|sur|de)\s{0,3}", raw.strip(), maxsplit=1)[0]
        if re.fullmatch(r"\d,\d{3,}", raw):
            raw = raw.replace(",", ".")
    return numbers.decimal(raw)
