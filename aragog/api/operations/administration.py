"""Operations for takedowns, and the operation that returns the token's permissions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from aragog.api.operations.operation import Caller, HttpRoute, Pool, operation
from aragog.api.operations.options import Option
from aragog.api.operations.scopes import ADMIN, ANY, SCOPES, Token
from aragog.api.operations.values import Cursor, Limit
from aragog.errors import BadInput

KINDS = ("host", "domain", "url")
Host = Annotated[str | None, Option("All URLs of a host, on any port.")]
Domain = Annotated[str | None, Option("All URLs of a domain and its subdomains.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class TakedownRequest:
    """The target of a takedown. Exactly one of `url`, `host` and `domain` is set."""

    url: Annotated[
        str | None,
        Option(
            "A page with its aliases or, for an alias on another host, only the alias.", is_url=True
        ),
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
    Delete and block a URL, or all URLs of a host or domain. Returns how many URLs lost data.

    Pages that were stored under another URL because of a redirect are deleted as well. Deleting a
    large host may take longer than the deadline. The deletion then continues, and you can repeat
    the call until it returns.
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
    Unblock a URL, host or domain. Deleted data is not restored.

    URLs that were taken down along with their site stay blocked until each is lifted. Returns False
    if the target was not taken down.
    """
    lifted = caller.store.takedowns.lift(request.url, host=request.host, domain=request.domain)
    caller.parts.takedowns_changed(purge=False)
    return lifted


@dataclass(frozen=True, slots=True)
class TakedownsRequest:
    """Which page of the list of takedowns to return."""

    limit: Limit = 100
    cursor: Cursor = None


@dataclass(frozen=True, slots=True)
class TakedownEntry:
    """A host, domain or URL that was taken down."""

    kind: str
    """The kind of target: `host`, `domain` or `url`."""
    name: str


@dataclass(frozen=True, slots=True)
class TakedownPage:
    """A page of takedowns, with a cursor for the next page. The last page has no cursor."""

    takedowns: tuple[TakedownEntry, ...]
    cursor: str | None = None


@operation(
    TakedownsRequest,
    http=HttpRoute("GET", "/v1/takedowns"),
    thrift="UrlStore.takedowns",
    scope=ADMIN,
)
def takedowns(caller: Caller, request: TakedownsRequest) -> TakedownPage:
    """List all takedowns. Domains come first, then hosts, then URLs with aliases, each sorted."""
    entries = sorted(caller.store.takedowns.listed(), key=_position)
    after = _read_cursor(request.cursor) if request.cursor else None
    remaining = [entry for entry in entries if after is None or _position(entry) > after]
    part = remaining[: request.limit]
    cursor = ":".join(part[-1]) if len(part) < len(remaining) else None
    return TakedownPage(tuple(TakedownEntry(*entry) for entry in part), cursor)


def _position(entry: tuple[str, str]) -> tuple[bool, str, str]:
    kind, name = entry
    return kind == "url", kind, name


def _read_cursor(cursor: str) -> tuple[bool, str, str]:
    kind, colon, name = cursor.partition(":")
    if not colon or kind not in KINDS:
        raise BadInput("cursor: must be a cursor returned by this call")
    return _position((kind, name))


@dataclass(frozen=True, slots=True)
class TokenViewRequest:
    """No options, because the token identifies the caller."""


@dataclass(frozen=True, slots=True)
class TokenView:
    """The permissions of the caller's token."""

    name: str | None
    """The token's name, or None if this server requires no tokens."""
    scopes: tuple[str, ...]
    """The token's scopes. `admin` includes the others."""
    rate: float | None = None
    """Requests per second across all processes, or None if unlimited."""


def _sort_scopes(scopes: frozenset[str]) -> tuple[str, ...]:
    graphs = sorted(scope for scope in scopes if "@" in scope)
    return (*(scope for scope in SCOPES if scope in scopes), *graphs)


@operation(
    TokenViewRequest, http=HttpRoute("GET", "/v1/token"), thrift="UrlStore.tokenView", scope=ANY
)
def token_view(caller: Caller, _request: TokenViewRequest) -> TokenView:
    """Return the permissions of the caller's token. Every token may call this."""
    token = caller.token
    if isinstance(token, Token):
        return TokenView(str(token), _sort_scopes(token.scopes), token.rate)
    return TokenView(None, SCOPES)
