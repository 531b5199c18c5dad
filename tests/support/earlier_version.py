"""
The wheel of the earlier version that today's workers must be able to work with.

`deploy/compatible_commit` has the hash of its commit. It is built from this clone and installed with
the versions of its own lock. A clone without that commit cannot build it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Self

from tests.support import wheels
from tests.support.missing_parts import EARLIER, skip_without

FILE = wheels.ROOT / "deploy" / "compatible_commit"


def compatible_commit() -> str:
    """Return the hash, which is on the file's last line, after its explanation."""
    return FILE.read_text().split()[-1]


def installed(folder: Path) -> Path:
    """Install that version, and return its bin folder. The test is skipped if it is missing."""
    commit = compatible_commit()
    if not shutil.which("git"):
        skip_without(EARLIER, "git is not installed")
    found = subprocess.run(
        ["git", "cat-file", "-e", f"{commit}^{{commit}}"],
        cwd=wheels.ROOT, capture_output=True, check=False,
    )  # fmt: skip
    if found.returncode:
        skip_without(EARLIER, f"this clone lacks {commit[:12]}")
    source = folder / "earlier"
    source.mkdir()
    archive = subprocess.run(
        ["git", "archive", commit], cwd=wheels.ROOT, capture_output=True, check=True
    )
    subprocess.run(["tar", "-x", "-C", source], input=archive.stdout, check=True)
    wheel = wheels.build(folder, source)
    lock = (source / "requirements.lock").read_text()
    return wheels.install(folder / "venv", wheel, env=_outside(), lock=lock)


def _outside() -> dict[str, str]:
    """Return the environment of a process that must not see the checkout."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("ARAGOG_", "PYTHON"))}


class EarlierWorker:
    """
    A Celery worker of that version, which runs within the context.

    Args:
        bin_: the folder returned by `installed`.
        log: the file for its output.
        env: the settings.
        args: arguments of `celery worker`.
    """

    def __init__(self, bin_: Path, log: Path, env: dict[str, str], args: list[str]) -> None:
        self._argv = [str(bin_ / "celery"), "-A", "aragog.workers.app", "worker", "-l", "INFO"]
        self._argv += args
        self._env = _outside() | {k: v for k, v in env.items() if k.startswith("ARAGOG_")}
        self.log = log

    def __enter__(self) -> Self:
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                self._argv, env=self._env | {"C_FORCE_ROOT": "1"}, cwd=self.log.parent, stdout=out,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
