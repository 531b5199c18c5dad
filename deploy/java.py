"""What the private servers in Java share: their jars from Maven Central, and free ports."""

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
    """The path of a program; CannotStart with the remedy where there is none."""
    found = shutil.which(name)
    if not found:
        raise CannotStart(f"{name} is not installed: {remedy}")
    return found


def jars(pom: Path, cache: Path = CACHE) -> Path:
    """
    The folder of a server's jars, fetched by Maven once for this pom.xml (half a minute).

    Safe beside another process that fetches them too: the first to finish is taken. Where a file
    `jars.sha256` is beside the pom.xml, other jars than those are refused.
    """
    name = pom.parent.name
    folder = cache / name / hashlib.sha256(pom.read_bytes()).hexdigest()[:16]
    if folder.is_dir():
        return folder / "lib"
    maven = tool("mvn", "apt install maven")
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix="part-", dir=folder.parent))
    try:
        # -C: a jar whose checksum is missing or wrong ends the build instead of a warning.
        copy = [maven, "-B", "-q", "-C", "-f", pom, "dependency:copy-dependencies",
                "-DincludeScope=runtime", f"-DoutputDirectory={part / 'lib'}"]  # fmt: skip
        done = subprocess.run(copy, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CannotStart(f"mvn could not fetch the jars:\n{done.stdout[-2000:]}")
        check(part / "lib", pom.with_name("jars.sha256"))
        if not folder.is_dir():
            part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder / "lib"


def check(lib: Path, hashes: Path) -> None:
    """Raise CannotStart unless the jars in `lib` are those of a file as sha256sum writes it."""
    if not hashes.exists():
        return
    lines = (line.split() for line in hashes.read_text().splitlines())
    expected = {name: digest for digest, name in lines}
    found = {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in lib.iterdir()}
    wrong = sorted(name for name, _ in expected.items() ^ found.items())
    if wrong:
        raise CannotStart(f"not the jars of {hashes.name}: {', '.join(dict.fromkeys(wrong))}")


def free_ports(count: int) -> list[int]:
    """
    Ports of 127.0.0.1 that nobody listens on at this moment, all different.

    A server binds them seconds later, so none is of those that the kernel gives to other sockets.
    """
    return list(islice(filter(_is_free, random.sample(PORTS, len(PORTS))), count))


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
