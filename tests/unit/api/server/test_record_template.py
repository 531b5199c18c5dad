"""Replies encoded by a template are compatible with thriftpy2."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from thriftpy2.protocol import TCyBinaryProtocol
from thriftpy2.transport import TCyMemoryBuffer

from aragog.api.server.thrift import record_template
from aragog.api.server.thrift.contract import idl
from aragog.api.server.thrift.encoded_reads import check_names
from aragog.urlstore.records import FieldValues

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.just("%b%%s%d")
VALUES = st.none() | st.binary(max_size=40) | st.just(b"%b%%") | st.just(b"x" * 5000)
NAMED = st.dictionaries(TEXTS, VALUES, max_size=5)


def decoded(data: bytes, kind: type) -> object:
    """Decodes the struct at the start of these bytes."""
    value = kind()
    TCyBinaryProtocol(TCyMemoryBuffer(data)).read_struct(value)
    return value


def expected(url: str, canonical: str, named: dict[str, bytes | None], *, standby: bool) -> object:
    """The same record as a struct of the contract, with values as thriftpy2 decodes them."""
    present = {name: value for name, value in named.items() if value is not None}
    return idl.Record(url, canonical, present, b"version", from_standby=standby or None)


def binary(record: idl.Record) -> object:
    """Converts values back to bytes: thriftpy2 decodes binary values that are UTF-8 as text."""
    record.fields = {
        name: value.encode() if isinstance(value, str) else value
        for name, value in record.fields.items()
    }
    record.version = record.version.encode() if isinstance(record.version, str) else record.version
    return record


@given(TEXTS, TEXTS, NAMED, st.booleans())
def test_record_round_trips(
    url: str, canonical: str, named: dict[str, bytes | None], standby: bool
) -> None:
    values = FieldValues(url, canonical, b"version", tuple(named.values()))
    expected_record = expected(url, canonical, named, standby=standby)
    data = record_template.encode_record(values, tuple(named), from_standby=standby)
    assert binary(decoded(data, idl.Record)) == expected_record
    [result] = record_template.encode_results([values], tuple(named), b"", from_standby=standby)
    read = decoded(result, idl.RecordResult)
    assert (read.status, binary(read.record)) == (idl.ItemStatus.OK, expected_record)


def test_further_members_follow_the_fields() -> None:
    values = FieldValues("http://a.test/", "http://a.test/", b"version", (b"1",))
    more = idl.Record(facts={"status": "200"}, due_at_ms=5)
    reply = record_template.encode_get(values, ("n",), extra_members=more)
    read = decoded(bytes(reply)[3:], idl.Record)
    assert (read.facts, read.due_at_ms) == ({"status": "200"}, 5)


def test_missing_record_has_a_status_and_a_message() -> None:
    read = decoded(
        record_template.encode_missing(idl.ItemStatus.NOT_FOUND, "no ü"), idl.RecordResult
    )
    assert (read.status, read.message, read.record) == (idl.ItemStatus.NOT_FOUND, "no ü", None)


def test_repeated_field_is_sent_once() -> None:
    assert check_names(["a", "b", "a"]) == ("a", "b")
