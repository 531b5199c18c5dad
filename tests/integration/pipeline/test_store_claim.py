"""
Two machines, each with its own store, and one Redis: the second gets an error and does nothing.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import redis
from click.testing import CliRunner

from aragog.bootstrap.stages import connect
from aragog.bootstrap.store_claims import store_conflict
from aragog.cli import main
from aragog.errors import StoreUnavailable
from aragog.settings import RedisSettings, Settings, StoreSettings
from aragog.standalone.redis_server import RedisServer
from tests.support.celery_worker import ROOT
from tests.support.pipeline_harness import Sent


@pytest.fixture
def machine(tmp_path, redis_url):
    """The settings of a machine, with its own data folder and the shared Redis."""

    def settings(name, **more):
        return Settings(data_dir=tmp_path / name, redis=RedisSettings(url=redis_url), **more)

    return settings


@pytest.fixture
def environ(tmp_path, redis_url, monkeypatch):
    """The same as environment variables, for commands."""

    def use(name):
        monkeypatch.setenv("ARAGOG_DATA_DIR", str(tmp_path / name))
        monkeypatch.setenv("ARAGOG_REDIS__URL", redis_url)
        path = redis_url.removeprefix("unix://").partition("?")[0]
        monkeypatch.setenv("ARAGOG_BROKER__URL", f"pinlater+socket://{path}?virtual_host=0")
        return dict(os.environ)

    return use


def test_second_embedded_store_is_refused_by_name(machine, tmp_path):
    assert store_conflict(machine("one")) is None
    assert store_conflict(machine("one")) is None

    problem = store_conflict(machine("two"))

    assert str(tmp_path / "one") in problem
    assert str(tmp_path / "two") in problem
    assert "aragog store adopt" in problem


def test_process_of_the_second_store_does_not_connect(machine):
    connect(machine("one"), Sent()).close()

    with pytest.raises(StoreUnavailable, match="belongs to another store"):
        connect(machine("two"), Sent())


def test_check_alone_claims_nothing(machine):
    assert store_conflict(machine("one"), claim=False) is None
    assert store_conflict(machine("two")) is None


def test_memory_store_claims_nothing(machine):
    settings = machine("one", store=StoreSettings(engine="memory"))

    assert store_conflict(settings) is None
    assert store_conflict(machine("two")) is None


def test_worker_of_the_second_store_ends_with_the_reason(machine, environ):
    store_conflict(machine("one"))

    reported = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "celery", "-A", "workers.app", "worker", "-Q", "fetch"],
        env=environ("two") | {"PYTHONPATH": str(ROOT), "C_FORCE_ROOT": "1"},
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip

    assert reported.returncode == 1
    assert "belongs to another store" in reported.stderr
    assert "Traceback" not in reported.stderr


def test_doctor_reports_the_other_store_and_adopt_takes_over(machine, environ):
    store_conflict(machine("one"))
    environ("two")
    runner = CliRunner()
    assert runner.invoke(main, ["store", "list", "a.example"]).exit_code == 0

    reported = runner.invoke(main, ["doctor"])
    adopted = runner.invoke(main, ["store", "adopt", "--yes"])

    assert reported.exit_code == 1
    assert "belongs to another store" in reported.output.replace("\n", " ")
    assert adopted.exit_code == 0
    assert store_conflict(machine("two")) is None
    assert "belongs to another store" in store_conflict(machine("one"))


def test_private_redis_works_with_any_store_in_its_folder():
    with tempfile.TemporaryDirectory(prefix="ar") as folder:
        settings = Settings(data_dir=Path(folder))
        with RedisServer(settings.redis_socket.parent):
            assert store_conflict(settings) is None
            shutil.rmtree(Path(folder) / "store")

            assert store_conflict(settings) is None


def test_unreadable_claim_is_not_a_conflict(machine, redis_client: redis.Redis):
    redis_client.set("aragog:store", b"{")

    assert store_conflict(machine("one")) is None
