"""Operations of operators, takedowns, and of every caller: what its token may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from aragog.api.operations.operation import Caller, HttpRoute, Pool, operation
from aragog.api.operations.options import Option
from aragog.api.operations.scopes import ADMIN, ANY, SCOPES, Token
from aragog.api.operations.values import Cursor, Limit
from aragog.errors import BadInput

KINDS = ("host", "domain", "url")
Host = Annotated[str | None, Option("All URLs of a host, on all its ports.")]
Domain = Annotated[str | None, Option("All URLs of a domain, and of the hosts below it.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class TakedownRequest:
    """The target of a takedown: exactly one of the three."""

    url: Annotated[
        str | None,
        Option("A page with its aliases; of an alias on another host only the alias.", is_url=True),
    ] = None
    host: Host = None
    domain: Domain = None


@operation(
    TakedownRequest,
    http=HttpRoute("POST", "/v1/takedowns", member="deleted"),
    thrift="UrlStore.takeDown",
    scope=ADMIN,
    pool=Pool.CONTENT,
)
def take_down(caller: Caller, request: TakedownRequest) -> int:
    """
    Delete a URL, or all of a host or domain, and refuse them. Returns how many URLs lost data.

    What they sent is also deleted where a redirect stored it under another URL. A large host takes
    longer than the deadline: the deletion continues, and the call may be repeated until it answers.
    """
    count = caller.store.takedowns.take_down(
        url=request.url, host=request.host, domain=request.domain
    )
    caller.parts.takedowns_changed(purge=True)
    return count


@operation(
    TakedownRequest,
    http=HttpRoute("POST", "/v1/takedowns:lift", member="lifted"),
    thrift="UrlStore.liftTakedown",
    scope=ADMIN,
)
def lift_takedown(caller: Caller, request: TakedownRequest) -> bool:
    """
    Accept a URL, host or domain again; deleted data does not come back.

    URLs that were taken down with their site stay refused until each is lifted. False: it was not
    taken down.
    """
    lifted = caller.store.takedowns.lift(request.url, host=request.host, domain=request.domain)
    caller.parts.takedowns_changed(purge=False)
    return lifted


@dataclass(frozen=True, slots=True)
class TakedownsRequest:
    """A part of the list of takedowns."""

    limit: Limit = 100
    cursor: Cursor = None


@dataclass(frozen=True, slots=True)
class TakedownEntry:
    """A host, domain or URL that was taken down."""

    kind: str
    """The kind of target: a `host`, a `domain` or a `url`."""
    name: str


@dataclass(frozen=True, slots=True)
class TakedownPage:
    """A part of the list of takedowns; `cursor` continues it, None: it is complete."""

    takedowns: tuple[TakedownEntry, ...]
    cursor: str | None = None


@operation(
    TakedownsRequest,
    http=HttpRoute("GET", "/v1/takedowns"),
    thrift="UrlStore.takedowns",
    scope=ADMIN,
)
def takedowns(caller: Caller, request: TakedownsRequest) -> TakedownPage:
    """Everything that was taken down: domains, hosts, then URLs with their aliases, each sorted."""
    listed = sorted(caller.store.takedowns.listed(), key=_place)
    after = _read_cursor(request.cursor) if request.cursor else None
    left = [entry for entry in listed if after is None or _place(entry) > after]
    part = left[: request.limit]
    cursor = ":".join(part[-1]) if len(part) < len(left) else None
    return TakedownPage(tuple(TakedownEntry(*entry) for entry in part), cursor)


def _place(entry: tuple[str, str]) -> tuple[bool, str, str]:
    kind, name = entry
    return kind == "url", kind, name


def _read_cursor(cursor: str) -> tuple[bool, str, str]:
    kind, colon, name = cursor.partition(":")
    if not colon or kind not in KINDS:
        raise BadInput("cursor: must be one that this call returned")
    return _place((kind, name))


@dataclass(frozen=True, slots=True)
class TokenViewRequest:
    """Nothing but the token itself."""


@dataclass(frozen=True, slots=True)
class TokenView:
    """The permissions of the token of a call."""

    name: str | None
    """The token's name; None when this server requires no tokens."""
    scopes: tuple[str, ...]
    """The scopes of the token; `admin` includes the others."""
    rate: float | None = None
    """Requests per second, over all processes; None: unlimited."""


def _in_order(scopes: frozenset[str]) -> tuple[str, ...]:
    """The scopes of the store first, then those of graphs."""
    graphs = sorted(scope for scope in scopes if "@" in scope)
    return (*(scope for scope in SCOPES if scope in scopes), *graphs)


@operation(
    TokenViewRequest, http=HttpRoute("GET", "/v1/token"), thrift="UrlStore.tokenView", scope=ANY
)
def token_view(caller: Caller, _request: TokenViewRequest) -> TokenView:
    """The permissions of the caller's token; every token may call this."""
    token = caller.token
    if isinstance(token, Token):
        return TokenView(str(token), _in_order(token.scopes), token.rate)
    return TokenView(None, SCOPES)
