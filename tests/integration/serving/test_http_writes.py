"""Writing over HTTP: fields, conditions, formats that preserve their bytes, tokens, enqueuing."""

import json

import pytest

from aragog.api.server.http.server import listen
from aragog.api.server.http.services import Services
from aragog.api.server.tokens import new_token
from aragog.crawl.pipeline.enqueue_results import EnqueueResult, EnqueueStatus
from aragog.errors import ConfigError
from aragog.runtime.clock import ManualClock
from aragog.settings import ServingSettings, StoreSettings
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.store import UrlStore
from tests.support.api_server import running
from tests.support.stores import NOW_MS, store_harness
from zengraph.tables.memory import MemoryTables

A = "http://a.example/"
AT = f"/v1/urls?url={A}"
FORMATS = {
    "team.count": "integer",
    "team.price": "decimal",
    "team.tree.*": "json",
    "team.raw": "bytes",
}


@pytest.fixture
def harness():
    return store_harness(MemoryTables(), StoreSettings(field_formats=FORMATS))


@pytest.fixture
def api(harness):
    with running(harness.store) as server:
        yield server


def tick(harness):
    harness.clock.advance_ms(10)


def test_put_replaces_all_fields_and_patch_some(api, harness):
    assert api.ask("PUT", AT, {"fields": {"team.a": "1", "team.b": "2"}}).status == 200
    tick(harness)
    assert api.ask("PATCH", AT, {"fields": {"team.b": None, "team.c": "3"}}).status == 200
    patched = api.get(AT).json["fields"]
    tick(harness)
    assert api.ask("PUT", AT, {"fields": {"team.d": "4"}}).status == 200

    assert patched == {"team.a": "1", "team.c": "3"}
    assert api.get(AT).json["fields"] == {"team.d": "4"}


class _Hurried(UrlStore):
    """A store in which another client writes as soon as the new version can be known."""

    def put(self, url, fields, **options):
        version = super().put(url, fields, **options)
        if "team.mine" in fields:
            self.maintenance.clock.clock.advance_ms(1)
            super().put(url, {"team.a": b"theirs", "team.new": b"theirs"}, if_version=version)
        return version


def test_put_deletes_nothing_written_by_a_later_version():
    store = _Hurried(MemoryTables(), MemoryContent(), StoreSettings(), ManualClock(NOW_MS))
    with running(store) as api:
        api.ask("PUT", AT, {"fields": {"team.a": "1", "team.b": "2"}})
        store.maintenance.clock.clock.advance_ms(10)

        api.ask("PUT", AT, {"fields": {"team.mine": "3"}})

    assert store.get(A).fields == {
        "team.mine": b"3",
        "team.a": b"theirs",
        "team.new": b"theirs",
    }


@pytest.mark.parametrize("name", ["_", "", "\ud800"])
def test_invalid_field_name_is_refused_and_nothing_is_written(api, harness, name):
    harness.store.put(A, {"team.a": b"1"})
    tick(harness)

    body = json.dumps({"fields": {"team.a": "2", name: None}})
    refused = api.ask("PATCH", AT, body.encode())

    assert refused.status == 400
    assert harness.store.get(A).fields == {"team.a": b"1"}
    assert api.ask("DELETE", f"{AT}&fields=_").status == 400
    assert api.get(AT).json["fields"] == {"team.a": "1"}


def test_delete_removes_named_fields_or_the_record(api, harness):
    api.ask("PUT", AT, {"fields": {"team.a": "1", "team.b": "2"}})
    tick(harness)
    response = api.ask("DELETE", AT + "&fields=team.a")
    left = api.get(AT).json["fields"]
    tick(harness)
    whole = api.ask("DELETE", AT)

    assert (response.status, whole.status) == (204, 204)
    assert left == {"team.b": "2"}
    assert api.get(AT).status == 404
    assert api.ask("DELETE", AT + "&fields=").status == 400


