"""A field missing in one of the copies of the fetch record is reported with the file to change."""

from __future__ import annotations

import dataclasses

import pytest
from thriftpy2.thrift import TType

from aragog.api.server.http.openapi.document import DOCUMENT
from aragog.api.server.thrift.contract import idl
from aragog.fetch_record.outcome import RECORD_FIELDS, SCALAR_FIELDS, FetchRecord, Hop

CONTRACT = "aragog/api/urlstore.thrift (run scripts/thrift_contract.py)"
WIRE_TYPES = {
    str: {TType.STRING},
    int: {TType.I32, TType.I64},
    float: {TType.DOUBLE},
    bool: {TType.BOOL},
}


def in_contract(struct: str) -> dict[str, tuple]:
    """The fields of a struct of the Thrift contract, by name."""
    return {entry[1]: entry for entry in getattr(idl, struct).thrift_spec.values()}


def missing(expected, found, where: str) -> str:
    """The difference of two sets of names with the file to change, or "" if there is none."""
    lacks, excess = sorted(set(expected) - set(found)), sorted(set(found) - set(expected))
    return f"{where}: lacks {lacks}, has {excess} besides" if lacks or excess else ""


@pytest.mark.parametrize(
    ("struct", "names"),
    [
        ("FetchReport", RECORD_FIELDS),
        ("Hop", [part.name for part in dataclasses.fields(Hop)]),
    ],
)
def test_thrift_contract_has_every_field(struct, names):
    assert not missing(names, in_contract(struct), f"{CONTRACT}, struct {struct}")


def test_missing_field_is_reported_with_the_file():
    text = missing((*RECORD_FIELDS, "server"), in_contract("FetchReport"), CONTRACT)

    assert text == f"{CONTRACT}: lacks ['server'], has [] besides"


@pytest.mark.parametrize("name", SCALAR_FIELDS)
def test_thrift_contract_has_the_right_types(name):
    value = SCALAR_FIELDS[name]
    kind = in_contract("FetchReport")[name][0]

    assert kind in WIRE_TYPES[value.type], f"{CONTRACT}, struct FetchReport: {name}"


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        ("FetchReport", RECORD_FIELDS),
        ("Hop", [part.name for part in dataclasses.fields(Hop)]),
    ],
)
def test_openapi_document_has_every_field(schema, names):
    found = DOCUMENT["components"]["schemas"][schema]["properties"]

    where = f"aragog/api/server/http/openapi/schemas.py, {schema}"
    assert not missing(names, found, where)


def outcomes(base: type = FetchRecord) -> list[type]:
    """The classes of outcomes."""
    return [each for sub in base.__subclasses__() for each in (sub, *outcomes(sub))]


@pytest.mark.parametrize("outcome", outcomes(), ids=lambda each: each.__name__)
def test_outcome_has_every_field_of_the_record(outcome):
    found = {part.name for part in dataclasses.fields(outcome)} & set(RECORD_FIELDS)

    assert not missing(RECORD_FIELDS, found, f"aragog/fetch_record/outcome.py, {outcome.__name__}")
