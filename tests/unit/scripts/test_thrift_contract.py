"""A new field of the fetch record is added to the Thrift contract."""

from aragog.fetch_record.outcome import SCALAR_FIELDS, FetchRecord, ScalarField
from scripts.thrift_contract import CONTRACT, docstrings, with_new_fields

TEXT = CONTRACT.read_text(encoding="utf-8")


def test_complete_contract_is_unchanged():
    assert with_new_fields(TEXT, SCALAR_FIELDS, docstrings(FetchRecord)) == TEXT


def test_new_field_is_appended_with_the_next_number_and_its_docstring():
    values = {**SCALAR_FIELDS, "server": ScalarField(str, True), "tries": ScalarField(int, False)}

    added = with_new_fields(TEXT, values, {"server": "The Server header."})

    struct = added[added.index("struct FetchReport {") :].partition("\n}")[0]
    assert struct.endswith(
        "  25: optional string way\n"
        "  /** The Server header. */\n  26: optional string server\n  27: i64 tries"
    )
    assert len(added.splitlines()) == len(TEXT.splitlines()) + 3


def test_every_field_has_a_docstring_for_its_comment():
    assert docstrings(FetchRecord)["address"] == "The IP address of the last server."
