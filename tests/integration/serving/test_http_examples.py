"""The API examples match the server's responses and the schemas."""

import pytest
from jsonschema import Draft202012Validator

from aragog.api.server.http.openapi.document import DOCUMENT
from aragog.api.server.http.openapi.examples import EXAMPLES
from tests.api_examples import comparable, example_server, made

OPERATIONS = {
    operation["operationId"]: operation
    for methods in DOCUMENT["paths"].values()
    for operation in methods.values()
}
WITHOUT = {"getMetrics"}


@pytest.mark.redis
def test_example_responses_are_correct():
    with example_server() as server:
        answers = {name: made(server, example) for name, example in EXAMPLES.items()}

    expected = {name: (each.status, each.answer) for name, each in EXAMPLES.items()}
    for name, (status, answer) in answers.items():
        assert (status, comparable(answer)) == (expected[name][0], comparable(expected[name][1])), (
            name
        )


def test_each_operation_has_an_example():
    assert OPERATIONS.keys() - EXAMPLES.keys() == WITHOUT
    assert EXAMPLES.keys() <= OPERATIONS.keys()


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_is_valid_by_the_schemas_of_its_operation(name):
    operation, example = OPERATIONS[name], EXAMPLES[name]
    pairs = [
        (parameter["schema"], parameter["example"])
        for parameter in operation.get("parameters", ())
        if "example" in parameter
    ]
    if example.body is not None:
        pairs.append((schema_of(operation["requestBody"]), example.body))
    answered = operation["responses"][str(example.status)]
    if "application/json" in answered.get("content", {}):
        pairs.append((schema_of(answered), example.answer))

    assert [problem for pair in pairs for problem in problems(*pair)] == []
    assert {*example.path, *example.query} <= {
        each["name"] for each in operation.get("parameters", ())
    }


def schema_of(described):
    return described["content"]["application/json"]["schema"]


def problems(schema, value):
    whole = {"components": DOCUMENT["components"], **schema}
    return [error.message for error in Draft202012Validator(whole).iter_errors(value)]


def test_command_of_an_example_can_be_pasted_into_a_shell():
    command = EXAMPLES["put"].command("PATCH", "/v1/urls")

    assert command == (
        "curl -s -X PATCH \\\n  'http://127.0.0.1:8100/v1/urls?url=http://www.shop.test/p/brass-lamp' "
        """\\\n  --json '{"fields":{"team.score":"7","team.note":null}}'"""
    )
