"""Problems that doctor finds in a published key directory."""

from __future__ import annotations

import time
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from aragog.crawl.identity.directory_check import directory_problems
from aragog.crawl.identity.keys import new_key, rotate_keys
from aragog.crawl.identity.published_files import (
    DIRECTORY_COMPONENTS,
    DIRECTORY_TAG,
    SIGNATURE_LIFETIME_S,
    key_directory,
)
from aragog.crawl.identity.request_signer import signature_fields
from aragog.crawl.identity.signature_base import SignedMessage
from tests.support.signatures import AGENT

DAY_S = 86_400
NOW_S = int(time.time())


@pytest.fixture
def keys():
    return rotate_keys([new_key(0)], new_key(NOW_S + DAY_S), NOW_S, DAY_S)


def problems(file, keys, now_s=NOW_S, agent=AGENT, **headers):
    received = {name.lower(): value for name, value in file.headers.items()}
    received |= {name.replace("_", "-"): value for name, value in headers.items()}
    return list(directory_problems(agent, file.body, received, keys, now_s))


def test_complete_signed_directory_has_no_problem(keys):
    assert problems(key_directory(AGENT, keys, NOW_S), keys) == []


def test_missing_and_unknown_keys_are_reported(keys):
    first, second = keys
    first_directory = key_directory(AGENT, [first], NOW_S)

    assert problems(first_directory, keys) == [
        f"it lacks the key {second.thumbprint}, which signs soon; publish it"
    ]
    assert problems(key_directory(AGENT, [second], NOW_S), keys) == [
        f"it lacks the key {first.thumbprint}, which signs now; publish it"
    ]
    other_key = new_key(0)
    assert problems(first_directory, [replace(first, end_s=None), other_key])[0].startswith(
        f"it lacks the key {other_key.thumbprint}"
    )
    assert problems(key_directory(AGENT, keys, NOW_S), [replace(first, end_s=None)]) == [
        f"it contains the key {second.thumbprint}, which is not in the key file; remove it"
    ]


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"keys": 5}', b'{"keys": [5]}', b"{}"])
def test_malformed_key_set_is_reported(keys, body):
    file = replace(key_directory(AGENT, keys, NOW_S), body=body)

    assert problems(file, keys) == ["it is not a JSON Web Key Set"]


def test_signature_with_the_tag_of_requests_does_not_count():
    key = new_key(0)
    file, url = key_directory(AGENT, [key], NOW_S), urlsplit(AGENT)
    response = SignedMessage(
        status=200,
        fields={"content-digest": file.headers["Content-Digest"]},
        request=SignedMessage(method="GET", authority=url.netloc, path=url.path),
    )

    def problems_with(tag):
        parameters = {
            "created": NOW_S, "expires": NOW_S + SIGNATURE_LIFETIME_S, "keyid": key.thumbprint, "tag": tag
        }  # fmt: skip
        fields = signature_fields(key, response, DIRECTORY_COMPONENTS, parameters, "sig1")
        return problems(replace(file, headers={**file.headers, **fields}), [key])

    assert problems_with(DIRECTORY_TAG) == []
    assert problems_with("web-bot-auth") == [
        f"it has no valid signature by its key {key.thumbprint}"
    ]


def test_wrong_type_is_reported(keys):
    file = key_directory(AGENT, keys, NOW_S)

    (problem,) = problems(file, keys, content_type="text/plain; charset=utf-8")

    assert problem.startswith("its content type must be application/http-message")


@pytest.mark.parametrize(
    ("headers", "problem"),
    [
        ({"content_digest": "sha-256=:AAAA:"}, "its Content-Digest does not match its body"),
        ({"signature": ""}, "it has no valid signature by its key"),
        ({"signature": "sig1=:AAAA:, sig2=5"}, "it has no valid signature by its key"),
        ({"signature_input": "sig1=("}, "it has no valid signature by its key"),
        ({"signature_input": 'sig1=();tag="x"'}, "it has no valid signature by its key"),
    ],
)
def test_missing_or_invalid_signatures_are_reported(keys, headers, problem):
    found = problems(key_directory(AGENT, keys, NOW_S), keys, **headers)

    assert found
    assert all(each.startswith(problem) for each in found)


def test_signatures_for_another_host_are_invalid(keys):
    file = key_directory("https://other.test/keys", keys, NOW_S)

    assert all("no valid signature" in each for each in problems(file, keys))
    assert len(problems(file, keys)) == 2


def test_expiring_signatures_are_reported(keys):
    file = key_directory(AGENT, keys[:1], NOW_S)
    keys = [replace(keys[0], end_s=None)]
    expires_s = NOW_S + SIGNATURE_LIFETIME_S

    assert problems(file, keys, expires_s - 8 * DAY_S) == []
    (soon,) = problems(file, keys, expires_s - 2 * DAY_S)
    assert "expires in 2.0 days" in soon
    (over,) = problems(file, keys, expires_s + 1)
    assert "has expired" in over
