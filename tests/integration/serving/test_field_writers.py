"""Fields that only certain tokens may write (`serving.field_writers`), over HTTP and Thrift."""

import pytest

from aragog.api.operations.scopes import ADMIN, READ, WRITE
from aragog.api.server.tokens import new_token
from aragog.errors import ConfigError
from aragog.runtime.clock import ManualClock
from aragog.settings import load_settings
from tests.support import api_server
from tests.support.stores import store_harness
from tests.support.thrift_server import running
from zengraph.tables.memory import MemoryTables

A, B = "http://a.example/", "http://b.example/"
TEAM, TEAM_ENTRY = new_token("team", [READ, WRITE])
OTHER, OTHER_ENTRY = new_token("other", [READ, WRITE])
OPS, OPS_ENTRY = new_token("ops", [ADMIN])
SERVER_SETTINGS = {
    "tokens": (TEAM_ENTRY, OTHER_ENTRY, OPS_ENTRY),
    "field_writers": {"team.*": "team+ops", "team.open.*": "team+other", "page.title": "ops"},
}


@pytest.fixture
def store():
    a_store = store_harness(MemoryTables(ManualClock())).store
    a_store.put(A, {"team.a": b"1", "team.open.b": b"2", "free": b"3"})
    a_store.put(B, {"free": b"3"})
    return a_store


@pytest.fixture
def api(store):
    with api_server.running(store, **SERVER_SETTINGS) as api:
        yield api


def request(api, method, path, token, fields=None):
    body = None if fields is None else {"fields": fields}
    return api.ask(method, path, body, Authorization=f"Bearer {token}")


def test_field_can_be_written_only_by_its_writers(api, store):
    path = f"/v1/urls?url={A}"

    assert request(api, "PATCH", path, TEAM, {"team.a": "x", "free": "y"}).status == 200
    assert request(api, "PATCH", path, OPS, {"page.title": "T"}).status == 200
    assert request(api, "PATCH", path, OTHER, {"team.open.b": "z", "new": "n"}).status == 200
    refused = request(api, "PATCH", path, OTHER, {"team.a": "stolen", "free": "stolen"})

    assert refused.status == 403
    assert refused.json["detail"] == (
        "team.a may be written only by the tokens ops and team (serving.field_writers)"
    )
    fields = store.get(A).fields
    assert (fields["team.a"], fields["free"], fields["team.open.b"]) == (b"x", b"y", b"z")


@pytest.mark.parametrize(
    ("method", "query", "fields"),
    [
        ("PATCH", "", {"team.a": None}),
        ("PUT", "", {"free": "1"}),
        ("DELETE", "", None),
        ("DELETE", "&fields=free,team.a", None),
    ],
)
def test_field_can_be_deleted_only_by_its_writers(api, store, method, query, fields):
    before = store.get(A).fields

    assert request(api, method, f"/v1/urls?url={A}{query}", OTHER, fields).status == 403
    assert store.get(A).fields == before
    assert request(api, method, f"/v1/urls?url={A}{query}", TEAM, fields).status in (200, 204)
    assert "team.a" not in (store.get(A).fields if store.get(A) else {})


def test_record_without_restricted_fields_can_be_written_by_any_token(api, store):
    assert request(api, "PUT", f"/v1/urls?url={B}", OTHER, {"more": "1"}).status == 200
    assert request(api, "DELETE", f"/v1/urls?url={B}", OTHER).status == 204
    assert store.get(B) is None


def test_thrift_refuses_the_same_writes(store, apache):
    types = apache.types
    with running(store, **SERVER_SETTINGS) as server, apache.client(server.port) as client:
        client.authenticate(OTHER)
        for write in (
            lambda: client.put(A, {"team.a": b"stolen"}, types.PutOptions()),
            lambda: client.deleteFields(A, ["team.a"], types.CallOptions()),
            lambda: client.remove(A, types.CallOptions()),
        ):
            with pytest.raises(types.Unauthorized, match="only by the tokens ops and team"):
                write()
        client.put(A, {"team.open.b": b"4"}, types.PutOptions())
        client.authenticate(TEAM)
        client.put(A, {"team.a": b"5"}, types.PutOptions())

    assert store.get(A).fields == {"team.a": b"5", "team.open.b": b"4", "free": b"3"}


def test_unknown_token_in_field_writers_is_refused_at_startup():
    with pytest.raises(ConfigError, match=r"serving\.field_writers: team\.\*: .* named 'nobody'"):
        load_settings(environ={"ARAGOG_SERVING__FIELD_WRITERS": "team.*=nobody"})


@pytest.mark.parametrize(
    "name",
    [
        "TEAM.a", "Team.a", "team.a ", " team.a", "team．a", "tеam.a", "teаm.x", "page.tit1e",
        "page.titIe", "pagе.title", "ｐage.title", "page.title\ufe0f", "page.ti\u034ftle",
    ],
)  # fmt: skip
def test_field_name_that_resembles_an_owned_field_is_refused(api, store, name):
    before = store.get(A).fields

    assert request(api, "PATCH", f"/v1/urls?url={A}", OTHER, {name: "stolen"}).status in (400, 403)
    assert store.get(A).fields == before
