"""Clocks that are off: a library for LD_PRELOAD, compiled where the fleet runs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("clock_shift.c")


def compiler() -> str:
    """The C compiler of this machine; empty if there is none."""
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang") or ""


def shifted(folder: Path, seconds: int) -> dict[str, str]:
    """The environment of processes whose wall clock is off; compiles the library into a folder."""
    library = folder / "clock_shift.so"
    if not library.exists():
        command = [compiler(), "-shared", "-fPIC", "-O2", "-o", library, SOURCE, "-ldl"]
        subprocess.run(command, check=True)
    return {"LD_PRELOAD": str(library), "CLOCK_SHIFT_S": str(seconds)}
