"""
Try a wheel like a user who has only Python and an empty folder: `make try-wheel`.

    python scripts/try_wheel.py [--python 3.14] [WHEEL]

installs the newest wheel of dist/ with the wheels of its libraries into an empty environment, from
wheels only and in the versions of requirements.lock, crawls the demo sites in an empty folder,
compares a field of one page, and checks that Celery finds the app. It exits with 1 and the output
of the command that failed. Needs access to PyPI.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from scripts.packages import libraries  # noqa: E402

PAGE, FIELD, VALUE = "http://www.shop.test/p/brass-lamp", "product.price", "89.90"


def newest_wheel(folder: Path, name: str) -> Path:
    """Return a distribution's most recently built wheel."""
    wheels = sorted(folder.glob(f"{name}-*.whl"), key=lambda p: p.stat().st_mtime)
    if not wheels:
        raise SystemExit(f"try_wheel: no wheel of {name} in {folder}: make dist")
    return wheels[-1]


def library_wheels(wheel: Path) -> list[Path]:
    """
    Return the wheels of the libraries in the same folder, which are not requested from
    any index.
    """
    names = [library.name.replace("-", "_") for library in libraries()]
    return [newest_wheel(wheel.parent, name) for name in names]


def run(folder: Path, *argv: str | Path) -> str:
    """Return a command's output. Exits if it fails."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("ARAGOG_", "PYTHON"))}
    environ = {**inherited, "ARAGOG_SERVING__HTTP_PORT": "0", "ARAGOG_SERVING__THRIFT_PORT": "0"}
    process = subprocess.run(
        [str(part) for part in argv], cwd=folder, env=environ, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if process.returncode:
        raise SystemExit(
            f"try_wheel: {argv[0]}: exit {process.returncode}\n{process.stdout}{process.stderr}"
        )
    return process.stdout


def install(wheel: Path, python: str, folder: Path) -> Path:
    """Install the wheel into an empty environment. Returns its bin folder."""
    lock = (PROJECT / "requirements.lock").read_text()
    (folder / "constraints.txt").write_text(
        "\n".join(re.findall(r"^(\w.*?)(?: \\)?$", lock, re.MULTILINE))
    )
    uv, bin_ = Path(sys.executable).with_name("uv"), folder / "venv" / "bin"
    if Path(python).exists():
        python = str(Path(python).absolute())  # uv runs in another folder
    run(folder, uv, "venv", "--quiet", "--python", python, folder / "venv")
    run(
        folder, uv, "pip", "install", "--quiet", "--python", bin_ / "python",
        "--only-binary", ":all:", "--constraint", folder / "constraints.txt",
        wheel, *library_wheels(wheel),
    )  # fmt: skip
    return bin_


def main(arguments: list[str]) -> int:
    """Install, crawl and read. Returns the exit status."""
    parser = argparse.ArgumentParser(
        description="Install a wheel and crawl the demo sites with it."
    )
    parser.add_argument("--python", default=sys.executable, help="a version or a path")
    parser.add_argument("wheel", nargs="?", type=Path)
    options = parser.parse_args(arguments)
    wheel = (options.wheel or newest_wheel(PROJECT / "dist", "aragog_crawler")).absolute()
    with tempfile.TemporaryDirectory(prefix="ar") as directory:
        folder = Path(directory)
        bin_ = install(wheel, options.python, folder)
        (folder / "empty").mkdir()
        print(run(folder / "empty", bin_ / "aragog", "--version").strip())
        run(folder / "empty", bin_ / "aragog", "run", "--stop")
        page = json.loads(run(folder / "empty", bin_ / "aragog", "show", PAGE, "--json"))
        run(folder / "empty", bin_ / "celery", "-A", "workers", "report")
        version = run(folder, bin_ / "python", "--version").strip()
    if page["fields"].get(FIELD) != VALUE:
        raise SystemExit(f"try_wheel: {PAGE}: {FIELD} is {page['fields'].get(FIELD)!r}")
    print(f"{wheel.name} on {version}: installed from wheels, crawled the demo sites, read {FIELD}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
