"""Token scopes for the store and for graphs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Self

from aragog.errors import AccessDenied, BadInput

READ, WRITE, ADMIN = "read", "write", "admin"
SCOPES = (READ, WRITE, ADMIN)
"""The scopes for the store. `read@pins` and `write@pins` apply to one graph (docs/extending.md)."""
GRAPH_SCOPE = re.compile(r"(?:read|write)@[a-z][a-z0-9_]{0,19}", re.ASCII)
ANY = ""
"""The scope of calls that every token may make."""


@dataclass(eq=False, repr=False)
class LacksScope(AccessDenied):
    """The caller's token does not have the scope that the call requires."""

    MESSAGE: ClassVar[str] = "this token lacks the scope {scope}"
    scope: str


class Token(str):
    """
    A token's name, scopes and rate.

    Args:
        name: the token's name in the access log and in `serving.field_writers`.
        scopes: the token's scopes.
        rate: requests per second across all processes; None if unlimited.
    """

    __slots__ = ("rate", "scopes")

    scopes: frozenset[str]
    rate: float | None

    def __new__(cls, name: str, scopes: Iterable[str], rate: float | None = None) -> Self:
        token = super().__new__(cls, name)
        token.scopes, token.rate = frozenset(scopes), rate
        return token

    def allows(self, scope: str) -> bool:
        """
        Return True if the token has a scope. `admin` includes all.

        `read@` matches the scope `read` and the scope for any graph, such as `read@pins`.
        """
        if scope == ANY or scope in self.scopes or ADMIN in self.scopes:
            return True
        if not scope.endswith("@"):
            return False
        return any(
            held_scope == scope[:-1] or held_scope.startswith(scope) for held_scope in self.scopes
        )


def require_graph(token: str | None, scope: str, graph: str | None) -> None:
    """
    Check that a token has a scope in a graph, or in the store's graph if `graph` is None.

    A scope for the store does not include other graphs, and a scope for one graph includes no other
    graph.

    Raises:
        LacksScope: the token does not have it.
        BadInput: the graph's name is not valid.
    """
    if graph is not None and not GRAPH_SCOPE.fullmatch(f"{READ}@{graph}"):
        # Otherwise, an invalid name would end up in a header of the error response.
        raise BadInput(f"graph: there is no graph {graph[:100]!r}; add it to store.graphs")
    needed = scope if graph is None else f"{scope}@{graph}"
    if isinstance(token, Token) and not token.allows(needed):
        raise LacksScope(needed)
