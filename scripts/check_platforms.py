"""
Check that everything pip installs with aragog has a wheel: `make platforms`.

    python scripts/check_platforms.py [--python 3.14] [--platform aarch64-apple-darwin]

For each version of Python in the classifiers of pyproject.toml, and each platform, uv resolves
aragog with all extras except reppy and dev, in the versions of requirements.lock, from wheels only.
It prints one line for each pair and exits with 1 if a wheel is missing. Needs access to PyPI.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
METADATA = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
PYTHONS = re.findall(r"Python :: (3\.\d+)", "\n".join(METADATA["classifiers"]))
PLATFORMS = ("x86_64-manylinux_2_28", "aarch64-manylinux_2_28", "aarch64-apple-darwin")
# reppy has no wheel, and dev is for work on aragog itself.
PROJECTS = [str(path.relative_to(PROJECT)) for path in PROJECT.glob("packages/*/pyproject.toml")]
EXTRAS = sorted(set(METADATA["optional-dependencies"]) - {"reppy", "dev", "all"})


def constraints() -> str:
    """Return the names and versions of requirements.lock, with their markers and without hashes."""
    lock = (PROJECT / "requirements.lock").read_text()
    return "\n".join(re.findall(r"^(\w.*?)(?: \\)?$", lock, re.MULTILINE))


def problem(python: str, platform: str, folder: Path) -> str:
    """Return uv's output if a wheel is missing for the pair, else an empty string."""
    versions = folder / "constraints.txt"
    versions.write_text(constraints())
    extras = [part for extra in EXTRAS for part in ("--extra", extra)]
    uv = Path(sys.executable).with_name("uv")
    argv = [
        uv, "pip", "compile", "--quiet", "--no-header", "--python-version", python,
        "--python-platform", platform, "--only-binary", ":all:", "--constraint", versions,
        *extras, "--output-file", folder / "resolved.txt", "pyproject.toml", *PROJECTS,
    ]  # fmt: skip
    process = subprocess.run(argv, cwd=PROJECT, capture_output=True, text=True, check=False)
    return process.stderr.strip() if process.returncode else ""


def main(arguments: list[str]) -> int:
    """Check the chosen pairs, or all. Returns the exit status."""
    parser = argparse.ArgumentParser(description="Check that every dependency has a wheel.")
    parser.add_argument("--python", choices=PYTHONS, action="append")
    parser.add_argument("--platform", choices=PLATFORMS, action="append")
    options = parser.parse_args(arguments)
    status = 0
    for python in options.python or PYTHONS:
        for platform in options.platform or PLATFORMS:
            with tempfile.TemporaryDirectory() as folder:
                missing = problem(python, platform, Path(folder))
            print(f"Python {python}, {platform}: {missing or 'wheels for everything'}", flush=True)
            status |= bool(missing)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
