"""Unusable settings: one clear error with setting, value and remedy, and a non-zero exit status."""

import socket
import subprocess
import sys

import pytest
from click.testing import CliRunner

from aragog.cli import main
from tests.support.standalone import free_port


@pytest.fixture
def up(tmp_path):
    """`aragog up -d` with these variables; it must fail before it starts anything."""

    def call(**variables):
        environ = {
            "ARAGOG_DATA_DIR": str(tmp_path / "var"),
            "ARAGOG_SETTINGS": "",
            "ARAGOG_SERVING__HTTP_PORT": str(free_port()),
            "ARAGOG_SERVING__THRIFT_PORT": "0",
            "ARAGOG_SERVING__FLOWER_PORT": str(free_port()),
            **variables,
        }
        reported = CliRunner().invoke(main, ["up", "-d"], env=environ)
        assert reported.exit_code == 1
        assert not reported.stdout
        lines = reported.stderr.splitlines()
        assert all(line.startswith("aragog: ") for line in lines), reported.stderr
        return [line.removeprefix("aragog: ") for line in lines]

    return call


def test_unwritable_data_folder_is_reported(up, tmp_path):
    (tmp_path / "file").touch()

    (line,) = up(ARAGOG_DATA_DIR=str(tmp_path / "file"))

    assert line.startswith(f"data_dir: cannot write to {tmp_path}/file")
    assert "set ARAGOG_DATA_DIR" in line


def test_port_in_use_is_reported(up):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (line,) = up(ARAGOG_SERVING__HTTP_PORT=str(port))

    assert line.startswith(f"serving.http_port: port {port} on 127.0.0.1 is in use")
    assert "ARAGOG_SERVING__HTTP_PORT" in line


@pytest.mark.parametrize(
    ("name", "value", "reported"),
    [
        ("ARAGOG_FETCH__QSP", "3", "ARAGOG_FETCH__QSP: is not a setting"),
        ("ARAGOG_SERVING__HTTP_PORT", "80x", "must be a whole number, got '80x'"),
        (
            "ARAGOG_SERVING__HTTP_PORT",
            "99999",
            "serving.http_port: must be at most 65535, got 99999",
        ),
        ("ARAGOG_POLITENESS__QPS", "0", "politeness.qps: must be above 0, got 0"),
        ("ARAGOG_BROKER__URL", "smtp://x", "broker.url: smtp:// is not a supported broker"),
        ("ARAGOG_SETTINGS", "/nowhere.toml", "/nowhere.toml: cannot be read"),
    ],
)
def test_invalid_setting_is_reported(up, name, value, reported):
    (line,) = up(**{name: value})

    assert reported in line


def test_every_problem_of_a_settings_file_is_reported_at_once(up, tmp_path):
    file = tmp_path / "aragog.toml"
    file.write_text('[politeness]\nqps = "fast"\nspeed = 1\n[nosuch]\na = 1\n')

    lines = up(ARAGOG_SETTINGS=str(file))

    assert [line.split(":")[0] for line in sorted(lines)] == [
        "nosuch",
        "politeness.qps",
        "politeness.speed",
    ]


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ('["example.com"]\nqps = "x"\n', "['example.com'].qps: must be a number"),
        ("no toml", "is not valid TOML"),
        (None, "cannot be read"),
    ],
)
def test_invalid_overrides_file_is_reported(up, tmp_path, text, reported):
    file = tmp_path / "overrides.toml"
    if text is not None:
        file.write_text(text)

    (line,) = up(ARAGOG_POLITENESS__OVERRIDES_FILE=str(file))

    assert line.startswith(f"{file}: ")
    assert reported in line


@pytest.mark.parametrize("problem", ["ARAGOG_FETCH__QSP", "ARAGOG_POLITENESS__OVERRIDES_FILE"])
def test_worker_started_by_hand_exits_at_once_with_the_reason(tmp_path, problem):
    command = [sys.executable, "-m", "celery", "-A", "workers.app", "worker", "-Q", "fetch"]
    environ = {"ARAGOG_DATA_DIR": str(tmp_path), problem: "/nowhere.toml", "PATH": "/usr/bin:/bin"}

    reported = subprocess.run(
        command, env=environ, capture_output=True, text=True, timeout=120, check=False
    )

    assert reported.returncode == 1
    assert "\naragog: " in f"\n{reported.stderr}"
    assert (
        "/nowhere.toml" in reported.stderr
        or "ARAGOG_FETCH__QSP: is not a setting" in reported.stderr
    )
    assert "Traceback" not in reported.stderr


def test_reading_or_stopping_a_missing_system_reports_it(tmp_path):
    environ = {"ARAGOG_DATA_DIR": str(tmp_path / "var"), "ARAGOG_SETTINGS": ""}

    for arguments, code, reported in (
        (["down"], 1, f"data_dir: no system is running in {tmp_path}/var"),
        (["show", "http://a.test/"], 1, f"data_dir: nothing is stored in {tmp_path}/var yet"),
        (["run", "nowhere.txt"], 2, "nowhere.txt is neither a file nor a URL"),
    ):
        result = CliRunner().invoke(main, arguments, env=environ)

        assert result.exit_code == code
        assert reported in result.stderr
