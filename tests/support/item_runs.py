"""Run the command line in its own folder, against an origin that serves `*.test`."""

from __future__ import annotations

import csv
import os
import shlex
import subprocess
import sys
from pathlib import Path

from tests.support.origin import Origin
from tests.support.standalone import free_port

LIMIT_S = 800  # it starts a whole system, perhaps on a busy machine


def prepare(folder: Path, rules: str, urls: str) -> Path:
    """Write settings and a list of URLs into the folder, and return it."""
    (folder / "aragog.toml").write_text(
        f'[fetch]\nuser_agent = "examplebot/1.0 (+https://example.com/bot)"\n\n{rules}'
    )
    (folder / "urls.txt").write_text(urls)
    return folder


def environment(folder: Path, shop: Origin) -> dict[str, str]:
    ours = {name: text for name, text in os.environ.items() if not name.startswith("ARAGOG_")}
    return {
        **ours,
        "ARAGOG_SETTINGS": str(folder / "aragog.toml"),
        "ARAGOG_DATA_DIR": str(folder / "var"),
        "ARAGOG_FETCH__HOST_MAP": f"*.test={shop.address}",
        "ARAGOG_SERVING__HTTP_PORT": str(free_port()),
        "ARAGOG_SERVING__THRIFT_PORT": "0",
        "ARAGOG_SERVING__FLOWER_PORT": str(free_port()),
    }


def started(folder: Path, shop: Origin, command: str) -> subprocess.Popen[str]:
    """Start a command of the documentation."""
    _, *arguments = shlex.split(command)
    return subprocess.Popen(
        [sys.executable, "-m", "aragog.cli", *arguments], cwd=folder, env=environment(folder, shop),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def run(folder: Path, shop: Origin, command: str) -> tuple[str, str]:
    """Run a command, which must succeed. Returns its output and its errors."""
    process = started(folder, shop, command)
    output, errors = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, output + errors
    return output, errors


def rows(file: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    return list(csv.DictReader(file.open()))
