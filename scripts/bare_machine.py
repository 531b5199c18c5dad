"""
Run the project on a machine that has only README's requirements: `make bare`.

    python3 scripts/bare_machine.py [--short | COMMAND …]

builds a minimal Debian in a folder, clones the last commit into the home of an ordinary user, and
runs each COMMAND there without a terminal (default: `make run`, then `make test`). It exits with
the status of the first command that fails. The Debian is kept for the next run, the clone is not.

`--short` runs only the tests whose result can depend on such a machine (`MACHINE_TESTS`). It is for
`.ci/run`, which runs all tests on its own machine with the same Python packages.

Needs root on Linux, and debootstrap, which it installs on Debian. Where it cannot run, it prints
the reason and exits with 0, or with 2 if CI=true. This machine's access to PyPI (certificates,
pip's settings) is copied into the folder. Environment: BARE_FOLDER, about 3 GB (default
/var/tmp/aragog-bare).
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
FOLDER = Path(os.environ.get("BARE_FOLDER", "/var/tmp/aragog-bare"))  # noqa: S108 - root's own
SUITE = "bookworm"  # the oldest Debian with Python 3.11
# README's requirements; git for the clone, and procps as on any ordinary machine.
PACKAGES = ("ca-certificates", "git", "make", "procps", "python3", "python3-dev", "python3-venv")
COMMANDS = ("make run", "make test")
HOME = "home/user"
WORKERS_BESIDE_CI = 3
"""The test processes of `--short`, which run beside the targets and three measurements."""

# Tests whose result can depend on the machine: they start programs and servers as an ordinary user,
# without compilers and without Debian's servers; they install wheels, write private files, fill
# disks, and run commands with and without a terminal.
MACHINE_TESTS = (
    "tests/system",
    "tests/reports/test_reports_with_commands.py",
    "tests/unit/deploy",
    "tests/unit/scripts",
    "tests/unit/standalone",
    "tests/unit/workers",
)
# Tests in tests/system of pages, jobs and limits in a running system. It starts as in the other
# files, and then behaves the same on every machine.
SAME_EVERYWHERE = (
    "tests/system/test_addons_deleted.py",
    "tests/system/test_backpressure.py",
    "tests/system/test_chaos.py",
    "tests/system/test_hostile_page.py",
    "tests/system/test_item_files.py",
    "tests/system/test_items.py",
    "tests/system/test_killed_worker.py",
    "tests/system/test_mixed_versions.py",
    "tests/system/test_overrides_live.py",
    "tests/system/test_politeness.py",
    "tests/system/test_rates_and_urgency.py",
    "tests/system/test_refresh.py",
    "tests/system/test_run_changes.py",
    "tests/system/test_run_repeated.py",
    "tests/system/test_scrapy_packages.py",
    "tests/system/test_scrapy_spiders.py",
    "tests/system/test_scrapy_stored_pages.py",
    "tests/system/test_standalone_misbehaviour.py",
    "tests/system/test_traces.py",
    "tests/system/test_traps.py",
    "tests/system/test_upgrade.py",
)
# This machine's access to PyPI: variables that are passed on, and files that are copied.
PASSED_VARIABLES = re.compile(r"(PIP|UV|SSL|REQUESTS|CURL)_\w+|(?i:\w+_proxy)")
COPIED_PATHS = ("etc/resolv.conf", "etc/pip.conf", "etc/ssl/certs")
# Matches lines that report how a command ended.
SUMMARY = re.compile(
    r"(FAILED|ERROR|flaky,) |.*\b(passed|failed|errors?)\b.* in |.*\bstored\b|not here: "
)
LAST_LINES = 30


def main(commands: list[str]) -> int:
    """Run the commands on a bare machine. Returns the exit status."""
    reason = obstacle()
    if reason:
        print(f"bare machine: skipped: {reason}", flush=True)
        return 2 if os.environ.get("CI") == "true" else 0
    build_debian()
    copy_network_settings()
    clone_project()
    if commands == ["--short"]:
        commands = short_commands()
    for command in commands or COMMANDS:
        status = run(command)
        if status:
            return status
    return 0


def short_commands() -> list[str]:
    """Return `make run` and the tests whose result can differ on a bare machine."""
    ignored = (f"--ignore={path}" for path in SAME_EVERYWHERE)
    options = " ".join(("-q", *MACHINE_TESTS, *ignored))
    return ["make run", f"make test WORKERS={WORKERS_BESIDE_CI} ARGS='{options}'"]


def obstacle() -> str:
    """Return why a bare machine cannot be made here, or an empty string."""
    if sys.platform != "linux":
        return "it needs Linux"
    if os.geteuid() != 0:
        return "it needs root, for chroot (sudo make bare)"
    if not shutil.which("unshare"):
        return "it needs unshare (util-linux)"
    if not shutil.which("debootstrap") and not shutil.which("apt-get"):
        return "it needs debootstrap"
    return ""


def build_debian() -> None:
    """Create a minimal Debian with one ordinary user in the folder, unless it exists."""
    if (FOLDER / HOME).is_dir():
        return
    if not shutil.which("debootstrap"):
        report("installing debootstrap")
        run_quietly(["apt-get", "update", "-qq"])
        run_quietly(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "debootstrap"])
    report(f"building a minimal Debian in {FOLDER} (about a minute, once)")
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    include = f"--include={','.join(PACKAGES)}"
    run_quietly(["debootstrap", "--variant=minbase", include, SUITE, str(FOLDER), *mirror()])
    run_quietly(["chroot", str(FOLDER), "useradd", "-m", Path(HOME).name])


def mirror() -> list[str]:
    """Return the Debian mirror that apt uses here, or an empty list for debootstrap's default."""
    sources = Path("/etc/apt")
    files = [*sources.glob("sources.list"), *sources.glob("sources.list.d/*")]
    for file in sorted(files):
        for line in file.read_text(errors="replace").splitlines():
            match = re.match(r"(?:deb\s.*?|URIs:\s*)(https?://\S+/debian)/?(\s|$)", line)
            if match:
                return [match[1]]
    return []


