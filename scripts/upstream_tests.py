"""
Run kombu's Redis tests or Celery's integration tests over pinlater, on private servers.

    python scripts/upstream_tests.py kombu  FOLDER [--postgres] [pytest arguments]
    python scripts/upstream_tests.py celery FOLDER [--postgres] [pytest arguments]

FOLDER is the unpacked source distribution of the installed version, for example from
`pip download --no-deps --no-binary :all: celery==VERSION`. Its tests are copied to a temporary
folder, and brokers with the scheme `redis://` become `pinlater://`; nothing else is changed. With
`--postgres`, jobs are in PostgreSQL, and the tests' Redis carries the other messages: Celery's
broker is `pinlater+postgresql://`; kombu's tests, which read from the Redis in the broker's URL,
keep that URL. With `--stock` the tests run over `redis://`, for comparison. Celery's tests need
pytest-rerunfailures, pytest-timeout, pytest-subtests, pymemcache, sqlalchemy, azure-storage-blob
and `celery` on the PATH as well. packages/pinlater/README.md has the results.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from aragog.standalone.postgres_server import PostgresServer
from aragog.standalone.redis_server import RedisServer

JOBS_IN_POSTGRES = """
import os
from pinlater.transport.kombu_transport import Transport
Transport.shard_urls = (os.environ["JOBS"],)
"""
"""A pytest plugin for kombu's tests."""
KOMBU = ("t/integration/test_redis.py", "t/integration/test_redis_brpop_qos.py")


def free_port() -> int:
    """Return an unused TCP port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def kombu_tests(folder: Path, scheme: str) -> list[str]:
    """Change the scheme in kombu's Redis tests. Returns their files."""
    for name in KOMBU:
        path = folder / name
        path.write_text(path.read_text().replace("redis://", f"{scheme}://"))
    return list(KOMBU)


def environment(port: int, scheme: str) -> dict[str, str]:
    """Return the addresses as the tests of both projects read them."""
    server = f"127.0.0.1:{port}"
    return {
        "REDIS_HOST": "127.0.0.1",
        "REDIS_PORT": str(port),
        "REDIS_6379_TCP": str(port),
        "TEST_BROKER": f"{scheme}://{server}/1",
        "TEST_BACKEND": f"redis://{server}/0",
    }


def main(project: str, checkout: str, *arguments: str) -> int:
    """Run the tests. Returns pytest's exit code."""
    # A short path, because it contains the server's socket folder.
    with tempfile.TemporaryDirectory(prefix="ar") as temporary, ExitStack() as servers:
        folder = Path(temporary)
        shutil.copytree(Path(checkout) / "t", folder / "t")
        port = free_port()
        scheme = "redis" if "--stock" in arguments else "pinlater"
        tests = kombu_tests(folder, scheme) if project == "kombu" else ["t/integration"]
        selected = [argument for argument in arguments if argument.startswith("t/")] or tests
        own_arguments = ("t/", "--stock", "--postgres")
        options = [argument for argument in arguments if not argument.startswith(own_arguments)]
        # Importing pinlater registers the transport.
        command = [
            sys.executable, "-m", "pytest", "-p", "pinlater", "-p", "no:cacheprovider",
            "-c", os.devnull, "--rootdir", temporary, "-o", "python_classes=test_*", "-q",
            *options, *selected,
        ]  # fmt: skip
        env = {**os.environ, **environment(port, scheme)}
        if project == "celery":
            command[3:3] = ["-p", "celery.contrib.pytest"]
        servers.enter_context(RedisServer(folder / "redis", port=port))
        if "--postgres" in arguments:
            postgres = servers.enter_context(PostgresServer(folder / "postgres"))
            env |= jobs_in_postgres(project, folder, postgres.dsn, port)
            if project == "kombu":
                command[3:3] = ["-p", "jobs_in_postgres"]
        return subprocess.run(command, cwd=folder, env=env, check=False).returncode


def jobs_in_postgres(project: str, folder: Path, dsn: str, port: int) -> dict[str, str]:
    """Make the tests store their jobs in PostgreSQL. Returns the required variables."""
    if project == "celery":
        # Celery's tests read it, like its developers' own setup.
        options = {"control": f"redis://127.0.0.1:{port}/1"}
        overrides = folder / "integration-tests-config.json"
        overrides.write_text(json.dumps({"broker_transport_options": options}))
        return {"TEST_BROKER": f"pinlater+{dsn}"}
    (folder / "jobs_in_postgres.py").write_text(JOBS_IN_POSTGRES)
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    return {"JOBS": dsn, "PYTHONPATH": path}


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("kombu", "celery"):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
