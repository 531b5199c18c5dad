"""
The data that the API publishes about the crawler, and the doctor's check of the signing keys in it.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from aragog.api.server.http.services import Services
from aragog.api.server.tokens import new_token
from aragog.cli.doctor.configuration import check_identity
from aragog.cli.doctor.finding import CheckedSystem
from aragog.crawl.identity.keys import new_key, read_keys, rotate_keys, write_keys
from aragog.crawl.identity.published_files import Publication
from aragog.errors import ConfigError
from aragog.runtime.clock import ManualClock
from aragog.settings import FetchSettings, Settings
from aragog.settings.in_use import SettingsInUse
from tests.support.api_server import running
from tests.support.origin import Origin, page, redirect
from tests.support.signatures import AGENT, Sent, identity, verified_by
from tests.support.stores import store_harness
from tests.support.tls import authority, server_context
from zengraph.tables.memory import MemoryTables

PATH = "/.well-known/http-message-signatures-directory"
TAG = "http-message-signatures-directory"


@pytest.fixture
def settings(tmp_path):
    fetch = FetchSettings(user_agent="examplebot/1.0 (+https://example.com/bot)")
    proof = identity(tmp_path, networks=("203.0.113.0/28",))
    return Settings(data_dir=tmp_path, fetch=fetch, identity=proof)


def serving(settings, clock=None, **options):
    services = Services(publication=Publication(settings, clock))
    store = store_harness(MemoryTables()).store
    return running(store, services, allowed_hosts=("bot.test",), **options)


def test_directory_page_and_addresses_are_public(settings):
    _, entry = new_token("reader", ("read",), None)
    with serving(settings, tokens=(entry,)) as api:
        directory = api.get(PATH, Host="bot.test")
        bot_page = api.get("/bot.html", Host="bot.test")
        addresses = api.get("/addresses.json", Host="bot.test")
        again = api.get(PATH, Host="bot.test", If_None_Match=directory.headers["etag"])
        lines = f'"other"\r\nIf-None-Match: {directory.headers["etag"]}'
        second_line = api.get(PATH, Host="bot.test", If_None_Match=lines)
        head = api.ask("HEAD", PATH, Host="bot.test")
        others = api.get("/v1/urls?url=http://a.test/", Host="bot.test")

    received = SimpleNamespace(
        status_code=200, headers=directory.headers, request=Sent("GET", AGENT, {})
    )
    keys = directory.json["keys"]
    assert [key["kid"] for key in keys] == [read_keys(settings.identity.key)[0].thumbprint]
    assert len(verified_by(keys, received, TAG)) == 1
    assert directory.headers["content-type"] == f"application/{TAG}+json"
    assert b"<title>examplebot</title>" in bot_page.body
    assert addresses.json["prefixes"] == [{"ipv4Prefix": "203.0.113.0/28"}]
    assert (again.status, again.body) == (304, b"")
    assert second_line.status == 304
    assert (head.status, head.body) == (200, b"")
    assert others.status == 401


def test_nothing_is_published_unless_configured():
    with running(store_harness(MemoryTables()).store) as api:
        assert [api.get(path).status for path in (PATH, "/bot.html")] == [404, 404]


def test_rotated_key_is_published_within_30_seconds_and_signatures_renewed(settings):
    clock = ManualClock(int(time.time() * 1000))
    publication = Publication(settings, clock)
    first = publication.files()[PATH]
    now_s = clock.now_ms() // 1000
    keys = rotate_keys(read_keys(settings.identity.key), new_key(now_s + 99), now_s, 99)
    write_keys(settings.identity.key, keys, overwrite=True)

    clock.advance_ms(30_000)
    second = publication.files()[PATH]
    clock.advance_ms(1_000)
    assert publication.files()[PATH] is second
    clock.advance_ms(3_600_000)
    third = publication.files()[PATH]

    counts = [len(json.loads(file.body)["keys"]) for file in (first, second, third)]
    assert counts == [1, 2, 1]
    assert f"created={clock.now_ms() // 1000}" in third.headers["Signature-Input"]


@pytest.fixture
def trusted(tmp_path, monkeypatch):
    """Trusts the certificates of this test like those of the system."""
    authority().cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))


def findings(settings, address):
    fetch = replace(settings.fetch, host_map={"bot.test": address})
    checked = CheckedSystem(SettingsInUse(replace(settings, fetch=fetch)))
    return {(finding.part, finding.ok): finding.text for finding in check_identity(checked)}


def test_doctor_finds_the_signing_keys_at_the_announced_address(settings, trusted, tmp_path):
    certificate = authority().issue_cert("bot.test")
    certificate.private_key_and_cert_chain_pem.write_to_path(tmp_path / "server.pem")
    with serving(settings, tls_cert_file=tmp_path / "server.pem") as api:
        good = findings(settings, f"127.0.0.1:{api.port}")
        stranger = replace(settings, identity=identity(tmp_path / "x"))
        wrong = findings(stranger, f"127.0.0.1:{api.port}")

    assert "publishes these keys, with valid signatures" in good["identity.agent", True]
    assert "signs requests; 1 keys are published" in good["identity.key", True]
    assert ("identity.agent", False) not in good
    assert "which is not in the key file; remove it" in wrong["identity.agent", False]


@pytest.mark.parametrize(
    ("handlers", "problem"),
    [
        ({}, "cannot be fetched (Gone: 404"),
        ({PATH: redirect("/moved"), "/moved": page(b"x")}, "is a redirect, which verifiers do not"),
        ({PATH: page(b"<p>hello")}, "it is not a JSON Web Key Set"),
    ],
)
def test_doctor_reports_why_a_directory_is_unusable(settings, trusted, handlers, problem):
    with Origin(handlers, tls=server_context("bot.test")) as origin:
        found = findings(settings, origin.address)

    assert problem in found["identity.agent", False]
    assert "aragog identity files" in found["identity.agent", False]


def test_doctor_checks_nothing_without_a_key_and_reports_a_bad_file(settings):
    without = CheckedSystem(SettingsInUse(Settings()))
    settings.identity.key.chmod(0o644)

    assert list(check_identity(without)) == []
    with pytest.raises(ConfigError, match="chmod 600"):
        list(check_identity(CheckedSystem(SettingsInUse(settings))))
