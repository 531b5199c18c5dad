"""Files of the standalone system are readable by its own user only, and so is its Redis."""

import os
import stat
import tempfile
from pathlib import Path

import pytest
import redis
from click.testing import CliRunner

from aragog.cli import main
from aragog.client import Aragog
from aragog.errors import ConfigError
from aragog.settings import Settings, StandaloneSettings, load_settings
from aragog.standalone.redis_server import RedisServer
from aragog.standalone.supervisor import Supervisor
from tests.support.missing_parts import ROOT, unless
from tests.support.standalone import open_to_others

NOBODY = 65534


@pytest.fixture
def deep(tmp_path, monkeypatch):
    """Settings whose data folder has too long a path for a socket; the socket's folder."""
    with tempfile.TemporaryDirectory(prefix="ar") as shared:
        monkeypatch.setattr(tempfile, "tempdir", shared)
        settings = Settings(data_dir=tmp_path / ("d" * 100) / "var")
        yield settings, settings.redis_socket.parent


def test_socket_folder_is_private(deep):
    settings, folder = deep

    settings.resolved()
    settings.resolved()

    assert stat.S_IMODE(folder.lstat().st_mode) == 0o700
    assert folder.lstat().st_uid == os.getuid()


@unless(os.getuid() == 0, ROOT)
def test_socket_folder_of_another_user_is_refused(deep):
    settings, folder = deep
    folder.mkdir(mode=0o700)
    os.chown(folder, NOBODY, NOBODY)

    with pytest.raises(ConfigError, match=f"belongs to user {NOBODY}"):
        settings.resolved()
    with pytest.raises(ConfigError, match=f"belongs to user {NOBODY}"):
        Aragog(settings)


def test_socket_folder_that_others_may_enter_is_refused(deep):
    settings, folder = deep
    folder.mkdir()
    folder.chmod(0o755)

    with pytest.raises(ConfigError, match="mode 0755, but needs 0700"):
        settings.resolved()


def test_symlink_as_socket_folder_is_refused(deep, tmp_path):
    settings, folder = deep
    folder.symlink_to(tmp_path)

    with pytest.raises(ConfigError, match="is not a folder"):
        settings.resolved()


def test_files_created_by_commands_are_private(tmp_path):
    data_dir = tmp_path / "var"
    environ = {"ARAGOG_DATA_DIR": str(data_dir), "ARAGOG_SETTINGS": ""}

    result = CliRunner().invoke(main, ["webhooks", "add", "https://example.com/hook"], env=environ)

    assert result.exit_code == 0, result.output
    assert stat.S_IMODE(data_dir.stat().st_mode) == 0o700
    assert {stat.S_IMODE(f.stat().st_mode) for f in (data_dir / "store").glob("*.db")} == {0o600}


def test_files_in_a_shared_data_folder_are_private(tmp_path):
    data_dir = tmp_path / "var"
    data_dir.mkdir(mode=0o755)
    environ = {"ARAGOG_DATA_DIR": str(data_dir), "ARAGOG_SETTINGS": ""}
    CliRunner().invoke(main, ["webhooks", "add", "https://example.com/hook"], env=environ)
    supervisor = Supervisor(data_dir, os.environ)
    supervisor.acquire()
    supervisor.stop()

    assert open_to_others(data_dir) == []


@pytest.mark.redis
def test_full_private_redis_keeps_its_data_and_names_the_setting():
    with tempfile.TemporaryDirectory(prefix="ar") as folder:
        data_dir = Path(folder)
        with RedisServer(data_dir / "redis", max_memory_bytes=33_554_432) as server:
            with redis.Redis.from_url(server.url) as client:
                client.set("ballast", bytes(1_000_000))
                client.config_set("maxmemory", 1_000_000)
            environ = {"ARAGOG_DATA_DIR": folder, "ARAGOG_SETTINGS": ""}
            agent = {"ARAGOG_FETCH__USER_AGENT": "examplebot/1.0 (+https://example.com/bot)"}

            reported = CliRunner().invoke(main, ["enqueue", "http://a.test/"], env=environ | agent)

            with redis.Redis.from_url(server.url) as client:
                assert client.strlen("ballast") == 1_000_000
    assert reported.exit_code == 1
    assert "standalone.redis_max_memory_bytes" in reported.stderr
    assert "nothing answers" not in reported.stderr


def test_memory_limit_that_is_too_small_is_refused():
    with pytest.raises(ConfigError, match="redis_max_memory_bytes: must be at least 33554432"):
        load_settings(environ={"ARAGOG_STANDALONE__REDIS_MAX_MEMORY_BYTES": "1000"})


def test_memory_limit_is_passed_to_the_server():
    command = RedisServer(Path("x"), max_memory_bytes=50_000_000).command()

    assert command[command.index("--maxmemory") + 1] == "50000000"
    assert StandaloneSettings().redis_max_memory_bytes is None
