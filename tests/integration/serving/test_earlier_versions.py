"""Earlier versions of a page's content, by time: HTTP, Thrift, client and command."""

from contextlib import closing, contextmanager
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner

from aragog.bootstrap.stores import url_store
from aragog.cli import main
from aragog.client import connect
from aragog.errors import BadInput
from aragog.runtime.clock import ManualClock
from aragog.settings import load_settings
from tests.support import api_server, thrift_server
from tests.support.pack_harness import fetched

URL = "http://a.example/"
DAY_MS = 86_400_000
FIRST_MS = int(datetime(2026, 11, 1, tzinfo=UTC).timestamp() * 1000)
KEPT = 2
VERSIONS = [f"text of day {day}" for day in range(4)]


@pytest.fixture
def store(tmp_path, monkeypatch):
    """
    A page with a different body on each of four days; the last and the two before it are kept.
    """
    monkeypatch.setenv("ARAGOG_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("ARAGOG_SETTINGS", "")
    monkeypatch.setenv("ARAGOG_CONTENT__KEEP_VERSIONS", str(KEPT))
    monkeypatch.delenv("CELERY_BROKER_URL", raising=False)
    clock = ManualClock(FIRST_MS + 4 * DAY_MS)
    with closing(url_store(load_settings(), clock)) as opened:
        for day, text in enumerate(VERSIONS):
            opened.write_pages([fetched(URL, text, FIRST_MS + day * DAY_MS)])
        yield opened


def at(day):
    """Noon of a day."""
    return FIRST_MS + day * DAY_MS + DAY_MS // 2


EXPECTED = {-1: None, 0: None, 1: VERSIONS[1], 2: VERSIONS[2], 3: VERSIONS[3], 9: VERSIONS[3]}


def test_http_returns_the_version_at_a_time(store):
    with api_server.running(store) as server:
        for day, text in EXPECTED.items():
            reply = server.get(f"/v1/content?url={URL}&at_ms={at(day)}")
            assert (reply.status == 200) == (text is not None)
            assert text is None or reply.body == text.encode()
        assert server.get(f"/v1/content?url={URL}").body == VERSIONS[3].encode()
        refused = server.get(f"/v1/content?url={URL}&at_ms={at(2)}&as=text")
        assert refused.status == 400
        assert b"at_ms" in refused.body
        assert server.get(f"/v1/content?url={URL}&at_ms=-1").status == 400


@contextmanager
def served(kind, store):
    if kind == "thrift":
        with thrift_server.running(store) as server:
            yield f"thrift://127.0.0.1:{server.port}"
    else:
        with api_server.running(store) as server:
            yield f"http://127.0.0.1:{server.port}"


@pytest.mark.parametrize("kind", ["http", "thrift"])
def test_client_reads_the_version_at_a_time(store, kind):
    with served(kind, store) as address, connect(address) as client:
        for day, text in EXPECTED.items():
            found = client.content(URL, at_ms=at(day))
            assert found == (text and text.encode())
        with pytest.raises(BadInput, match="at_ms"):
            client.content(URL, at_ms=at(2), form="text")


def test_command_prints_the_version_of_a_day(store):
    store.close()
    for day in range(4):
        moment = datetime.fromtimestamp(at(day) / 1000, UTC)
        ran = CliRunner().invoke(main, ["content", URL, "--at", f"{moment:%Y-%m-%dT%H:%M:%S}"])
        if EXPECTED[day] is None:
            assert ran.exit_code not in (0, 2)
            assert "no stored content" in ran.output
        else:
            assert (ran.exit_code, ran.output) == (0, EXPECTED[day])
    # A day means its first instant, and a fetch at that instant counts.
    assert CliRunner().invoke(main, ["content", URL, "--at", "2026-11-03"]).output == VERSIONS[2]
    assert CliRunner().invoke(main, ["content", URL, "--at", "yesterday"]).exit_code == 2


def test_versions_of_a_taken_down_page_are_not_returned(store):
    store.takedowns.take_down(url=URL)
    with api_server.running(store) as server:
        reply = server.get(f"/v1/content?url={URL}&at_ms={at(2)}")

    assert reply.status == 403
    assert VERSIONS[2].encode() not in reply.body
