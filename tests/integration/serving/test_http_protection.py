"""Protection of the API: rates of tokens, TLS, the access log."""

import logging

import orjson
import pytest

from aragog.api.operations.scopes import READ
from aragog.api.problems import Problem
from aragog.api.server.http.server import listen
from aragog.api.server.tokens import TokenBucket, Tokens, new_token
from aragog.errors import ConfigError
from aragog.settings import ServingSettings
from tests.support.api_server import parsed, read_all, running
from tests.support.stores import store_harness
from tests.support.tls import authority, client_context
from zengraph.tables.memory import MemoryTables

A = "http://a.example/"
AT = f"/v1/urls?url={A}&include="


@pytest.fixture(scope="module")
def store():
    harness = store_harness(MemoryTables())
    harness.store.put(A, {"team.a": b"1"})
    return harness.store


def test_bucket_allows_its_rate_and_a_burst_of_one_second():
    bucket = TokenBucket(2.0)

    assert [bucket.take(10.0) for _ in range(3)] == [0.0, 0.0, 0.5]
    assert bucket.take(10.4) == pytest.approx(0.1)
    assert bucket.take(10.5) == 0.0
    assert [bucket.take(1000.0) for _ in range(3)] == [0.0, 0.0, 0.5], "no more than the burst"


def test_low_rate_still_allows_a_first_request():
    bucket = TokenBucket(0.1)

    assert bucket.take(0.0) == 0.0
    assert bucket.take(1.0) == pytest.approx(9.0)


def test_each_token_has_a_rate_shared_by_all_processes():
    (slow, slow_entry), (free, free_entry) = (
        new_token("slow", [READ], 4.0),
        new_token("free", [READ]),
    )
    tokens = Tokens((slow_entry, free_entry), processes=2, now_s=lambda: 5.0)

    assert [tokens.check(f"Bearer {slow}", READ) for _ in range(2)] == ["slow", "slow"]
    with pytest.raises(Problem) as refused:
        tokens.check(f"Bearer {slow}", READ)
    assert refused.value.status == 429
    assert refused.value.headers == {"Retry-After": "1"}
    assert {tokens.check(f"Bearer {free}", READ) for _ in range(100)} == {"free"}


@pytest.mark.parametrize("origin", [{}, {"Origin": "http://localhost"}])
def test_token_over_its_rate_gets_429_on_both_paths(store, origin):
    token, entry = new_token("slow", [READ], 0.001)
    bearer = {"Authorization": f"Bearer {token}", **origin}
    with running(store, tokens=(entry,)) as api:
        first, second = api.get_fast(AT, **bearer), api.get_fast(AT, **bearer)

    assert (first.status, second.status) == (200, 429)
    assert 900 < int(second.headers["retry-after"]) <= 1000
    assert second.json["status"] == 429


@pytest.fixture
def certificate(tmp_path):
    cert = authority().issue_cert("localhost")
    path = tmp_path / "api.pem"
    cert.private_key_and_cert_chain_pem.write_to_path(path)
    return path


def test_api_uses_https_with_a_certificate(store, certificate):
    with running(store, tls_cert_file=certificate) as api:
        with (
            api.connect() as plain,
            client_context().wrap_socket(plain, server_hostname="localhost") as sock,
        ):
            sock.sendall(
                f"GET {AT} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
            )
            ordinary = parsed(read_all(sock))
        with (
            api.connect() as plain,
            client_context().wrap_socket(plain, server_hostname="localhost") as sock,
        ):
            sock.sendall(f"GET {AT} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            fast = sock.recv(65_536)
            version = sock.version()
        with api.connect() as plain:
            plain.sendall(f"GET {AT} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            unencrypted = read_all(plain)

    assert ordinary.status == 200
    assert fast.startswith(b"HTTP/1.1 200 ")
    assert version in ("TLSv1.2", "TLSv1.3")
    assert b"200" not in unencrypted


def test_unusable_certificate_is_reported_at_startup(tmp_path, certificate):
    (tmp_path / "empty.pem").write_text("")

    for path in (tmp_path / "empty.pem", tmp_path / "missing.pem"):
        with pytest.raises(ConfigError, match=r"serving\.tls_cert_file"):
            listen(ServingSettings(http_port=0, tls_cert_file=path))
    listen(ServingSettings(http_port=0, tls_cert_file=certificate)).close()


@pytest.mark.parametrize("origin", [{}, {"Origin": "http://localhost"}])
def test_access_log_has_one_json_object_per_request(store, origin, caplog):
    token, entry = new_token("reader", [READ])
    caplog.set_level(logging.INFO, "aragog.access")
    with running(store, tokens=(entry,), access_log_share=1.0) as api:
        api.get_fast(AT, **origin, Authorization=f"Bearer {token}")
        api.get("/nowhere?x=1")

    lines = [
        orjson.loads(record.getMessage())
        for record in caplog.records
        if record.name == "aragog.access"
    ]
    assert [(line["method"], line["route"], line["status"], line["token"]) for line in lines] == [
        ("GET", "/v1/urls", 200, "reader"),
        ("GET", "none", 404, None),
    ]
    assert [line["target"] for line in lines] == [AT, "/nowhere?x=1"]
    assert all(line["ms"] > 0 and line["at"].endswith("Z") for line in lines)
    assert token not in caplog.text


def test_failures_are_always_in_the_access_log(caplog):
    class Broken:
        formats = None

        def __getattr__(self, name):
            raise OSError("no such store")

    caplog.set_level(logging.INFO, "aragog.access")
    with running(Broken(), access_log_share=1e-12) as api:
        codes = [
            api.get_fast(AT).status,
            api.get(f"/v1/aliases?url={A}").status,
            api.get("/").status,
        ]

    lines = [record for record in caplog.records if record.name == "aragog.access"]
    assert codes == [500, 500, 200]
    assert len(lines) == 2
