"""
Reads budgets of version 3, in which templates had budgets instead of records. Pure (no I/O).

What was fetched, counted and learned about templates is kept. The words of the host's pages are
lost, so for a while, known words count as new.
"""

from __future__ import annotations

from base64 import b64decode
from collections import OrderedDict
from typing import Any

from aragog.crawl.traps.host_budget import HostBudget
from aragog.crawl.traps.seen_set import SeenSet
from aragog.crawl.traps.template_record import TemplateRecord
from aragog.crawl.traps.templates import PathWords

VERSION_3 = 3
_NUMBERS = (
    "budget", "charged", "promises", "pending", "brought", "said", "steps", "nothing", "twins",
    "differ", "variants", "inner", "new_links", "old_links",
)  # fmt: skip
_TAKEN = (
    "promises", "pending", "brought", "said", "steps", "nothing", "twins", "differ", "inner",
    "new_links", "old_links",
)  # fmt: skip
_WEIGHT = 5.0
"""The old share of useful pages counts as at most this many pages."""


def host_of_version_3(wire: dict[str, Any]) -> HostBudget:
    """
    Return a host's budget from the decoded JSON of version 3.

    Raises:
        KeyError, TypeError, ValueError: the budget is damaged.
    """
    records = OrderedDict((name, _record(rest)) for name, *rest in wire["templates"])
    return HostBudget(
        words=PathWords(wire["words"]),
        records=records,
        useful=wire["useful"],
        spent=wire["spent"],
        pending=sum(one.pending for one in records.values()),
        held=wire["held"],
        left_out=wire["left_out"],
        meaningless={name for name, one in records.items() if one.is_meaningless},
        seen=_set(wire["seen"]),
        judged=_set(wire["judged"]),
    )


def _record(values: list[Any]) -> TemplateRecord:
    numbers = dict(zip(_NUMBERS, values, strict=False))
    one = TemplateRecord(**{name: numbers[name] for name in _TAKEN})
    pages = one.brought + one.nothing
    weight = min(_WEIGHT, pages)
    one.good = weight * one.brought / pages if pages else 0.0
    one.bad = weight - one.good
    return one


def _set(values: list[Any]) -> SeenSet:
    added, young, old = values
    known = b64decode(young)
    return SeenSet(len(known), known, b64decode(old), added)