def test_write_for_another_version_changes_nothing(api, harness):
    api.ask("PUT", AT, {"fields": {"team.a": "1"}})
    tag = api.get(AT).headers["etag"]
    tick(harness)
    taken = api.ask("PATCH", AT, {"fields": {"team.a": "2"}}, If_Match=tag)
    tick(harness)
    refused = api.ask("PATCH", AT, {"fields": {"team.a": "3"}}, If_Match=tag)
    new_only = api.ask("PUT", AT, {"fields": {"team.a": "4"}}, If_None_Match="*")

    assert (taken.status, refused.status, new_only.status) == (200, 412, 412)
    assert api.get(AT).json["fields"] == {"team.a": "2"}


@pytest.mark.parametrize(
    "headers",
    [
        {"If_Match": '"nope", {tag}'},
        {"If_Match": '"nope"\r\nIf-Match: {tag}'},
        {"If_Match": '{tag}\r\nIf-Match: "nope"'},
        {"If_Match": "{tag}, *"},
        {"If_Match": "W/{tag}"},
        {"If_Match": '"'},
        {"If_Match": ""},
        {"If_Match": "{tag}", "If_None_Match": "*"},
        {"If_None_Match": "{tag}"},
        {"If_None_Match": "*, {tag}"},
        {"If_None_Match": "*\r\nIf-None-Match: {tag}"},
        {"If_None_Match": ""},
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_unverifiable_precondition_is_an_error(api, method, headers):
    """Some were compared as one odd version and others were ignored, so the write happened."""
    api.ask("PUT", AT, {"fields": {"team.a": "1"}})
    tag = api.get(AT).headers["etag"]
    sent = {name: value.replace("{tag}", tag) for name, value in headers.items()}
    response = api.ask(method, AT, {"fields": {"team.a": "2"}}, **sent)

    assert response.status == 400
    assert "Match" in response.json["detail"]
    assert api.get(AT).json["fields"] == {"team.a": "1"}


def test_write_for_any_version_needs_a_record(api, harness):
    document = {"fields": {"team.a": "1"}}
    refused = [api.ask(m, AT, document, If_Match="*").status for m in ("PUT", "PATCH")]
    refused.append(api.ask("DELETE", AT, If_Match="*").status)
    unknown = api.get(AT).status
    api.ask("PUT", AT, document)
    tick(harness)
    taken = api.ask("PATCH", AT, {"fields": {"team.a": "2"}}, If_Match="*").status

    assert (refused, unknown, taken) == ([412] * 3, 404, 200)


@pytest.mark.parametrize(
    ("name", "value", "stored"),
    [
        ("team.count", 12345678901234567890123, b"12345678901234567890123"),
        ("team.price", "1.10", b"1.10"),
        ("team.tree.x", {"a": [1, None, "ü"]}, '{"a":[1,null,"ü"]}'.encode()),
        ("team.raw", {"base64": "/wA="}, b"\xff\0"),
        ("team.text", "7x", b"7x"),
        ("team.text", '"7x"', b'"7x"'),
        ("team.text", {"base64": "/w=="}, b"\xff"),
    ],
)
def test_value_is_read_back_as_put(api, harness, name, value, stored):
    import json

    response = api.ask("PUT", AT, json.dumps({"fields": {name: value}}).encode())

    assert response.status == 200
    assert harness.store.get(A).fields[name] == stored
    assert json.loads(api.get(AT).body)["fields"] == {name: value}


def test_bytes_that_do_not_fit_their_format_are_read_as_base64(api, harness):
    harness.store.put(A, {"team.count": b"many", "team.tree.x": b"{", "page.title": b'"J"'})

    assert api.get(AT).json["fields"] == {
        "team.count": {"base64": "bWFueQ=="},
        "team.tree.x": {"base64": "ew=="},
        "page.title": "J",
    }


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"fields": {"team.count": "5"}}, 400),
        ({"fields": {"team.count": True}}, 400),
        ({"fields": {"team.price": "cheap"}}, 400),
        ({"fields": {"team.raw": "x"}}, 400),
        ({"fields": {"team.text": 5}}, 400),
        ({"fields": {"team.text": {"base64": "%"}}}, 400),
        ({"fields": {"": "x"}}, 400),
        ({"fields": []}, 400),
        ({"fields": {}, "more": 1}, 400),
        (b'{"fields": {"team.tree.x": NaN}}', 400),
        (b'{"fields": {"team.text": "\\ud800"}}', 400),
        (b'{"fields": {"team.tree.x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}", 400),
        (b'{"fields": {"team.count": ' + b"9" * 5000 + b"}}", 400),
        (b'{"fields": {"team.count": 1e99999999999999999999}}', 400),
    ],
)
def test_unfit_value_is_refused_and_nothing_is_written(api, body, status):
    response = api.ask("PUT", AT, body)

    assert response.status == status
    assert api.get(AT).status == 404