def copy_network_settings() -> None:
    """
    Copy name servers, pip's configuration and certificates, so that PyPI is reachable
    there too.
    """
    (FOLDER / "etc/hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")
    for name in COPIED_PATHS:
        source, target = Path("/", name), FOLDER / name
        if source.is_dir():
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target, ignore_dangling_symlinks=True)
        elif source.is_file():
            target.unlink(missing_ok=True)
            shutil.copyfile(source, target)


def clone_project() -> None:
    """Clone the last commit as an ordinary user would."""
    home = FOLDER / HOME
    shutil.rmtree(home / "aragog", ignore_errors=True)
    run_quietly(["git", "clone", "--quiet", "--no-hardlinks", str(PROJECT), str(home / "aragog")])
    run_quietly(["chroot", str(FOLDER), "chown", "-R", "user:user", f"/{HOME}"])


def run(command: str) -> int:
    """Run a command as the user, in the clone. Prints how it ended and how long it took."""
    report(f"{command} …")
    log = FOLDER / HOME / f"{re.sub(r'[^a-z0-9]+', '-', command.lower()).strip('-')[:60]}.log"
    started_s = time.monotonic()
    with log.open("wb") as out:
        status = subprocess.run(
            in_the_folder(command), stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=False
        ).returncode
    for line in summary_lines(log, failed=status != 0):
        print(f"  {line}")
    report(f"{command}: exit {status} after {time.monotonic() - started_s:.0f} s, {log}")
    return status


def in_the_folder(command: str) -> list[str]:
    """
    Return the command line that runs a shell command inside the folder.

    It has its own mount and process namespaces, so whatever the command leaves running ends with
    it.
    """
    command_in_chroot = [
        "chroot", "--userspec=user:user", str(FOLDER), "/usr/bin/env", "-i",
        f"HOME=/{HOME}", "USER=user", "LOGNAME=user", "LANG=C.UTF-8", "TERM=dumb",
        "PATH=/usr/local/bin:/usr/bin:/bin",
        *(f"{n}={value}" for n, value in os.environ.items() if PASSED_VARIABLES.fullmatch(n)),
        "bash", "-c", f"cd ~/aragog && {command}",
    ]  # fmt: skip
    prepare = (
        'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && '
        'mount -t tmpfs tmpfs "$0/tmp" && exec "$@"'
    )
    namespaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
    return [*namespaces, "sh", "-c", prepare, str(FOLDER), *command_in_chroot]


def summary_lines(log: Path, *, failed: bool) -> Iterator[str]:
    """
    Yield the lines of a log that report how its command ended; after a failure also the
    last ones.
    """
    lines = log.read_text(errors="replace").splitlines()
    if failed:
        yield from lines[-LAST_LINES:]
    else:
        yield from [line for line in lines if SUMMARY.match(line)][-LAST_LINES:]


def run_quietly(command: list[str]) -> None:
    """Run a command. Exits with its output if it fails."""
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    process = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    if process.returncode:
        output = (process.stdout + process.stderr)[-3000:]
        raise SystemExit(f"bare machine: {' '.join(command)}: exit {process.returncode}\n{output}")


def report(text: str) -> None:
    """Print a line immediately, to show what is in progress."""
    print(f"bare machine: {text}", flush=True)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main(sys.argv[1:]))
