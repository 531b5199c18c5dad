"""Checks of `aragog doctor` within a time limit."""

import socket
import threading

import pytest

from aragog.cli.doctor.configuration import check_listeners, check_tracing
from aragog.cli.doctor.egress import check_egress
from aragog.cli.doctor.finding import CheckedSystem, Finding, run_checks
from aragog.errors import StoreUnavailable
from aragog.settings import (
    EgressSettings,
    FetchSettings,
    ServingSettings,
    Settings,
    TracingSettings,
    WaySettings,
)
from aragog.settings.in_use import SettingsInUse
from tests.support.proxies import free_port

FINE = Finding("fine", ok=True, text="works")


@pytest.fixture
def system(tmp_path):
    return CheckedSystem(SettingsInUse(Settings(data_dir=tmp_path)))


def check_fine(system):
    yield FINE


def test_tracing_is_checked_only_if_enabled(tmp_path):
    traced = Settings(data_dir=tmp_path, tracing=TracingSettings(enabled=True, sample_ratio=0.05))

    assert list(check_tracing(CheckedSystem(SettingsInUse(Settings(data_dir=tmp_path))))) == []
    (finding,) = check_tracing(CheckedSystem(SettingsInUse(traced)))
    assert finding.ok
    assert "traces of 5% of the URLs go to http" in finding.text


def test_port_used_by_another_program_is_found_before_startup(tmp_path):
    """Regression: the program listening there was mistaken for the system, which had not started yet."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        settings = Settings(
            data_dir=tmp_path, serving=ServingSettings(http_port=port, thrift_port=0)
        )

        found = check_listeners(CheckedSystem(SettingsInUse(settings), should_run=False))
        (http,) = [finding for finding in found if finding.part == "HTTP"]

    assert not http.ok
    assert http.text.startswith(f"another program uses 127.0.0.1:{port}: stop it, or set serving.")


def test_hanging_check_is_named_and_the_others_run(system):
    released = threading.Event()

    def check_slow_server(system):
        yield FINE
        released.wait()

    findings, hung = run_checks((check_slow_server, check_fine), system, 0.2)
    released.set()

    assert hung
    assert findings[0] == findings[2] == FINE
    assert (findings[1].part, findings[1].ok) == ("slow_server", False)
    assert "no result within 0.2 s" in findings[1].text


def test_server_error_becomes_a_finding(system):
    def check_store(system):
        yield FINE
        raise StoreUnavailable("PostgreSQL", "does not answer")

    findings, hung = run_checks((check_store, check_fine), system, 60)

    assert not hung
    assert [finding.ok for finding in findings] == [True, False, True]


def test_bug_in_a_check_is_not_hidden(system):
    def check_broken(system):
        raise ZeroDivisionError
        yield FINE

    with pytest.raises(ZeroDivisionError):
        run_checks((check_broken,), system, 60)


def test_egress_routes_are_checked_without_sending_requests(tmp_path, monkeypatch):
    monkeypatch.delenv("NO_LOGIN", raising=False)
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        url = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        ways = {
            "good": WaySettings(proxy=url),
            "locked": WaySettings(proxy=url, login="env:NO_LOGIN"),
            "dead": WaySettings(proxy=f"socks5://127.0.0.1:{free_port()}"),
            "here": WaySettings(addresses=("127.0.0.1",)),
            "moved": WaySettings(addresses=("192.0.2.7",)),
        }
        settings = Settings(
            data_dir=tmp_path,
            egress=EgressSettings(ways),
            fetch=FetchSettings(proxy=url.replace("//", "//me:s3cret@")),
        )

        found = {each.part: each for each in check_egress(CheckedSystem(SettingsInUse(settings)))}

    assert {part: each.ok for part, each in found.items()} == {
        "egress.ways.good": True,
        "egress.ways.locked": False,
        "egress.ways.dead": False,
        "egress.ways.here": True,
        "egress.ways.moved": False,
        "fetch.proxy": True,
    }
    assert "NO_LOGIN" in found["egress.ways.locked"].text
    assert "s3cret" not in str(found)
