"""Creating and checking the tables, and what a scan holds open."""

from __future__ import annotations

import dataclasses
import threading

import pytest

from aragog.bootstrap.stores import hbase_tables
from tests.support.documented import Shell, blocks
from zengraph.errors import CorruptRow, InvalidArgument, InvalidConfig, StoreUnavailable
from zengraph.tables import FORMAT, OWN_ROWS, TABLES, Cell, newest_ms
from zengraph.tables.hbase import shell_commands
from zengraph.tables.hbase.connection import GatewayConnection, thrift_api

pytestmark = pytest.mark.hbase


@pytest.fixture
def admin(hbase_server):
    """A connection for operations that aragog itself never performs."""
    connection = GatewayConnection(hbase_server.gateways[0], timeout_s=60)
    yield connection
    connection.close()


def test_created_tables_pass_the_check_and_creating_again_changes_nothing(
    all_hbase_tables, hbase_settings
):
    all_hbase_tables["n"].put(b"tables-1", {b"m:a": b"1"}, at_ms=1000)

    hbase_tables(hbase_settings).create()

    assert all_hbase_tables.check() == []
    assert all_hbase_tables["n"].get(b"tables-1") == {b"m:a": Cell(b"1", 1000)}


def test_documented_commands_create_the_tables(hbase_server, hbase_settings, tmp_path):
    (settings,) = blocks("docs/deployment.md#hbase", "toml")
    make, show = blocks("docs/deployment.md#hbase", "sh", "aragog")
    file = tmp_path / "aragog.toml"
    file.write_text(settings.replace("127.0.0.1:9090", hbase_server.gateways[0]))
    environ = {
        "ARAGOG_DATA_DIR": str(tmp_path),
        "ARAGOG_SETTINGS": str(file),
        "ARAGOG_STORE__HBASE_PREFIX": "page_",
    }
    shell = Shell(environ, tmp_path)

    printed = shell.run(make.strip())
    commands = shell.run(show.strip()).splitlines()

    assert printed == "the tables of hbase exist\n"
    assert hbase_tables(dataclasses.replace(hbase_settings, hbase_prefix="page_")).check() == []
    assert len([line for line in commands if line.startswith("create 'page_")]) == len(TABLES)
    assert "FAST_DIFF" in commands[0]


def test_new_tables_have_the_newest_form_and_those_with_data_keep_form_1(hbase_settings):
    tables = hbase_tables(dataclasses.replace(hbase_settings, hbase_prefix="form_"))
    tables.create()
    assert tables.format() == FORMAT

    note = OWN_ROWS[1]
    tables["u"].delete(note, at_ms=newest_ms(tables["u"].get(note)))
    assert tables.format() == 1  # as in a version that stored no form
    tables["n"].put(b"node", {b"m:a": b"1"}, at_ms=1000)
    tables.create()
    assert tables.format() == 1
    tables["u"].put(note, {b"i:v": b"2"}, at_ms=newest_ms(tables["u"].get(note)) + 1)
    tables.create()
    assert tables.format() == 2
    tables.close()


def test_tables_can_be_created_by_two_processes_at_once(hbase_settings):
    tables = [hbase_tables(dataclasses.replace(hbase_settings, hbase_prefix="both_")) for _ in "12"]
    failed = []

    def create(each):
        try:
            each.create()
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=create, args=(each,)) for each in tables]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []
    assert tables[0].check() == []
    for each in tables:
        each.close()


def test_problems_of_tables_are_reported_with_their_remedy(hbase_settings, admin):
    settings = dataclasses.replace(hbase_settings, hbase_prefix="odd_")
    admin.create_table("odd_n", {"m": {"compression": "GZ", "max_versions": 1}, "s": {}})
    admin.create_table("odd_e", {"p": {}})
    admin.disable_table("odd_e")

    reported = "\n".join(hbase_tables(settings).check())

    assert "odd_n: has no family c" in reported
    assert "odd_n: COMPRESSION of family m is GZ, not SNAPPY" in reported
    assert (
        "odd_n: BLOOMFILTER of family s is NONE, not ROW: in the hbase shell, "
        "alter 'odd_n', {NAME => 's', BLOOMFILTER => 'ROW'}" in reported
    )
    assert "odd_n: VERSIONS of family s is 3, not 1" in reported
    assert "odd_n: BLOCKCACHE of family m is False, not True" in reported
    assert "odd_e: is disabled" in reported
    assert "odd_d: is missing: run `aragog store create-tables`" in reported


