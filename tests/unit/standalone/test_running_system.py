"""Processes of a data folder use the settings of the system running there."""

import logging
import os
import stat
import subprocess
import sys

import pytest

from aragog.client import Aragog
from aragog.settings import build_settings, load_settings, plain
from aragog.settings.in_use import process_settings, settings_in_use
from aragog.standalone.running_system import record_settings
from aragog.standalone.supervisor import Supervisor


def environ(folder, **variables):
    given = {f"ARAGOG_{name}": value for name, value in variables.items()}
    return {"ARAGOG_DATA_DIR": str(folder), **given}


@pytest.fixture
def started(tmp_path):
    """A function that starts the supervisor of the folder with the given variables."""
    supervisor = Supervisor(tmp_path, {})

    def start(**variables):
        supervisor.acquire()
        record_settings(load_settings(environ=environ(tmp_path, **variables)))
        return supervisor

    yield start
    supervisor.stop()


def test_command_uses_the_settings_of_the_running_system(started, tmp_path):
    started(FETCH__USER_AGENT="examplebot", FETCH__HOST_MAP="*.test=127.0.0.1:8001")

    found = settings_in_use(environ(tmp_path))

    assert found.settings.fetch.user_agent == "examplebot"
    assert found.settings.fetch.host_map == {"*.test": "127.0.0.1:8001"}
    assert found.differing == ()
    assert found.running


def test_differing_settings_are_listed(started, tmp_path):
    started(FETCH__USER_AGENT="examplebot", POLITENESS__QPS="5")

    found = settings_in_use(
        environ(tmp_path, FETCH__USER_AGENT="other", POLITENESS__QPS="5.0", FETCH__COOKIES="no")
    )

    assert found.settings.fetch.user_agent == "examplebot"
    assert found.differing == ("fetch.user_agent",)


def test_own_settings_are_used_after_the_system_ends(started, tmp_path):
    started(FETCH__USER_AGENT="examplebot").stop()

    found = settings_in_use(environ(tmp_path, FETCH__USER_AGENT="own"))

    assert found.settings.fetch.user_agent == "own"
    assert (found.running, found.differing) == (None, ())


def test_path_given_from_another_folder_is_the_same_file(started, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    started(SITE_RULES_FILE="rules.toml")
    monkeypatch.chdir("/")

    found = settings_in_use(environ(tmp_path))

    assert found.settings.site_rules_file == tmp_path / "rules.toml"


def test_blocked_hosts_are_read_from_the_current_settings_file(started, tmp_path, monkeypatch):
    file = tmp_path / "aragog.toml"
    monkeypatch.setenv("ARAGOG_SETTINGS", str(file))
    file.write_text('[politeness]\nblocked_hosts = ["a.test"]\n')
    started(SETTINGS=str(file))
    file.write_text('[politeness]\nblocked_hosts = ["b.test"]\n')

    found = settings_in_use(environ(tmp_path, SETTINGS=str(file)))

    assert found.settings.politeness.blocked_hosts == ("b.test",)
    assert found.differing == ()


def test_record_is_readable_only_by_its_owner_and_keeps_secrets(started, tmp_path):
    started(REDIS__URL="redis://:hidden@127.0.0.1:1/0", BROKER__URL="amqp://u:hidden@127.0.0.1")

    file = tmp_path / "run" / "settings.json"
    found = settings_in_use(environ(tmp_path))

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert found.settings.redis.url == "redis://:hidden@127.0.0.1:1/0"
    assert "hidden" not in repr(found)


def test_settings_round_trip_as_a_table(tmp_path):
    settings = load_settings(
        environ=environ(
            tmp_path,
            FETCH__BASIC_AUTH="https://a.test=user:word",
            FETCH__ALLOWED_PORTS="80,8080",
            CRAWL_LOG__FOLDER="/tmp/log",
            STANDALONE__REDIS_MAX_MEMORY_BYTES="50000000",
            FETCH__PROXY="http://me:word@127.0.0.1:3128",
        )
    )

    assert build_settings(plain(settings)) == settings
    assert build_settings({}) == build_settings(plain(build_settings({})))


def test_producer_uses_the_settings_of_the_running_system(started, tmp_path, monkeypatch, caplog):
    """Regression: it used its own, and its URLs silently went to another Redis."""
    started(REDIS__PREFIX="theirs", POLITENESS__QPS="5")
    for name, value in environ(tmp_path, POLITENESS__QPS="7").items():
        monkeypatch.setenv(name, value)

    with Aragog() as first, Aragog() as second:
        used = [each._settings for each in (first, second)]

    assert [settings.redis.prefix for settings in used] == ["theirs", "theirs"]
    (warning,) = [each for each in caplog.records if each.levelno == logging.WARNING]
    assert f"runs in {tmp_path} (process {os.getpid()}) with other values of politeness.qps, " in (
        warning.getMessage()
    )


def test_demo_hosts_added_to_a_map_are_not_a_difference(started, tmp_path, monkeypatch, caplog):
    """Regression: commands reported that their map was ignored, but it was in use."""
    mine = "my.test=127.0.0.1:8080"
    started(FETCH__HOST_MAP=f"*.test=127.0.0.1:9999,{mine}")
    monkeypatch.setenv("ARAGOG_DATA_DIR", str(tmp_path))

    monkeypatch.setenv("ARAGOG_FETCH__HOST_MAP", mine)
    assert process_settings().fetch.host_map["*.test"] == "127.0.0.1:9999"
    assert not caplog.records

    monkeypatch.setenv("ARAGOG_FETCH__HOST_MAP", f"{mine},other.test=127.0.0.1:8081")
    process_settings()
    assert "other values of fetch.host_map" in caplog.text


def test_settings_of_one_process_are_its_own(started, tmp_path, monkeypatch, caplog):
    started(LOGS__LEVEL="WARNING", FETCH__USER_AGENT="examplebot")
    for name, value in environ(tmp_path, LOGS__LEVEL="DEBUG", SERVING__HTTP_PORT="9001").items():
        monkeypatch.setenv(name, value)

    settings = process_settings()

    assert settings.logs.level == "DEBUG"
    assert settings.serving.http_port == 9001
    assert settings.fetch.user_agent == "examplebot"
    assert not caplog.records


def test_manually_started_worker_uses_the_settings_of_the_running_system(started, tmp_path):
    started(BROKER__URL="redis://127.0.0.1:7777/3", REDIS__URL="redis://127.0.0.1:7777/3")
    code = "from aragog.workers.app import app; print(app.conf.broker_url)"

    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environ(tmp_path, FETCH__USER_AGENT="mine")},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "127.0.0.1:7777/3" in done.stdout
    assert "other values of fetch.user_agent, which this process uses as well" in done.stderr
