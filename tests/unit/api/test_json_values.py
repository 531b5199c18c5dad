"""Requests of operations as query parameters."""

import pytest

from aragog.api.json_values import from_query, to_query
from aragog.api.operations.crawling import GetFreshRequest
from aragog.api.operations.options import validate_options
from aragog.api.operations.values import EXTRAS
from aragog.api.server.http.openapi.document import DOCUMENT
from aragog.errors import BadInput

URL = "http://a.example/"


@pytest.mark.parametrize(
    ("ages", "text"),
    [
        ({"max_age_s": 60.0}, "60.0"),
        ({"field_max_age_s": {"a:b": 1.5, "c": 2.0}}, "a:b:1.5,c:2.0"),
        ({"max_age_s": 0.5, "field_max_age_s": {"c": 2.0}}, "0.5,c:2.0"),
    ],
)
def test_two_options_that_share_a_parameter_round_trip(ages, text):
    request = GetFreshRequest(URL, include=EXTRAS, **ages)

    query = to_query(request)

    assert query == {"url": URL, "max_age": text}
    assert from_query(GetFreshRequest, query) == request


@pytest.mark.parametrize("text", ["x", "1,2", ":5", "c:x", "c:-1", "c:nan", "-1", "c:"])
def test_invalid_age_is_refused(text):
    with pytest.raises(BadInput, match="max_age"):
        validate_options(from_query(GetFreshRequest, {"url": URL, "max_age": text}))


def test_parameters_that_select_another_operation_document_its_scope():
    parameters = {p["name"]: p for p in DOCUMENT["paths"]["/v1/urls"]["get"]["parameters"]}

    assert "field_max_age" not in parameters
    for name in ("max_age", "max_wait_ms"):
        assert parameters[name]["description"].endswith("Requires scope write.")
        assert not parameters[name]["required"]
