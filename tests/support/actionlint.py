"""Find actionlint, which Go builds into the cache folder at the first call (10 s of CPU)."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.support.missing_parts import GO, skip_without

VERSION = "v1.7.12"
CACHE = Path(os.environ.get("ARAGOG_CACHE", Path(__file__).resolve().parents[2] / ".cache"))


def actionlint_or_skip() -> Path:
    """Return its path. Without Go the test is skipped, or fails if CI=true."""
    system, go = shutil.which("actionlint"), shutil.which("go")
    if system:
        return Path(system)
    built = CACHE / "actionlint" / VERSION / "actionlint"
    if not built.exists():
        if not go:
            skip_without(GO)
        built.parent.mkdir(parents=True, exist_ok=True)
        module = f"github.com/rhysd/actionlint/cmd/actionlint@{VERSION}"
        subprocess.run(
            [go, "install", module], env={**os.environ, "GOBIN": str(built.parent)},
            capture_output=True, check=True,
        )  # fmt: skip
    return built
