"""Examples in docs: the commands of ```console blocks are run, and their output is compared."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path

from click.testing import CliRunner

from aragog.cli import main

ROOT = Path(__file__).resolve().parent.parent.parent


def examples(page: str) -> Iterator[tuple[str, str]]:
    """Each command of the page's console blocks with what it prints, `…` for anything."""
    for block in re.findall(r"```console\n(.*?)```", (ROOT / page).read_text(), re.DOTALL):
        joined = re.sub(r"\\\n\s*", "", block)
        for example in re.split(r"^\$ (?:\.venv/bin/)?", joined, flags=re.MULTILINE)[1:]:
            command, _, wanted = example.partition("\n")
            yield command, wanted


def run(command: str, environ: Mapping[str, str]) -> str:
    """What the command prints, both streams. `aragog …` runs in this process, which is faster."""
    if command.startswith("aragog ") and "|" not in command:
        return CliRunner().invoke(main, shlex.split(command)[1:], env=dict(environ)).output
    path = f"{Path(sys.executable).parent}:{environ.get('PATH', '')}"
    return subprocess.run(
        ["bash", "-c", command],
        env={**environ, "PATH": path},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    ).stdout


def agrees(wanted: str, got: str) -> bool:
    """The output is the one written down."""
    pattern = wanted.replace("…", "...")
    return OutputChecker().check_output(pattern, got, ELLIPSIS | NORMALIZE_WHITESPACE)
