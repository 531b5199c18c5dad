"""Operations on the URL templates of a host: list which ones are followed, and override that."""

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


def _store(caller: Caller) -> TrapStore:
    crawls = need(caller.parts.crawls, "this server has no crawls")
    return need(crawls.traps, "this server has no templates of URLs")


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
    """List the templates of a host's URLs, those whose links are not followed first."""
    return host_templates(_store(caller), request.host.lower())


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
    Follow all links of a template or none, regardless of its pages. Returns the host's templates.

    URLs that are already queued are still fetched. This takes effect everywhere within a second.
    """
    store, name = _store(caller), request.host.lower()
    decide(store, name, request.template, request.state)
    return host_templates(store, name)
