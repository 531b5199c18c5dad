"""Build wheels of this checkout, and install them in clean environments."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from scripts.packages import libraries

ROOT = Path(__file__).resolve().parent.parent.parent
LEFT_OUT = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "var", "__pycache__", "site")


def run(
    *argv: str | Path,
    cwd: Path,
    env: dict[str, str] | None = None,
    timeout_s: float = 400,
    code: int = 0,
):
    """Run a process to its end. Fails with its output unless it exits with `code`."""
    done = subprocess.run(
        [str(part) for part in argv],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode == code, f"{argv}\n{done.stdout}"
    return done


def uv() -> str | Path:
    """Return the path of uv, which installs ten times faster than pip."""
    return shutil.which("uv") or Path(sys.executable).with_name("uv")


def build(folder: Path, source: Path = ROOT) -> Path:
    """Build the wheel of a copy of `source`, so that nothing is written into the checkout."""
    copy = folder / "source"
    shutil.copytree(source, copy, ignore=LEFT_OUT)
    dist = folder / "dist"
    run(
        uv(), "build", "--wheel", "--no-build-isolation", "--python", sys.executable,
        "--out-dir", dist, copy, cwd=folder,
    )  # fmt: skip
    return max(dist.glob("*.whl"), key=lambda path: path.stat().st_mtime_ns)


def build_libraries(folder: Path) -> list[Path]:
    """Build the wheels of the libraries that the crawler's wheel needs."""
    for library in libraries():
        copy = folder / "libraries" / library.root.name
        shutil.copytree(library.root, copy, ignore=LEFT_OUT)
        run(
            uv(), "build", "--wheel", "--no-build-isolation", "--python", sys.executable,
            "--out-dir", folder / "dist", copy, cwd=folder,
        )  # fmt: skip
    names = [library.name.replace("-", "_") for library in libraries()]
    return [next((folder / "dist").glob(f"{name}-*.whl")) for name in names]


def build_release(folder: Path) -> Path:
    """Build the wheel like `make dist`, with its bill of materials."""
    wheel = build(folder)
    env = {**os.environ, "SOURCE_DATE_EPOCH": "1764000000"}
    run(sys.executable, ROOT / "scripts" / "sbom.py", wheel, cwd=folder, env=env)
    return wheel


def top_level(wheel: Path) -> set[str]:
    """Return what a wheel puts into site-packages, without its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name.partition("/")[0] for name in archive.namelist()}
    return {name for name in names if not name.endswith(".dist-info")}


def without_compiler(folder: Path) -> dict[str, str]:
    """Return this environment without aragog's settings, and with a PATH without compilers."""
    bin_ = folder / "bin"
    bin_.mkdir()
    for tool in ("sh", "env", "uname", "rm", "mkdir"):
        if path := shutil.which(tool):
            (bin_ / tool).symlink_to(path)
    ours = {k: v for k, v in os.environ.items() if not k.startswith(("ARAGOG_", "PYTHON", "CC"))}
    return {**ours, "PATH": str(bin_)}


def pip_installs(command: str, wheels: Sequence[Path], folder: Path) -> Path:
    """
    Run the `pip install …` of a page for these wheels, and return its environment.

    Requirements come from wheels of the configured index, in the versions of the lock.
    """
    (folder / "dist").mkdir()  # like `make dist`
    for wheel in wheels:
        (folder / "dist" / wheel.name).symlink_to(wheel)
    venv = folder / "venv"
    run(uv(), "venv", "--quiet", "--seed", "--python", sys.executable, venv, cwd=folder)
    ours = {k: v for k, v in os.environ.items() if not k.startswith(("ARAGOG_", "PYTHON"))}
    env = {
        **ours,
        "PATH": f"{venv / 'bin'}:{os.environ['PATH']}",
        "PIP_CONSTRAINT": str(locked_versions(folder)),
        "PIP_ONLY_BINARY": ":all:",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    run("sh", "-c", command, cwd=folder, env=env)
    return venv


def from_files(venv: Path) -> set[str]:
    """Return the wheels that were installed from files instead of an index."""
    urls = venv.glob("lib/python*/site-packages/*.dist-info/direct_url.json")
    return {json.loads(path.read_text())["url"].rpartition("/")[2] for path in urls}


def locked_versions(folder: Path, lock: str | None = None) -> Path:
    """Write constraints with the versions of the lock, or of another one."""
    lock = lock or (ROOT / "requirements.lock").read_text()
    # With markers, because a package may have different versions for old and new Pythons.
    versions = re.findall(r"^(\w.*?==.*?)(?: \\)?$", lock, re.MULTILINE)
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(versions))
    return constraints


def install(
    venv: Path, *requirements: str | Path, env: dict[str, str], lock: str | None = None
) -> Path:
    """
    Install requirements into a clean environment, only from wheels, in the versions of the lock.

    `lock` is the text of another version's lock. Returns the bin folder.
    """
    python = venv / "bin" / "python"
    run(uv(), "venv", "--quiet", "--python", sys.executable, venv, cwd=venv.parent, env=env)
    run(
        uv(), "pip", "install", "--quiet", "--python", python, "--only-binary", ":all:",
        "--constraint", locked_versions(venv, lock), *requirements, cwd=venv.parent, env=env,
    )  # fmt: skip
    return venv / "bin"