def test_unsupported_compression_is_a_config_error(hbase_settings):
    settings = dataclasses.replace(
        hbase_settings, hbase_prefix="zstd_", hbase_compression="ZSTD", hbase_pool_size=1
    )

    with pytest.raises(
        InvalidConfig, match=r"store\.hbase_compression: HBase does not support ZSTD"
    ):
        hbase_tables(settings).create()


def test_missing_table_is_reported_with_its_remedy(hbase_settings):
    tables = hbase_tables(dataclasses.replace(hbase_settings, hbase_prefix="nope_"))

    with pytest.raises(StoreUnavailable, match="run `aragog store create-tables`"):
        tables["n"].get(b"r")


def test_input_refused_by_hbase_is_bad_input_and_keeps_the_connection(all_hbase_tables):
    nodes = all_hbase_tables["n"]

    with pytest.raises(InvalidArgument, match="KeyValue size too large"):
        nodes.put(b"tables-2", {b"m:a": bytes(11 << 20)}, at_ms=1000)
    with pytest.raises(InvalidArgument, match="family:qualifier"):
        nodes.put(b"tables-2", {b"nocolon": b"1"}, at_ms=1000)
    with pytest.raises(InvalidArgument, match="Row length"):
        nodes.put(b"r" * 40_000, {b"m:a": b"1"}, at_ms=1000)
    assert nodes.get(b"tables-2") == {}


def test_invalid_counter_is_a_corrupt_row(all_hbase_tables):
    all_hbase_tables["n"].put(b"tables-3", {b"c:a": b"text"}, at_ms=1000)

    with pytest.raises(CorruptRow, match=rf"run_n, row {b'tables-3'.hex()}: not a counter"):
        all_hbase_tables["n"].incr(b"tables-3", b"c:a", 1)


def test_empty_request_returns_nothing(all_hbase_tables):
    nodes = all_hbase_tables["n"]
    nodes.put(b"tables-4", {b"m:a": b"1"}, at_ms=1000)
    nodes.put(b"tables-5", {}, at_ms=1000)
    nodes.put_many([])
    nodes.delete(b"tables-4", [], at_ms=2000)
    nodes.delete_many([])

    assert nodes.get(b"tables-4") == {b"m:a": Cell(b"1", 1000)}
    assert nodes.get(b"tables-4", []) == {}
    assert nodes.get_many([]) == {}
    assert nodes.get_many([b"tables-4"], []) == {}
    assert list(nodes.scan(b"tables-4", b"tables-6", columns=[])) == []
    assert list(nodes.scan(b"tables-4", None, limit=0)) == []


def test_many_rows_and_large_ones_fit_into_one_call_and_one_scan(fresh_hbase):
    table = fresh_hbase()["l"]
    small = {b"s%05d" % n: b"v" for n in range(3000)}
    large = {b"t%03d" % n: bytes(200_000) for n in range(30)}
    table.put_many([(row, {b"l:v": value}, 1000) for row, value in {**small, **large}.items()])

    assert {row: cells[b"l:v"].value for row, cells in table.scan(b"", None)} == small | large
    backward = [row for row, _ in table.scan(b"", None, reverse=True)]
    assert backward == sorted(small | large, reverse=True)
    assert len(table.get_many(list(small))) == 3000


def test_scan_holds_no_connection_while_the_caller_works(hbase_settings, all_hbase_tables):
    all_hbase_tables["h"].put_many([(b"scan-%04d" % n, {b"i:_": b""}, 1000) for n in range(300)])
    tables = hbase_tables(
        dataclasses.replace(hbase_settings, hbase_pool_size=1, hbase_timeout_ms=2000)
    )
    rows = tables["h"].scan(b"scan-", b"scan-~")

    seen = [tables["h"].get(row) for row, _ in rows]

    assert len(seen) == 300
    next(tables["h"].scan(b"scan-", None))
    assert tables["h"].get(b"scan-0001")
    tables.close()


def test_shell_commands_name_every_table_and_family():
    text = shell_commands("x_", "SNAPPY", 32)

    for name, families in TABLES.items():
        (line,) = [each for each in text.splitlines() if each.startswith(f"create 'x_{name}',")]
        for family in families:
            (part,) = [each for each in line.split("{") if each.startswith(f"NAME => '{family}'")]
            assert "REPLICATION_SCOPE => 1" in part
        assert "NUMREGIONS => 32" in line or '"\\x0f"' in line or name == "u"


def test_thrift_has_the_calls_that_happybase_lacks():
    for call in ("checkAndPut", "atomicIncrement", "scannerOpenWithScan", "mutateRowsTs"):
        assert call in thrift_api.Hbase.thrift_services