def test_taken_down_url_is_refused(api, harness):
    harness.store.put(A, {"team.a": b"1"})
    tick(harness)
    harness.store.takedowns.take_down(url=A)
    tick(harness)

    assert api.ask("PUT", AT, {"fields": {"team.a": "1"}}).status == 403
    read = api.get(AT)
    assert (read.status, read.json["detail"]) == (403, f"{A}: was taken down")


def test_enqueue_returns_a_result_for_each_url(harness):
    calls = []

    def enqueue(urls, **options):
        calls.append((urls, options))
        yield EnqueueResult(urls[0], EnqueueStatus.ACCEPTED, A)
        yield EnqueueResult(urls[1], EnqueueStatus.INVALID, None, "no host")

    with running(harness.store, Services(enqueue=enqueue)) as api:
        response = api.ask(
            "POST", "/v1/enqueue", {"urls": [A, "x"], "priority": 0, "refresh": True}
        )
        wrong = [
            api.ask("POST", "/v1/enqueue", {"urls": [A], **options}).status
            for options in (
                {"priority": 10},
                {"depth": "1"},
                {"refresh": 1},
                {"run_after": -1},
                {"run_after": 10**15},
            )
        ]

    assert response.status == 202
    assert response.json["results"] == [
        {"input": A, "status": "accepted", "url": A, "reason": None},
        {"input": "x", "status": "invalid", "url": None, "reason": "no host"},
    ]
    assert calls == [([A, "x"], {"priority": 0, "refresh": True})]
    assert wrong == [400] * 5


def test_token_may_do_what_its_scopes_allow(harness):
    (reader, read), (writer, write) = new_token("r", ["read"]), new_token("w", ["write"])
    root, admin = new_token("a", ["admin"])

    def codes(api, token):
        bearer = {"Authorization": f"Bearer {token}"} if token else {}
        return [
            api.get("/v1/aliases?url=" + A, **bearer).status,
            api.ask("PUT", AT, {"fields": {"team.a": "1"}}, **bearer).status,
            api.get("/healthz", **bearer).status,
        ]

    with running(harness.store, tokens=(read, write, admin)) as api:
        statuses = [codes(api, token) for token in (None, "guess", reader, writer, root)]
        challenge = api.get(AT).headers["www-authenticate"]

    assert statuses == [
        [401, 401, 200],
        [401, 401, 200],
        [200, 403, 200],
        [403, 200, 200],
        [200, 200, 200],
    ]
    assert challenge.startswith("Bearer")
    assert reader not in read


def test_unknown_token_is_not_reported_as_missing(harness):
    _, entry = new_token("r", ["read"])

    with running(harness.store, tokens=(entry,)) as api:
        missing = api.get(AT)
        unknown = api.get(AT, Authorization="Bearer guess")

    assert missing.json["detail"] == "a bearer token is required"
    assert unknown.json["detail"] == "unknown token; see serving.tokens"
    # RFC 6750, 3.1
    assert 'error="invalid_token"' in unknown.headers["www-authenticate"]
    assert "error" not in missing.headers["www-authenticate"]


def test_api_off_loopback_does_not_start_without_a_token():
    with pytest.raises(ConfigError, match=r"serving\.tokens"):
        listen(ServingSettings(host="0.0.0.0", http_port=0))
    listen(
        ServingSettings(host="0.0.0.0", http_port=0, tokens=(new_token("r", ["read"])[1],))
    ).close()


def test_numbers_in_json_keep_their_digits(api, harness):
    api.ask(
        "PUT", AT, b'{"fields": {"team.tree.x": {"a": 1.10, "b": [1e2, 12345678901234567890123]}}}'
    )

    stored = b'{"a":1.10,"b":[1e2,12345678901234567890123]}'
    assert harness.store.get(A).fields["team.tree.x"] == stored
    assert stored in api.get(AT).body
