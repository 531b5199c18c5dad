"""Calls straight on a store, without a server."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

from aragog.api.operations.operation import Caller, Operation, Parts
from aragog.api.operations.options import checked
from aragog.api.operations.steps import finished

R = TypeVar("R")


class DirectBackend:
    """
    See `Backend`. Nothing enforces `limit_s`: the engine's own timeouts limit each call.

    Args:
        parts: what operations use; not closed here.
    """

    def __init__(self, parts: Parts) -> None:
        self._caller = Caller(parts)

    def call(
        self,
        operation: Operation[Any, R],
        request: Any,
        *,
        limit_s: float,  # noqa: ARG002 - see the class
    ) -> R:
        answer = operation.run(self._caller, checked(request))
        result: R = finished(answer) if isinstance(answer, Generator) else answer
        return result

    def close(self) -> None:
        return
