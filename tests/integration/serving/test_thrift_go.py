"""A client in another language: Go, with Apache Thrift's library and generated code."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from aragog.runtime.clock import ManualClock
from pinlater.cluster import Cluster, connect_shards
from tests.support.missing_parts import GO, skip_without
from tests.support.stores import store_harness
from tests.support.thrift_server import generated, running
from zengraph.tables.memory import MemoryTables

# The library has the version of Debian's compiler, because generated code and library must match.
MODULE = """module aragog.test/client

go 1.21

require github.com/apache/thrift v0.17.0
"""
SOURCE = Path(__file__).parents[3] / "examples" / "thrift_go" / "main.go"


@pytest.fixture(scope="module")
def go_client(tmp_path_factory):
    """The program of examples/thrift_go, built."""
    folder = tmp_path_factory.mktemp("go")
    generated("go", folder)
    if shutil.which("go") is None:
        skip_without(GO)
    shutil.copytree(folder / "gen-go" / "urlstore", folder / "urlstore")
    for client in (folder / "urlstore").glob("*-remote"):
        shutil.rmtree(client)
    shutil.copy(SOURCE, folder)
    (folder / "go.mod").write_text(MODULE)
    environ = {**os.environ, "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"}
    built = subprocess.run(
        ["go", "build", "-o", "client", "."],
        check=False,
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    return folder / "client"


@pytest.mark.redis
def test_go_program_reads_writes_and_processes_a_job(go_client, redis_url):
    store = store_harness(MemoryTables(ManualClock())).store
    cluster = Cluster(connect_shards([redis_url]))
    with running(store, cluster=cluster) as server:
        done = subprocess.run(
            [go_client, f"127.0.0.1:{server.port}"],
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
        )

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "done"
    assert store.get("http://go.example/").fields == {"raw": b"\x00\xffx"}
