"""The states of a host's templates, as operators see them, and why a link is not followed. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from aragog.crawl.traps.host_budget import (
    EXPECTED,
    LAST_CHANCE,
    LIKELY,
    WEIGHT,
    HostBudget,
    TemplateDecision,
)
from aragog.crawl.traps.templates import FROM_WITHIN, PathWords, templates_of


def template_state(budget: HostBudget, name: str) -> str:
    """Return the state of a recorded template: `open`, `closed` or `on trial`."""
    one = budget.records[name]
    if one.is_labyrinth or one.is_meaningless:
        return "closed"
    if not one.brought and not one.nothing:
        return "on trial"
    chance = one.shrunk(EXPECTED, WEIGHT)
    return "closed" if chance < LAST_CHANCE else "on trial" if chance < LIKELY else "open"


def closed_templates(budget: HostBudget) -> dict[str, str]:
    """Return the templates that the crawler closed, each with the reason."""
    return {
        name: one.reason
        for name, one in budget.records.items()
        if template_state(budget, name) == "closed" and not name.endswith(FROM_WITHIN)
    }


def why_not_followed(
    budget: HostBudget, url: str, decisions: Mapping[str, TemplateDecision]
) -> str:
    """Return why a link is not followed now; "" if nothing blocks it. Changes nothing."""
    words = PathWords({place: list(known) for place, known in budget.words.words.items()})
    is_of = templates_of(url, words)
    names = (*is_of.templates, *(part.template for part in is_of.parts))
    for name in names:
        if decisions.get(name) is TemplateDecision.CLOSED:
            return f"{name}: closed by an operator"
    if any(decisions.get(name) is TemplateDecision.OPEN for name in names):
        return ""
    closed = closed_templates(budget)
    if reason := next((f"{name}: {closed[name]}" for name in names if name in closed), ""):
        return reason
    if is_of.own not in budget.seen and budget.names_function(is_of):
        return f"{is_of.function}: names a function of the site, and few of these are tried"
    return ""
