"""Wheels of this checkout, and clean environments to install them in."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import zipfile
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
    """The finished process; fails with everything that it printed unless it exits with `code`."""
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
    """The program uv, which installs ten times faster than pip."""
    return shutil.which("uv") or Path(sys.executable).with_name("uv")


def build(folder: Path, source: Path = ROOT) -> Path:
    """The wheel of a copy of `source`, so that nothing is written into the checkout."""
    copy = folder / "source"
    shutil.copytree(source, copy, ignore=LEFT_OUT)
    dist = folder / "dist"
    run(
        uv(), "build", "--wheel", "--no-build-isolation", "--python", sys.executable,
        "--out-dir", dist, copy, cwd=folder,
    )  # fmt: skip
    return max(dist.glob("*.whl"), key=lambda path: path.stat().st_mtime_ns)


def build_libraries(folder: Path) -> list[Path]:
    """The wheels of the libraries that the crawler's wheel needs beside it."""
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
    """The wheel that `make dist` builds, with its bill of materials."""
    wheel = build(folder)
    env = {**os.environ, "SOURCE_DATE_EPOCH": "1764000000"}
    run(sys.executable, ROOT / "scripts" / "sbom.py", wheel, cwd=folder, env=env)
    return wheel


def top_level(wheel: Path) -> set[str]:
    """What a wheel puts into site-packages, besides its own metadata."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name.partition("/")[0] for name in archive.namelist()}
    return {name for name in names if not name.endswith(".dist-info")}


def without_compiler(folder: Path) -> dict[str, str]:
    """This environment without settings of aragog's, and with a PATH that has no compiler."""
    bin_ = folder / "bin"
    bin_.mkdir()
    for tool in ("sh", "env", "uname", "rm", "mkdir"):
        if path := shutil.which(tool):
            (bin_ / tool).symlink_to(path)
    ours = {k: v for k, v in os.environ.items() if not k.startswith(("ARAGOG_", "PYTHON", "CC"))}
    return {**ours, "PATH": str(bin_)}


def pip_installs(command: str, wheel: Path, folder: Path) -> Path:
    """
    Where `pip install …` of a page put this wheel.

    The wheel alone: pip spends twenty seconds of CPU time on requirements, which `install` tests.
    """
    alone = {
        "PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1",
        "PIP_TARGET": str(folder / "site"), "PIP_NO_COMPILE": "0",
    }  # fmt: skip
    (folder / "dist").symlink_to(wheel.parent)  # where `make dist` puts it
    shown = f"{shlex.quote(sys.executable)} -m {command}"  # the shell finds the files in dist/
    run("sh", "-c", shown, cwd=folder, env={**os.environ, **alone})
    return folder / "site"


def install(
    venv: Path, *requirements: str | Path, env: dict[str, str], lock: str | None = None
) -> Path:
    """
    A clean environment with these requirements, from wheels alone, by the versions of the lock.

    `lock` is the text of another version's lock.

    Returns its bin folder.
    """
    python = venv / "bin" / "python"
    run(uv(), "venv", "--quiet", "--python", sys.executable, venv, cwd=venv.parent, env=env)
    lock = lock or (ROOT / "requirements.lock").read_text()
    versions = [line.split()[0] for line in lock.splitlines() if line[:1].isalnum()]
    constraints = venv / "constraints.txt"
    constraints.write_text("\n".join(line for line in versions if "==" in line))
    run(
        uv(), "pip", "install", "--quiet", "--python", python, "--only-binary", ":all:",
        "--constraint", constraints, *requirements, cwd=venv.parent, env=env,
    )  # fmt: skip
    return venv / "bin"
