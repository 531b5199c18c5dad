"""Celery commands that users try in a source checkout, and the effect of edits at its top level."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.processes import end
from tests.support.producer import producer_home
from tests.support.standalone import free_port
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
TOP_LEVEL = ("aragog", "tasks", "workers", "celeryconfig.py", "beat_schedule.py")


@pytest.fixture(scope="module")
def home():
    with producer_home() as home_folder:
        yield home_folder


@pytest.fixture
def checkout(tmp_path):
    """A copy of the checkout's code, which may be edited."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in TOP_LEVEL:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=ignored)
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture
def celery(checkout, home, tmp_path):
    """
    Starts `celery` in the checkout and waits until its output contains the text; returns the
    output.
    """
    environ = {**os.environ, **home.environ, "C_FORCE_ROOT": "1", "PYTHONUNBUFFERED": "1"}
    environ.pop("PYTHONPATH", None)

    def run(*options, until):
        log = tmp_path / "log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "celery", *options],
                cwd=checkout, env=environ, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            )  # fmt: skip
        try:
            wait_until(
                lambda: until in log.read_text() or process.poll() is not None,
                every_s=0.2, otherwise=log.read_text,
            )  # fmt: skip
        finally:
            end(process, within_s=120)
        assert until in log.read_text(), log.read_text()
        return log.read_text()

    return run


@pytest.mark.parametrize("app", ["workers", "workers.app", "tasks", "celeryconfig"])
def test_celery_starts_a_worker_for_all_queues(celery, app):
    log = celery("-A", app, "worker", "-P", "threads", "-c", "1", "-l", "INFO", until=" ready.")

    assert ". aragog.tasks.fetch" in log
    assert ". aragog.robots" in log


def test_celery_starts_beat_with_the_schedule(celery):
    log = celery("-A", "workers", "beat", "-l", "INFO", until="refresh URLs that are due")

    assert "aragog.workers.steady_scheduler.SteadyScheduler" in log


def test_celery_starts_flower_with_aragogs_pages(celery):
    port = f"--port={free_port()}"

    log = celery("-A", "workers", "flower", "--address=127.0.0.1", port, until="Visit me at")

    assert "Traceback" not in log


def test_entry_added_to_the_schedule_is_sent(celery, checkout):
    with (checkout / "beat_schedule.py").open("a") as schedule:
        schedule.write('beat_schedule["added by hand"] = _entry(SWEEP, 0.5, 30)\n')

    log = celery("-A", "workers", "beat", "-l", "INFO", until="added by hand")

    assert "Sending due task added by hand (aragog.maintenance.sweep)" in log


def test_edited_celery_setting_takes_effect(celery, checkout):
    settings = checkout / "celeryconfig.py"
    edited = settings.read_text().replace("prefetch_multiplier = 1\n", "prefetch_multiplier = 7\n")
    settings.write_text(edited)

    log = celery("-A", "celeryconfig", "report", until="worker_prefetch_multiplier")

    assert "worker_prefetch_multiplier: 7" in log


def test_edited_task_is_the_one_that_runs(celery, checkout):
    task = checkout / "tasks" / "maintenance.py"
    task.write_text(task.read_text() + '\n\n@periodic("aragog.by_hand")\ndef by_hand(): ...\n')

    log = celery("-A", "workers", "worker", "-P", "solo", "-l", "INFO", until=" ready.")

    assert ". aragog.by_hand" in log


def elsewhere(folder, *arguments):
    """The output of Celery in a folder without a checkout, with aragog installed."""
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, "-m", "celery", *arguments],
        cwd=folder, env=environ, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_celery_finds_the_workers_from_an_empty_folder(tmp_path):
    report = elsewhere(tmp_path, "-A", "workers", "report")
    roles = elsewhere(tmp_path, "aragog")

    assert report.returncode == 0, report.stderr
    assert "aragog.tasks.fetch" in report.stdout
    assert "canonicalize (prefork" in roles.stdout, roles.stderr


def test_workers_module_in_the_current_folder_takes_precedence(tmp_path):
    (tmp_path / "workers.py").write_text(
        "from celery import Celery\n\napp = Celery('of-this-folder')\n"
    )
    (tmp_path / "tasks.py").write_text("MINE = 1\n")

    named = elsewhere(tmp_path, "-A", "workers", "report")
    other = elsewhere(tmp_path, "-A", "tasks", "report")

    assert "aragog" not in named.stdout, named.stdout
    assert "Unable to load celery application" in other.stderr + other.stdout
