"""Run API operations on the configured store; convert results to the HTTP API's JSON."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from typing import Any, ParamSpec, TypeVar

from aragog.api.json_values import to_json
from aragog.api.operations.operation import Caller, Operation, Parts
from aragog.api.operations.options import validate_options
from aragog.api.operations.page_texts import PageTexts
from aragog.api.operations.steps import run_steps
from aragog.cli.data_folder import command_settings
from aragog.urlstore.store import UrlStore

P = ParamSpec("P")
R = TypeVar("R")


def call_operation(
    store: UrlStore, operation: Operation[P, R], *args: P.args, **kwargs: P.kwargs
) -> R:
    """
    Return the result of an operation on an open store.

    Raises:
        BadInput: an option is invalid.
    """
    request = validate_options(operation.request(*args, **kwargs))
    with closing(PageTexts(command_settings().pipeline, deadline_s=60)) as texts:
        outcome: Any = operation.run(Caller(Parts(store=store, texts=texts)), request)
        result: R = run_steps(outcome) if isinstance(outcome, Generator) else outcome
        return result


def result_json(store: UrlStore, result: Any) -> Any:
    """Return a result or a part of one as JSON."""
    return to_json(result, store.formats)
