"""The table of operations, tested without a server."""

import inspect
from dataclasses import dataclass
from typing import Annotated

import pytest

from aragog.api.json_values import build_request, from_query, request_members
from aragog.api.operations.enqueue_options import EnqueueArguments
from aragog.api.operations.operation import Caller, Parts
from aragog.api.operations.options import (
    Option,
    non_default_options,
    option_fields,
    validate_options,
)
from aragog.api.operations.scopes import ADMIN, ANY, READ, WRITE
from aragog.api.operations.table import OPERATIONS
from aragog.api.server.thrift.contract import idl
from aragog.api.thrift_values import build_arguments
from aragog.api.thrift_values import build_request as request_of_struct
from aragog.client import AsyncClient, Client
from aragog.errors import BadInput, Unsupported
from aragog.runtime.clock import ManualClock
from aragog.urlstore.field_formats import DECIMAL_FIELDS, EXTRACTED
from tests.support.stores import store_harness
from zengraph.tables.memory import MemoryTables

URL = "http://a.example/"


@dataclass(frozen=True)
class Request:
    """A request with an option of each kind."""

    url: Annotated[str, Option("", is_url=True)]
    count: Annotated[int, Option("", minimum=1, maximum=9)] = 1
    size: Annotated[int, Option("", minimum=1, maximum=9, capped=True)] = 1
    share: Annotated[float | None, Option("", minimum=0, maximum=1, http="part")] = None
    deep: bool = False
    names: Annotated[tuple[str, ...], Option("", max_items=2, max_bytes=3)] = ()


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"url": None}, "url: is required"),
        ({"url": 1}, "url: must be a string"),
        ({"count": 0}, "count: must be a whole number from 1 to 9, got 0"),
        ({"count": 10}, "count: must be a whole number from 1 to 9, got 10"),
        ({"count": True}, "count: must be a whole number"),
        ({"count": 1.5}, "count: must be a whole number"),
        ({"size": 0}, "size: must be a whole number from 1 to 9"),
        ({"share": float("nan")}, "share: must be a number from 0 to 1"),
        ({"share": "1"}, "share: must be a number"),
        ({"deep": 1}, "deep: must be true or false"),
        ({"names": "ab"}, "names: must be a list"),
        ({"names": ["a", "b", "c"]}, "names: must have at most 2 items, got 3"),
        ({"names": ["abcd"]}, "names: must have at most 3 bytes, got 4"),
    ],
)
def test_option_out_of_bounds_is_refused_by_name(values, text):
    with pytest.raises(BadInput, match=text.replace("(", r"\(")):
        validate_options(Request(**{"url": URL, **values}))


def test_capped_option_above_its_maximum_is_reduced_to_it():
    assert validate_options(Request(URL, size=1000)) == Request(URL, size=9)


def test_only_options_that_differ_from_their_defaults_are_given():
    assert non_default_options(Request(URL, count=1, share=0.5)) == {"url": URL, "share": 0.5}


def test_request_round_trips_through_json_and_query():
    request = Request(URL, count=3, share=0.5, deep=True, names=("a", "b"))
    members = request_members(request)

    assert members == {"url": URL, "count": 3, "part": 0.5, "deep": True, "names": ["a", "b"]}
    assert build_request(Request, members) == request
    query = {"url": URL, "count": "3", "part": "0.5", "deep": "true", "names": "a,b"}
    assert from_query(Request, query) == request


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation_defines_everything_that_codecs_need(name):
    operation = OPERATIONS[name]

    assert operation.text
    assert operation.scope in (ANY, READ, WRITE, ADMIN)
    assert operation.runs_in_steps == inspect.isgeneratorfunction(operation.run)
    assert operation.runs_in_steps or not operation.waits
    for field in operation.fields:
        assert field.option.text, field.name


@pytest.mark.parametrize("name", OPERATIONS)
def test_options_match_the_thrift_contract(name):
    operation = OPERATIONS[name]
    service, method = operation.thrift
    spec = getattr(getattr(idl, service), f"{method}_args").thrift_spec
    arguments = {entry[1]: entry[2] for entry in spec.values()}
    options = arguments.pop("options").thrift_spec.values()

    in_contract = {*arguments, *(entry[1] for entry in options)} - {"deadline_ms"}

    assert in_contract == {field.thrift for field in operation.fields}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_client_methods_match_the_table_of_operations(name, kind):
    method, operation = getattr(kind, name), OPERATIONS[name]

    assert [*inspect.signature(method).parameters][1:] == [field.name for field in operation.fields]
    assert all(f"{field.name}: " in method.__doc__ for field in operation.fields)


def test_request_round_trips_through_thrift():
    operation = OPERATIONS["enqueue"]
    request = operation.request(
        ("a",), priority=1, run_after=7, include=("*",), batch="batch-0000", sitemap=True
    )

    arguments = build_arguments(operation, request, idl.Fetcher.enqueue_args)

    assert arguments.options.run_after_ms == 7
    assert request_of_struct(operation, arguments) == request


def test_enqueue_options_match_those_of_the_producer():
    producer = {field.name for field in option_fields(EnqueueArguments)}
    table = {field.name for field in OPERATIONS["enqueue"].fields}

    assert table - producer == {"urls", "batch"}
    assert producer < table


def test_operation_with_a_missing_part_is_unsupported():
    caller = Caller(Parts(store=store_harness(MemoryTables(ManualClock())).store))

    with pytest.raises(Unsupported, match="does not enqueue"):
        OPERATIONS["enqueue"].run(caller, OPERATIONS["enqueue"].request([URL]))


def test_decimal_fields_match_the_page_types():
    import importlib
    import typing
    from dataclasses import fields, is_dataclass
    from decimal import Decimal

    from richpins import page_types

    found = set()
    for type_name in page_types.NAMES:
        module = importlib.import_module(f"{page_types.__name__}.{type_name}")
        for kind in vars(module).values():
            if isinstance(kind, type) and is_dataclass(kind) and kind.__module__ == module.__name__:
                hints = typing.get_type_hints(kind)
                name = kind.__name__.lower()
                found |= {
                    f"{name}.{f.name}" for f in fields(kind)
                    if Decimal in typing.get_args(hints[f.name])
                }  # fmt: skip

    assert {name for name in found if name.partition(".")[0] in EXTRACTED} == DECIMAL_FIELDS
