"""Call operations directly on a store, without a server."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from aragog.api.operations.operation import Caller, Operation, Parts
from aragog.api.operations.options import validate_options
from aragog.api.operations.steps import run_steps
from aragog.errors import (
    BAD_INPUT,
    PERMANENT,
    TRANSIENT,
    AragogError,
    BadInput,
    InvalidUrl,
    PermanentError,
    ServiceUnavailable,
)

R = TypeVar("R")


@contextmanager
def _client_errors() -> Iterator[None]:
    """Convert the errors of libraries to those that a client of a server would raise."""
    try:
        yield
    except (AragogError, InvalidUrl):
        raise
    except BAD_INPUT as error:
        raise BadInput(str(error)) from error
    except TRANSIENT as error:
        raise ServiceUnavailable(error.where, error.reason) from error
    except PERMANENT as error:
        raise PermanentError(str(error)) from error


class DirectBackend:
    """
    See `Backend`. `limit_s` is not enforced. Only the timeouts of the storage engine limit a call.

    Args:
        parts: the services that operations use. The caller closes them.
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
        with _client_errors():
            response = operation.run(self._caller, validate_options(request))
            result: R = run_steps(response) if isinstance(response, Generator) else response
            return result

    def close(self) -> None:
        return
