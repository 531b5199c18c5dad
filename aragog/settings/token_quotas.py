"""Token quotas, written as in `serving.quotas`, such as `urls_a_day=100000 waiting_urls=5000`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Self

MIN_WEIGHT, MAX_WEIGHT = 0.01, 100.0


@dataclass(frozen=True, slots=True)
class TokenQuota:
    """Limits of one token. None means that there is no limit."""

    urls_a_day: int | None = None
    """URLs that the token may enqueue per day (UTC), including links that its crawls follow."""
    waiting_urls: int | None = None
    """URLs that may be waiting at the same time."""
    bytes_a_day: int | None = None
    """Bytes of pages that may be stored for the token per day (UTC), as sent over the network."""
    weight: float = 1.0
    """The token's share of a domain's slots, relative to other tokens with waiting URLs."""

    @property
    def is_bounded(self) -> bool:
        """True if the quota has a limit, in addition to the weight."""
        return (self.urls_a_day, self.waiting_urls, self.bytes_a_day) != (None, None, None)

    @classmethod
    def read(cls, text: str) -> Self:
        """
        Parse a quota.

        Raises:
            ValueError: the text is not a quota. The message names the problem.
        """
        values = dict(_split_pair(part) for part in text.split())
        names = [field.name for field in fields(cls)]
        if unknown := values.keys() - set(names):
            raise ValueError(f"{min(unknown)!r} is not one of {', '.join(names)}")
        weight = _parse_number(values.pop("weight", "1"), float)
        if not MIN_WEIGHT <= weight <= MAX_WEIGHT:
            raise ValueError(f"weight must be from {MIN_WEIGHT} to {MAX_WEIGHT:g}")
        return cls(
            **{name: int(_parse_number(value, int)) for name, value in values.items()},
            weight=weight,
        )


def _split_pair(part: str) -> tuple[str, str]:
    name, _, value = part.partition("=")
    return name, value


def _parse_number(text: str, kind: type[int | float]) -> float:
    try:
        value = kind(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None
    if value < 0:
        raise ValueError(f"{text!r} is negative")
    return value


def read_quotas(strings: Mapping[str, str]) -> dict[str, TokenQuota]:
    """Return the quotas by token. Raises the same `ValueError` as `TokenQuota.read`."""
    return {token: TokenQuota.read(text) for token, text in strings.items()}
