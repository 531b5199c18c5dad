"""What was learned and decided about a host's templates, for commands, operations and pages."""

from __future__ import annotations

from dataclasses import dataclass

from aragog.crawl.traps.host_budget import TemplateDecision
from aragog.crawl.traps.templates import FROM_WITHIN
from aragog.crawl.traps.trap_store import TrapStore
from aragog.errors import BadInput

LEARNED = "learned"
STATES = (TemplateDecision.OPEN.value, TemplateDecision.CLOSED.value, LEARNED)
"""The decisions of an operator. `learned` withdraws one."""


@dataclass(frozen=True, slots=True)
class HostTemplate:
    """A template of a host."""

    template: str
    state: str
    """`open`, `closed` or `on trial`."""
    by: str
    """The source of the state: `operator` or `learned`."""
    brought: int = 0
    """Number of useful pages."""
    nothing: int = 0
    """Number of useless pages."""
    reason: str = ""
    """Why the template was learned to be closed."""


@dataclass(frozen=True, slots=True)
class HostTemplates:
    """The templates of a host."""

    host: str
    held: int
    """Approximate number of held links."""
    left_out: int
    """Number of links that were not followed."""
    templates: tuple[HostTemplate, ...] = ()
    """Up to 200 templates, closed ones first, and all that have a decision."""


def host_templates(store: TrapStore, host: str) -> HostTemplates:
    """
    Return the templates of a host.

    Raises:
        BrokerUnavailable: Redis does not respond.
    """
    budget = store.read([host])[host].budget
    closed = budget.closed()
    decided = store.decisions().get(host, {})
    found = {
        name: HostTemplate(
            name, budget.state(name), LEARNED, one.brought, one.nothing, closed.get(name, "")
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
    Open or close a host's template regardless of its pages, or withdraw such a decision.

    Raises:
        BadInput: `state` is not one of `STATES`, or there are too many decisions.
    """
    if state not in STATES:
        raise BadInput(f"state: must be one of {', '.join(STATES)}")
    store.decide(host, template, None if state == LEARNED else TemplateDecision(state))
