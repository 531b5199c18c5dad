"""HTTP and Thrift share one table of errors: every error and every operation in both."""

import types
import typing

import pytest

from aragog.api.error_table import ERROR_KINDS
from aragog.api.operations.scopes import LacksScope
from aragog.api.operations.table import OPERATIONS, operations_by_route
from aragog.api.problems import Overloaded, Problem, to_problem, unknown_url
from aragog.api.server.http.openapi.document import DOCUMENT
from aragog.api.server.thrift.contract import idl
from aragog.api.server.thrift.errors import (
    THROWS_POSITIONS,
    Missing,
    deadline_exceeded,
    wire_exception,
)
from aragog.api.server.tokens import TokenRateExceeded
from aragog.errors import ALL
from tests.unit.test_errors import EXAMPLES

ROWS = {kind.code: kind for kind in ERROR_KINDS}
PAIRS = {
    "not_found": (unknown_url(), wire_exception(Missing())),
    "late": (to_problem(TimeoutError()), deadline_exceeded()),
    "busy": (to_problem(Overloaded()), wire_exception(to_problem(Overloaded()))),
    "too_many": (TokenRateExceeded(2.0), wire_exception(TokenRateExceeded(2.0))),
    "unauthenticated": (Problem(401, "no token"), wire_exception(Problem(401, "no token"))),
    "forbidden": (to_problem(LacksScope("write")), wire_exception(LacksScope("write"))),
    "internal": (to_problem(KeyError()), wire_exception(KeyError())),
}
"""Errors of the servers themselves, as HTTP and Thrift send them."""
SERVICES = ("UrlStore", "Fetcher", "PinLater", "Zen")


def assert_row(code, problem, raised):
    row = ROWS[code]
    assert problem.as_dict()["code"] == raised.error.code == code
    assert problem.status == row.status
    assert (type(raised.error).__name__, raised.field) == (
        row.exception,
        THROWS_POSITIONS[row.exception],
    )


@pytest.mark.parametrize("code", PAIRS)
def test_server_error_has_one_row_for_http_and_thrift(code):
    assert_row(code, *PAIRS[code])


@pytest.mark.parametrize("cls", EXAMPLES, ids=lambda cls: cls.__name__)
def test_every_error_has_one_row_for_http_and_thrift(cls):
    error = cls(*EXAMPLES[cls])
    assert isinstance(error, ALL)
    problem, raised = to_problem(error), wire_exception(error)

    assert_row(problem.as_dict()["code"], problem, raised)
    assert raised.error.message == problem.detail == str(error)
    assert getattr(raised.error, "url", None) == problem.members.get("url")


def test_every_row_is_used():
    reached = {to_problem(cls(*EXAMPLES[cls])).as_dict()["code"] for cls in EXAMPLES}

    assert reached | set(PAIRS) == {kind.code for kind in ERROR_KINDS if kind.exception}


def test_table_has_exactly_the_exceptions_of_the_contract():
    exceptions = {
        name
        for name, kind in vars(idl).items()
        if isinstance(kind, type) and issubclass(kind, idl.BadInput.__mro__[1])
    }
    named = {kind.exception for kind in ERROR_KINDS if kind.exception}

    assert (
        named
        == set(THROWS_POSITIONS)
        == {name for name in exceptions if hasattr(getattr(idl, name)(), "code")}
    )


def test_openapi_document_has_exactly_the_statuses_and_codes():
    statuses = {name.removeprefix("Problem") for name in DOCUMENT["components"]["responses"]}
    problem = DOCUMENT["components"]["schemas"]["Problem"]["properties"]

    assert statuses == {str(kind.status) for kind in ERROR_KINDS}
    assert problem["code"]["enum"] == list(ROWS)
    for kind in ERROR_KINDS:
        text = DOCUMENT["components"]["responses"][f"Problem{kind.status}"]["description"]
        assert f"`{kind.code}`: {kind.meaning}" in text


@pytest.mark.parametrize("service", SERVICES)
def test_exception_has_the_same_field_number_in_every_call(service):
    for name in getattr(idl, service).thrift_services:
        result = getattr(getattr(idl, service), f"{name}_result")
        for place, entry in result.thrift_spec.items():
            if place:
                assert THROWS_POSITIONS[entry[2].__name__] == place, (name, entry)


@pytest.mark.parametrize("name", OPERATIONS)
def test_http_and_thrift_documents_agree_on_every_operation(name):
    operation = OPERATIONS[name]
    service, method = operation.thrift
    spec = getattr(getattr(idl, service), f"{method}_result").thrift_spec
    raised = {entry[2].__name__ for place, entry in spec.items() if place}
    route = operation.http
    responses = DOCUMENT["paths"][route.path][route.method.lower()]["responses"]
    shares_its_route = len(operations_by_route()[route.path, route.method]) > 1
    is_optional = types.NoneType in typing.get_args(operation.response_type)

    assert {
        "BadInput",
        "Unauthorized",
        "Unavailable",
        "DeadlineExceeded",
        "InternalError",
    } <= raised
    assert {"400", "401", "403", "500", "503", "504"} <= set(responses)
    assert ("NotFound" in raised) == is_optional
    if not shares_its_route:
        assert ("404" in responses) == is_optional
        # Only HTTP has preconditions on reads.
        conflicts = {"409"} if route.method == "GET" else {"409", "412"}
        assert ("Conflict" in raised) == bool(conflicts & set(responses))
