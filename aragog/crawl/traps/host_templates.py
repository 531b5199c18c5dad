"""What is known and decided about the templates of a host, for commands, operations and pages."""

from __future__ import annotations

from dataclasses import dataclass

from aragog.crawl.traps.host_budget import TemplateDecision
from aragog.crawl.traps.trap_store import TrapStore
from aragog.errors import BadInput

LEARNED = "learned"
STATES = (TemplateDecision.OPEN.value, TemplateDecision.CLOSED.value, LEARNED)
"""What an operator can say: `learned` takes a decision back."""


@dataclass(frozen=True, slots=True)
class HostTemplate:
    """A template of a host."""

    template: str
    state: str
    """`open`, `closed` or `on trial`."""
    by: str
    """Who says so: `operator` or `learned`."""
    brought: int = 0
    """Pages that brought something."""
    nothing: int = 0
    """Pages that brought nothing."""
    reason: str = ""
    """Why it is closed, where that was learned."""


@dataclass(frozen=True, slots=True)
class HostTemplates:
    """The templates of a host."""

    host: str
    held: int
    """About how many links wait for a verdict."""
    left_out: int
    """Links that were not followed."""
    templates: tuple[HostTemplate, ...] = ()
    """Those that are closed first, up to 200 and those with a decision."""


def host_templates(store: TrapStore, host: str) -> HostTemplates:
    """
    The templates of a host.

    Raises:
        BrokerUnavailable: Redis does not answer.
    """
    budget = store.read([host])[host].budget
    decided = store.decisions().get(host, {})
    found = {
        name: HostTemplate(name, one.state, LEARNED, one.brought, one.nothing, one.reason)
        for name, one in budget.templates.items()
    }
    for name, decision in decided.items():
        one = found.get(name) or HostTemplate(name, "", "")
        found[name] = HostTemplate(name, decision.value, "operator", one.brought, one.nothing)
    shown = sorted(found.values(), key=lambda one: (one.state != "closed", one.template))
    return HostTemplates(host, budget.held, budget.left_out, tuple(shown))


def decide(store: TrapStore, host: str, template: str, state: str) -> None:
    """
    Open or close a template of a host whatever it brings, or take that back.

    Raises:
        BadInput: the state is none of `STATES`, or there are too many decisions.
    """
    if state not in STATES:
        raise BadInput(f"state: must be one of {', '.join(STATES)}")
    store.decide(host, template, None if state == LEARNED else TemplateDecision(state))
