"""Jars from Maven Central and free ports for the private servers in Java."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import socket
import subprocess
import tempfile
from itertools import islice
from pathlib import Path

from deploy.processes import CannotStart

CACHE = Path(os.environ.get("ARAGOG_CACHE", Path(__file__).resolve().parents[1] / ".cache"))
PORTS = range(10_000, 12_000)


def tool(name: str, remedy: str) -> str:
    """Return the path of a program. Raises CannotStart with the remedy if it is missing."""
    path = shutil.which(name)
    if not path:
        raise CannotStart(f"{name} is not installed: {remedy}")
    return path


def jars(pom: Path, cache: Path = CACHE) -> Path:
    """
    Return the folder of a server's jars. Maven fetches them once per pom.xml (half a minute).

    Several processes may fetch them at once; the first result is kept. If there is a file
    `jars.sha256` next to the pom.xml, other jars are refused.
    """
    name = pom.parent.name
    folder = cache / name / hashlib.sha256(pom.read_bytes()).hexdigest()[:16]
    if folder.is_dir():
        return folder / "lib"
    maven = tool("mvn", "apt install maven")
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix="part-", dir=folder.parent))
    try:
        # -C: a missing or wrong checksum of a jar fails the build.
        command = [maven, "-B", "-q", "-C", "-f", pom, "dependency:copy-dependencies",
                "-DincludeScope=runtime", f"-DoutputDirectory={temporary / 'lib'}"]  # fmt: skip
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        if process.returncode:
            raise CannotStart(f"mvn could not fetch the jars:\n{process.stdout[-2000:]}")
        check(temporary / "lib", pom.with_name("jars.sha256"))
        if not folder.is_dir():
            temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder / "lib"


def check(lib: Path, hashes: Path) -> None:
    """Raise CannotStart unless the jars in `lib` have the hashes in a file of sha256sum."""
    if not hashes.exists():
        return
    lines = (line.split() for line in hashes.read_text().splitlines())
    expected = {name: digest for digest, name in lines}
    actual = {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in lib.iterdir()}
    differing = sorted(name for name, _ in expected.items() ^ actual.items())
    if differing:
        raise CannotStart(f"not the jars of {hashes.name}: {', '.join(dict.fromkeys(differing))}")


def free_ports(count: int) -> list[int]:
    """
    Return different ports of 127.0.0.1 that are free now.

    A server binds them seconds later, so they are outside the range that the kernel assigns.
    """
    return list(islice(filter(_is_free, random.sample(PORTS, len(PORTS))), count))


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
