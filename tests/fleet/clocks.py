"""Shift the clocks of processes with a library for LD_PRELOAD, compiled where the fleet runs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("clock_shift.c")


def compiler() -> str:
    """Return the path of a C compiler, or an empty string."""
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang") or ""


def shifted_environ(folder: Path, seconds: int) -> dict[str, str]:
    """Compile the library into a folder. Returns the variables that shift a wall clock."""
    library = folder / "clock_shift.so"
    if not library.exists():
        command = [compiler(), "-shared", "-fPIC", "-O2", "-o", library, SOURCE, "-ldl"]
        subprocess.run(command, check=True)
    return {"LD_PRELOAD": str(library), "CLOCK_SHIFT_S": str(seconds)}
