"""
Test each library of packages/ from its wheel, in an environment without aragog.

    python scripts/try_libraries.py [NAME ...] [-- PYTEST OPTIONS]

An editable install would hide a file missing from the wheel, and the crawler's environment would
hide an undeclared dependency. Each wheel is therefore built and installed into a separate
environment with its requirements and those of its tests (`[dependency-groups] test`), by the hashes
of requirements.lock. Its tests run in a copy of its tests/ folder and README, whose examples they
run. Two libraries are tested at a time, because their tests wait for servers half of the time; the
output of each is shown when its tests have ended. It exits with 1 if one fails. Needs access to
PyPI the first time.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

AT_A_TIME = 2

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from scripts.packages import PROJECT, Distribution, libraries  # noqa: E402
from scripts.sbom import locked, plain, reached  # noqa: E402


def uv() -> str:
    """Return the program uv, from the machine or from this environment."""
    return shutil.which("uv") or str(Path(sys.executable).with_name("uv"))


def run(*argv: str | Path) -> None:
    """Run a command. Exits with its output if it fails."""
    done = subprocess.run([str(part) for part in argv], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"try_libraries: {argv[0]}: {done.stdout}{done.stderr}")


def build(library: Distribution, folder: Path) -> Path:
    """Return the wheel of a library, built from a copy of its folder."""
    copy, dist = folder / "source" / library.root.name, folder / "wheels"
    shutil.rmtree(copy, ignore_errors=True)
    left_out = shutil.ignore_patterns(".*", "build", "*.egg-info", "__pycache__", "tests", "bench")
    shutil.copytree(library.root, copy, ignore=left_out)
    run(
        uv(), "build", "--quiet", "--wheel", "--no-build-isolation", "--python", sys.executable,
        "--out-dir", dist, copy,
    )  # fmt: skip
    name = library.name.replace("-", "_")
    return dist / f"{name}-{library.version}-py3-none-any.whl"


def requirements(library: Distribution) -> list[str]:
    """Return the requirements of a library's tests: all its extras, and its group `test`."""
    project = tomllib.loads((library.root / "pyproject.toml").read_text())
    extras = library.metadata.get("optional-dependencies", {}).values()
    return [
        *library.metadata.get("dependencies", []),
        *(requirement for extra in extras for requirement in extra),
        *project.get("dependency-groups", {}).get("test", []),
    ]


def needed(library: Distribution, others: dict[str, Distribution]) -> list[Distribution]:
    """Return the other libraries that a library requires, directly or indirectly."""
    found: list[Distribution] = []
    for requirement in requirements(library):
        other = others.get(plain(requirement))
        if other and other.name != library.name and other not in found:
            found += [other, *(each for each in needed(other, others) if each not in found)]
    return found


def lock_of(roots: set[str], lock: str) -> str:
    """Return the entries of the lock that the roots need, directly or indirectly."""
    packages = {package.name: package for package in locked(lock)}
    names = reached(roots, packages, everywhere=False)
    blocks = re.split(r"^(?=\w)", lock, flags=re.MULTILINE)
    return "".join(b for b in blocks if b and plain(b) in names)


def with_needed(library: Distribution) -> list[Distribution]:
    """Return a library and the libraries that it requires."""
    return [library, *needed(library, {each.name: each for each in libraries()})]


def install(library: Distribution, wheels: Mapping[str, Path], folder: Path) -> Path:
    """Install a library and its tests' requirements. Returns the environment's Python."""
    installed = with_needed(library)
    roots = {plain(r) for each in installed for r in requirements(each)}
    lock = folder / f"{library.root.name}.lock"
    lock.write_text(lock_of(roots, (PROJECT / "requirements.lock").read_text()))
    venv = folder / library.root.name
    python = venv / "bin" / "python"
    if not python.exists():
        run(uv(), "venv", "--quiet", "--python", sys.executable, venv)
    run(uv(), "pip", "sync", "--quiet", "--python", python, "--require-hashes", lock)
    of_these = [wheels[each.name] for each in installed]
    run(uv(), "pip", "install", "--quiet", "--python", python, "--no-deps", *of_these)
    return python


@contextmanager
def servers(library: Distribution) -> Iterator[dict[str, str]]:
    """Yield variables with the servers that a library's tests need and no wheel contains."""
    if library.imported_as != "zengraph":
        yield {}
        return
    from deploy.hbase.server import HBaseServer  # noqa: PLC0415 - only where used
    from deploy.processes import CannotStart  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="hb") as place:
        hbase = HBaseServer(Path(place))
        try:
            hbase.start()
        except CannotStart as error:
            print(f"try_libraries: no HBase: {error}")
            yield {}
            return
        try:
            yield {"ZENGRAPH_TEST_HBASE": ",".join(hbase.gateways)}
        finally:
            hbase.kill()


def passes(library: Distribution, python: Path, options: list[str], folder: Path) -> bool:
    """Return True if the tests of a library pass in its environment."""
    work = folder / "work" / library.root.name
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    shutil.copytree(library.root / "tests", work / "tests")
    for name in ("README.md", "pyproject.toml"):
        shutil.copy(library.root / name, work)
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("ARAGOG_", "PYTHON"))}
    environ |= {
        "PATH": f"{python.parent}:{environ.get('PATH', '')}",
        "PYTHONPYCACHEPREFIX": "pycache",
    }
    with servers(library) as named:
        done = subprocess.run(
            [python, "-m", "pytest", *options], cwd=work, env=environ | named, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip
    print(f"\n{library.name} {library.version}, from its wheel:\n\n{done.stdout}", flush=True)
    return done.returncode == 0


def main(arguments: list[str]) -> int:
    """Test the named libraries, or all. Returns the exit status."""
    names, _, options = " ".join(arguments).partition("--")
    chosen = [each for each in libraries() if not names.split() or each.root.name in names.split()]
    folder = PROJECT / "build" / "libraries"
    folder.mkdir(parents=True, exist_ok=True)
    built = {one.name: one for library in chosen for one in with_needed(library)}
    wheels = {name: build(one, folder) for name, one in built.items()}
    pythons = [install(library, wheels, folder) for library in chosen]
    # The one whose tests take longest is the last of the alphabet.
    with ThreadPoolExecutor(AT_A_TIME) as threads:
        runs = [
            (library, threads.submit(passes, library, python, options.split(), folder))
            for library, python in reversed(list(zip(chosen, pythons, strict=True)))
        ]
    failed = [library.name for library, run in runs if not run.result()]
    for name in failed:
        print(f"try_libraries: {name} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
