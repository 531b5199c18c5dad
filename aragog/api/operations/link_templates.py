"""Operations that list a host's URL templates and override whether their links are followed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from aragog.api.operations.operation import Caller, HttpRoute, Pool, need, operation
from aragog.api.operations.options import Option
from aragog.api.operations.scopes import ADMIN
from aragog.crawl.traps.host_templates import STATES, HostTemplates, decide, host_templates
from aragog.crawl.traps.trap_store import TrapStore

HostName = Annotated[
    str,
    Option(
        "A host.",
        pattern=r"[A-Za-z0-9._:\[\]-]{1,255}",
        rule="must be 1 to 255 letters, digits, '.', '-', '_', ':', '[' and ']'",
    ),
]
Template = Annotated[
    str,
    Option(
        "One of the host's templates, as returned by `list_templates`.",
        pattern=r"[^\s\x00-\x1f]{1,500}",
        rule="must be 1 to 500 characters without spaces",
    ),
]


def _trap_store(caller: Caller) -> TrapStore:
    crawls = need(caller.parts.crawls, "this server has no crawls")
    return need(crawls.traps, "this server has no URL templates")


@dataclass(frozen=True, slots=True)
class TemplatesRequest:
    """The host whose templates are listed."""

    host: HostName


@operation(
    TemplatesRequest,
    http=HttpRoute("GET", "/v1/templates"),
    thrift="Fetcher.listTemplates",
    pool=Pool.BROKER,
)
def list_templates(caller: Caller, request: TemplatesRequest) -> HostTemplates:
    """List a host's URL templates. Those whose links are not followed come first."""
    return host_templates(_trap_store(caller), request.host.lower())


@dataclass(frozen=True, slots=True)
class DecideTemplateRequest:
    """An operator's decision about a template."""

    host: HostName
    template: Template
    state: Annotated[
        str,
        Option("`open`, `closed`, or `learned` to revoke an earlier decision.", choices=STATES),
    ]


@operation(
    DecideTemplateRequest,
    http=HttpRoute("POST", "/v1/templates"),
    thrift="Fetcher.decideTemplate",
    scope=ADMIN,
    pool=Pool.BROKER,
)
def decide_template(caller: Caller, request: DecideTemplateRequest) -> HostTemplates:
    """
    Follow all links that match a template, or none, and return the host's templates.

    The decision overrides what was learned from pages. It takes effect everywhere within a second,
    but URLs that are already queued are still fetched.
    """
    store, name = _trap_store(caller), request.host.lower()
    decide(store, name, request.template, request.state)
    return host_templates(store, name)
