"""
Run kombu's Redis tests or Celery's integration tests over pinlater, on a private redis-server.

    python scripts/upstream_tests.py kombu  FOLDER [pytest arguments]
    python scripts/upstream_tests.py celery FOLDER [pytest arguments]

FOLDER is the unpacked source distribution of the installed version, for example from
`pip download --no-deps --no-binary :all: celery==VERSION`. Its tests are copied to a temporary
folder, and brokers with the scheme `redis://` become `pinlater://`; nothing else is changed. With
`--stock` the tests run over `redis://`, for a comparison. Celery's tests need
pytest-rerunfailures, pytest-timeout, pytest-subtests, pymemcache, sqlalchemy, azure-storage-blob
and `celery` on the PATH as well. aragog/pinlater/README.md has the results.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from aragog.standalone.redis_server import RedisServer

KOMBU = ("t/integration/test_redis.py", "t/integration/test_redis_brpop_qos.py")


def free_port() -> int:
    """A TCP port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def kombu_tests(folder: Path, scheme: str) -> list[str]:
    """Give the Redis tests of kombu this scheme; returns their files."""
    for name in KOMBU:
        path = folder / name
        path.write_text(path.read_text().replace("redis://", f"{scheme}://"))
    return list(KOMBU)


def environment(port: int, scheme: str) -> dict[str, str]:
    """The addresses, as the tests of both projects read them."""
    server = f"127.0.0.1:{port}"
    return {
        "REDIS_HOST": "127.0.0.1",
        "REDIS_PORT": str(port),
        "REDIS_6379_TCP": str(port),
        "TEST_BROKER": f"{scheme}://{server}/1",
        "TEST_BACKEND": f"redis://{server}/0",
    }


def main(project: str, checkout: str, *arguments: str) -> int:
    """Run the tests; returns pytest's exit code."""
    # Not a long path: it contains the server's folder.
    with tempfile.TemporaryDirectory(prefix="ar") as temporary:
        folder = Path(temporary)
        shutil.copytree(Path(checkout) / "t", folder / "t")
        port = free_port()
        scheme = "redis" if "--stock" in arguments else "pinlater"
        tests = kombu_tests(folder, scheme) if project == "kombu" else ["t/integration"]
        chosen = [each for each in arguments if each.startswith("t/")] or tests
        options = [each for each in arguments if not each.startswith(("t/", "--stock"))]
        # Importing aragog.pinlater registers the transport.
        command = [
            sys.executable, "-m", "pytest", "-p", "aragog.pinlater", "-p", "no:cacheprovider",
            "-c", os.devnull, "--rootdir", temporary, "-o", "python_classes=test_*", "-q",
            *options, *chosen,
        ]  # fmt: skip
        if project == "celery":
            command[3:3] = ["-p", "celery.contrib.pytest"]
        with RedisServer(folder / "redis", port=port):
            return subprocess.run(
                command, cwd=folder, env={**os.environ, **environment(port, scheme)}, check=False
            ).returncode


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("kombu", "celery"):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
