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

MAX_PARALLEL = 2

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from scripts.packages import PROJECT, Distribution, libraries  # noqa: E402
from scripts.sbom import locked_packages, normalized_name, reachable_packages  # noqa: E402


def uv() -> str:
    """Return the program uv, from the machine or from this environment."""
    return shutil.which("uv") or str(Path(sys.executable).with_name("uv"))


def run(*argv: str | Path) -> None:
    """Run a command. Exits with its output if it fails."""
    process = subprocess.run(
        [str(part) for part in argv], capture_output=True, text=True, check=False
    )
    if process.returncode:
        raise SystemExit(f"try_libraries: {argv[0]}: {process.stdout}{process.stderr}")


def build(library: Distribution, folder: Path) -> Path:
    """Return the wheel of a library, built from a copy of its folder."""
    copy, dist = folder / "source" / library.root.name, folder / "wheels"
    shutil.rmtree(copy, ignore_errors=True)
    ignored = shutil.ignore_patterns(".*", "build", "*.egg-info", "__pycache__", "tests", "bench")
    shutil.copytree(library.root, copy, ignore=ignored)
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


def required_libraries(
    library: Distribution, others: dict[str, Distribution]
) -> list[Distribution]:
    """Return the other libraries that a library requires, directly or indirectly."""
    found: list[Distribution] = []
    for requirement in requirements(library):
        other = others.get(normalized_name(requirement))
        if other and other.name != library.name and other not in found:
            indirect = required_libraries(other, others)
            found += [other, *(library for library in indirect if library not in found)]
    return found


def lock_for(roots: set[str], lock: str) -> str:
    """Return the entries of the lock that the roots need, directly or indirectly."""
    packages = {package.name: package for package in locked_packages(lock)}
    names = reachable_packages(roots, packages, everywhere=False)
    blocks = re.split(r"^(?=\w)", lock, flags=re.MULTILINE)
    return "".join(b for b in blocks if b and normalized_name(b) in names)


def with_requirements(library: Distribution) -> list[Distribution]:
    """Return a library and the libraries that it requires."""
    others = {other.name: other for other in libraries()}
    return [library, *required_libraries(library, others)]


def install(library: Distribution, wheels: Mapping[str, Path], folder: Path) -> Path:
    """Install a library and its tests' requirements. Returns the environment's Python."""
    installed = with_requirements(library)
    roots = {normalized_name(r) for other in installed for r in requirements(other)}
    lock = folder / f"{library.root.name}.lock"
    lock.write_text(lock_for(roots, (PROJECT / "requirements.lock").read_text()))
    venv = folder / library.root.name
    python = venv / "bin" / "python"
    if not python.exists():
        run(uv(), "venv", "--quiet", "--python", sys.executable, venv)
    run(uv(), "pip", "sync", "--quiet", "--python", python, "--require-hashes", lock)
    selected_wheels = [wheels[other.name] for other in installed]
    run(uv(), "pip", "install", "--quiet", "--python", python, "--no-deps", *selected_wheels)
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


def run_tests_of(library: Distribution, python: Path, options: list[str], folder: Path) -> bool:
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
    with servers(library) as server_variables:
        process = subprocess.run(
            [python, "-m", "pytest", *options],
            cwd=work, env=environ | server_variables, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip
    print(f"\n{library.name} {library.version}, from its wheel:\n\n{process.stdout}", flush=True)
    return process.returncode == 0


def main(arguments: list[str]) -> int:
    """Test the named libraries, or all. Returns the exit status."""
    names, _, options = " ".join(arguments).partition("--")
    selected = [
        other for other in libraries() if not names.split() or other.root.name in names.split()
    ]
    folder = PROJECT / "build" / "libraries"
    folder.mkdir(parents=True, exist_ok=True)
    to_build = {library.name: library for root in selected for library in with_requirements(root)}
    wheels = {name: build(library, folder) for name, library in to_build.items()}
    pythons = [install(library, wheels, folder) for library in selected]
    # The one whose tests take longest is the last of the alphabet.
    with ThreadPoolExecutor(MAX_PARALLEL) as threads:
        runs = [
            (library, threads.submit(run_tests_of, library, python, options.split(), folder))
            for library, python in reversed(list(zip(selected, pythons, strict=True)))
        ]
    failed = [library.name for library, run in runs if not run.result()]
    for name in failed:
        print(f"try_libraries: {name} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
