"""A host's templates, as learned or decided by an operator, for commands, the API and web pages."""

from __future__ import annotations

from dataclasses import dataclass

from aragog.crawl.traps.host_budget import TemplateDecision
from aragog.crawl.traps.template_states import closed_templates, template_state
from aragog.crawl.traps.templates import FROM_WITHIN
from aragog.crawl.traps.trap_store import TrapStore
from aragog.errors import BadInput

LEARNED = "learned"
STATES = (TemplateDecision.OPEN.value, TemplateDecision.CLOSED.value, LEARNED)
"""What an operator can decide. `learned` withdraws a decision."""


@dataclass(frozen=True, slots=True)
class HostTemplate:
    """A template of a host."""

    template: str
    state: str
    """`open`, `closed` or `on trial`."""
    by: str
    """Where the state comes from: `operator` or `learned`."""
    brought: int = 0
    """Number of useful pages."""
    nothing: int = 0
    """Number of useless pages."""
    reason: str = ""
    """Why the crawler closed the template."""


@dataclass(frozen=True, slots=True)
class HostTemplates:
    """The templates of a host."""

    host: str
    held: int
    """Approximate number of held links."""
    left_out: int
    """Number of links that were not followed."""
    templates: tuple[HostTemplate, ...] = ()
    """All recorded templates and those with an operator's decision, closed ones first."""


def host_templates(store: TrapStore, host: str) -> HostTemplates:
    """
    Return the templates of a host.

    Raises:
        BrokerUnavailable: Redis does not respond.
    """
    budget = store.read([host])[host].budget
    closed = closed_templates(budget)
    decided = store.decisions().get(host, {})
    found = {
        name: HostTemplate(
            name,
            template_state(budget, name),
            LEARNED,
            one.brought,
            one.nothing,
            closed.get(name, ""),
        )
        for name, one in budget.records.items()
        if not name.endswith(FROM_WITHIN)
    }
    for name, decision in decided.items():
        one = found.get(name) or HostTemplate(name, "", "")
        found[name] = HostTemplate(name, decision.value, "operator", one.brought, one.nothing)
    shown = sorted(found.values(), key=lambda one: (one.state != "closed", one.template))
    return HostTemplates(host, budget.held, budget.left_out, tuple(shown))


def decide(store: TrapStore, host: str, template: str, state: str) -> None:
    """
    Open or close a host's template regardless of what its pages brought, or withdraw that decision.

    Raises:
        BadInput: `state` is not one of `STATES`, or there are too many decisions.
    """
    if state not in STATES:
        raise BadInput(f"state: must be one of {', '.join(STATES)}")
    store.decide(host, template, None if state == LEARNED else TemplateDecision(state))
