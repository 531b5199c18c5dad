"""A standby cluster gets all writes, set up as in docs/deployment.md#hbase."""

import shutil
import subprocess
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from aragog.bootstrap.stores import hbase_tables
from aragog.errors import StoreUnavailable
from deploy.hbase.server import HERE, jars
from deploy.java import tool
from tests.support.hbase_server import start_hbase
from tests.support.missing_parts import JDK, unless
from tests.support.servers import folder_of_a_server
from tests.support.waiting import wait_until
from zengraph.tables import Cell

pytestmark = [pytest.mark.hbase, unless(shutil.which("javac"), JDK)]

PROGRAM = Path(__file__).with_name("ReplicateTable.java")


@contextmanager
def replicated(primary, standby, table, log):
    """Until the block ends, the primary replicates a table to the standby as its peer."""
    class_path = f"{primary.folder / 'conf'}:{jars()}/*"
    java = tool("java", "apt install openjdk-17-jre-headless")
    command = [java, f"@{HERE / 'jvm.options'}", "-cp", class_path, PROGRAM]
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            [*command, standby.cluster_key, table],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
        ) as process,
    ):  # fmt: skip
        started = process.stdout.readline()
        assert started == "replicates\n", log.read_text()
        yield
        process.stdin.close()
    assert process.returncode == 0, log.read_text()


@pytest.fixture
def standby():
    with folder_of_a_server("hbase") as folder:
        server = start_hbase(folder, gateways=1)
        yield server
        server.kill()


def test_row_is_replicated_to_the_standby(
    hbase_server, hbase_settings, all_hbase_tables, standby, tmp_path
):
    there = hbase_tables(replace(hbase_settings, hbase_gateways=standby.gateways))
    name = f"{hbase_settings.hbase_prefix}n"

    def copy():
        try:
            return there["n"].get(b"replicated")
        except StoreUnavailable:  # the table is being created
            return {}

    with replicated(hbase_server, standby, name, tmp_path / "log"):
        all_hbase_tables["n"].put(b"replicated", {b"m:a": b"1"}, at_ms=1000)

        assert wait_until(copy, every_s=0.1) == {b"m:a": Cell(b"1", 1000)}
    there.close()
