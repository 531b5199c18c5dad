"""`aragog doctor` finds dead or dangerous parts, names setting and remedy, and exits with 1."""

import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import orjson
import pytest
import redis
from click.testing import CliRunner

from aragog.bootstrap.stores import url_store
from aragog.cli import main
from aragog.cli.doctor.configuration import check_one_machine, is_this_machine
from aragog.cli.doctor.finding import CheckedSystem
from aragog.cli.doctor.servers import clock_findings, server_product, support_findings
from aragog.settings import (
    BrokerSettings,
    ContentSettings,
    FetchSettings,
    RedisSettings,
    Settings,
    StoreSettings,
)
from aragog.settings.in_use import SettingsInUse
from aragog.standalone.redis_server import RedisServer
from aragog.standalone.running_system import record_settings
from aragog.standalone.supervisor import Supervisor
from tests.support.cases import cases
from tests.support.standalone import free_port
from tests.support.waiting import wait_until

AGENT = "examplebot/1.0 (+https://example.com/bot)"


@pytest.fixture
def tcp_redis():
    """
    A healthy server for this test, with persistence.

    Persistence is on from its start: a server that gets it later does not end when asked to.
    """
    with (
        tempfile.TemporaryDirectory(prefix="ar") as folder,
        RedisServer(Path(folder), port=free_port(), persistent=True) as server,
    ):
        yield server


@pytest.fixture
def examine(tmp_path, tcp_redis):
    """
    `aragog doctor --no-workers` on a healthy Redis, with these settings; returns the problems by
    part.
    """

    def call(*options, **variables):
        environ = {
            "ARAGOG_DATA_DIR": str(tmp_path / "var"),
            "ARAGOG_SETTINGS": os.devnull,
            "ARAGOG_REDIS__URL": tcp_redis.url,
            "ARAGOG_BROKER__URL": tcp_redis.url.replace("redis://", "pinlater://"),
            "ARAGOG_FETCH__USER_AGENT": AGENT,
            **variables,
        }
        arguments = ["doctor", "--json", *(options or ["--no-workers"])]
        ran = CliRunner().invoke(main, arguments, env=environ, catch_exceptions=False)
        findings = orjson.loads(ran.stdout)
        failures = {f["part"]: f["text"] for f in findings if not f["ok"]}
        assert ran.exit_code == (1 if failures else 0)
        call.output = ran.output
        return failures

    return call


def test_healthy_system_has_no_findings(examine):
    assert examine() == {}


def test_dead_limiter_node_is_found(examine, tcp_redis):
    dead = f"redis://127.0.0.1:{free_port()}"

    failures = examine(ARAGOG_POLITENESS__LIMITER_URLS=f"{tcp_redis.url},{dead}")

    ((part, text),) = failures.items()
    assert part == f"politeness.limiter_urls {dead.removeprefix('redis://')}"
    assert "does not respond" in text


def test_dead_shard_is_found(examine):
    port = free_port()

    failures = examine(ARAGOG_BROKER__SHARDS=f"redis://127.0.0.1:{port}")

    assert "does not respond" in failures[f"broker.shards 127.0.0.1:{port}"]


def test_passwords_are_not_printed(examine):
    failures = examine(
        ARAGOG_REDIS__URL=f"redis://user:hunter2@127.0.0.1:{free_port()}",
        ARAGOG_BROKER__SHARDS=f"redis://:hunter2@127.0.0.1:{free_port()}",
    )

    assert len(failures) >= 2
    assert "hunter2" not in str(failures)


def test_servers_with_a_password_are_reached_with_it(examine, tcp_redis):
    with redis.Redis.from_url(tcp_redis.url) as client:
        client.config_set("requirepass", "hunter2")
    url = tcp_redis.url.replace("redis://", "redis://:hunter2@")

    assert examine(ARAGOG_REDIS__URL=url, ARAGOG_BROKER__URL=f"pinlater{url[5:]}") == {}
    assert "hunter2" not in examine.output


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl"])
def test_redis_that_evicts_is_refused(examine, tcp_redis, policy):
    with redis.Redis.from_url(tcp_redis.url) as client:
        client.config_set("maxmemory-policy", policy)

    ((_, text),) = examine().items()

    assert f"maxmemory-policy is {policy}" in text
    assert "noeviction" in text


def test_redis_that_loses_its_jobs_at_a_restart_is_refused(examine, tcp_redis):
    with redis.Redis.from_url(tcp_redis.url) as client:
        client.config_set("appendonly", "no")

    ((part, text),) = examine().items()

    assert part.endswith(", disk")
    assert "set appendonly to yes" in text


def test_limiter_node_may_lose_its_slots(examine, tcp_redis, redis_url):
    with redis.Redis.from_url(redis_url) as client:
        client.config_set("appendonly", "no")

    assert examine(ARAGOG_POLITENESS__LIMITER_URLS=redis_url) == {}


def test_unwritable_folder_for_the_crawl_log_is_found(examine, tmp_path):
    (tmp_path / "file").touch()

    good = examine(ARAGOG_CRAWL_LOG__ENGINE="folder")
    bad = examine(
        ARAGOG_CRAWL_LOG__ENGINE="folder", ARAGOG_CRAWL_LOG__FOLDER=str(tmp_path / "file/log")
    )

    assert good == {}
    assert "file/log" in bad["crawl_log"]


@pytest.mark.parametrize(
    ("name", "value", "reply"),
    cases("""
        SERVING__HOST               0.0.0.0        serving.tokens is empty
        SERVING__FLOWER_HOST        0.0.0.0        Flower has no login
        SERVING__TLS_CERT_FILE      /nowhere.pem   serving.tls_cert_file: cannot use
        SERVING__STANDBY_GATEWAYS   127.0.0.1:1    requires an HBase store
        PIPELINE__EXTRACTORS        nosuch         nosuch
        FETCH__HTTP2_HOSTS          a.test:443     is not a host name
        SITE_RULES_FILE             /nowhere.toml  /nowhere.toml
        POLITENESS__OVERRIDES_FILE  /nowhere.toml  /nowhere.toml
        STORE__ENGINE               memory         each process has its own data
    """),
)
def test_unusable_configuration_is_found(examine, name, value, reply):
    assert reply in " ".join(examine(**{f"ARAGOG_{name}": value}).values())


def test_dead_standby_is_found(examine):
    gateway = f"127.0.0.1:{free_port()}"

    failures = examine(
        ARAGOG_STORE__ENGINE="hbase",
        ARAGOG_STORE__HBASE_GATEWAYS=gateway,
        ARAGOG_SERVING__STANDBY_GATEWAYS=gateway,
    )

    assert gateway in failures[f"standby {gateway}"]


def test_crawler_without_a_contact_is_found(examine):
    assert "has no contact" in examine(ARAGOG_FETCH__USER_AGENT="bot")["fetch.user_agent"]


def test_dead_s3_is_found(examine, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")

    failures = examine(
        ARAGOG_CONTENT__ENGINE="s3",
        ARAGOG_CONTENT__S3_BUCKET="pages",
        ARAGOG_CONTENT__S3_REGION="us-east-1",
        ARAGOG_CONTENT__S3_ENDPOINT=f"http://127.0.0.1:{free_port()}",
    )

    assert "S3 bucket pages" in failures["content"]


@pytest.mark.s3
def test_s3_is_checked_with_the_credentials(examine, s3_settings, monkeypatch):
    variables = {
        "ARAGOG_CONTENT__ENGINE": "s3",
        "ARAGOG_CONTENT__S3_BUCKET": s3_settings.s3_bucket,
        "ARAGOG_CONTENT__S3_REGION": "us-east-1",
        "ARAGOG_CONTENT__S3_ENDPOINT": s3_settings.s3_endpoint,
    }
    assert examine(**variables) == {}

    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")

    assert "content" in examine(**variables)


@pytest.mark.hbase
def test_each_hbase_gateway_is_checked_separately(examine, hbase_settings, all_hbase_tables):
    dead = f"127.0.0.1:{free_port()}"
    variables = {
        "ARAGOG_STORE__ENGINE": "hbase",
        "ARAGOG_STORE__HBASE_PREFIX": hbase_settings.hbase_prefix,
        "ARAGOG_STORE__HBASE_GATEWAYS": ",".join(hbase_settings.hbase_gateways),
        # Together with HBase, files on one machine would be a finding of their own.
        "ARAGOG_CONTENT__ENGINE": "folder",
    }
    assert {part for part in examine(**variables) if part.startswith("hbase")} == set()
    for gateway in hbase_settings.hbase_gateways:
        assert f"hbase {gateway}" in examine.output

    gateways = ",".join((dead, *hbase_settings.hbase_gateways))
    one_dead = examine(**variables | {"ARAGOG_STORE__HBASE_GATEWAYS": gateways})
    no_tables = examine(**variables | {"ARAGOG_STORE__HBASE_PREFIX": "nobody_"})

    assert [part for part in one_dead if part.startswith("hbase")] == [f"hbase {dead}"]
    assert "create-tables" in no_tables[f"hbase {hbase_settings.hbase_gateways[0]}"]


@pytest.mark.rabbitmq
def test_rabbitmq_broker_is_checked_and_reported_without_its_password(examine, rabbitmq):
    assert "broker.url" not in examine(ARAGOG_BROKER__URL=rabbitmq.url)
    assert "responds" in examine.output

    wrong_password = rabbitmq.url.replace("guest:guest", "guest:hunter2")
    refused = examine(ARAGOG_BROKER__URL=wrong_password)
    dead = examine(ARAGOG_BROKER__URL=f"amqp://guest:hunter2@127.0.0.1:{free_port()}//")

    assert "does not respond" in refused["broker.url"]
    assert "does not respond" in dead["broker.url"]
    assert "hunter2" not in str(refused) + str(dead)


def test_damage_not_read_yet_is_found(examine, tmp_path):
    with closing(url_store(Settings(data_dir=tmp_path / "var"))) as store:
        for number in range(40):
            store.put(f"http://a.example/{number}", {"text": b"x" * 20_000})
    folder = tmp_path / "var" / "store"
    assert examine() == {}

    file = folder / "05.db"
    data = bytearray(file.read_bytes())
    data[8192:12288] = b"\xaa" * 4096  # the third page, which is not read at startup
    file.write_bytes(data)

    ((part, text),) = examine().items()
    assert part == "store"
    assert f"{file} is damaged" in text
    assert "aragog store repair" in text


def test_broken_sqlite_file_is_named(examine, tmp_path):
    folder = tmp_path / "var" / "store"
    folder.mkdir(parents=True)
    sqlite3.connect(folder / "00.db").close()
    (folder / "01.db").write_bytes(b"no database" * 1000)

    failures = examine()

    assert str(folder / "01.db") in failures["store"]
    assert str(folder / "00.db") not in failures["store"]


def test_repaired_store_is_healthy_although_damaged_files_are_kept(examine, tmp_path):
    """doctor failed for good after a repair, and hid other damage behind it."""
    settings = Settings(data_dir=tmp_path / "var")
    with closing(url_store(settings)) as store:
        for number in range(40):
            store.put(f"http://a.example/{number}", {"text": b"x" * 20_000})
    folder = tmp_path / "var" / "store"
    (folder / "05.db").write_bytes(b"no database" * 1000)
    assert "aragog store repair" in examine()["store"]
    with closing(url_store(settings)) as store:
        store.maintenance.repair(wait=False)

    assert examine() == {}
    assert "damaged files were kept by a repair" in examine.output
    (folder / "05.db").unlink()
    assert examine() == {}

    data = bytearray((folder / "06.db").read_bytes())
    data[8192:12288] = b"\xaa" * 4096
    (folder / "06.db").write_bytes(data)
    assert f"{folder / '06.db'} is damaged" in examine()["store"]


def test_full_disk_is_reported_when_the_store_cannot_be_read(examine, small_disk):
    """It only reported "OperationalError"."""
    settings = Settings(data_dir=small_disk.folder, store=StoreSettings(sqlite_shards=1))
    with closing(url_store(settings)) as store:
        store.put("http://a.example/", {"text": b"x"})
    small_disk.fill()

    failures = examine(ARAGOG_DATA_DIR=str(small_disk.folder), ARAGOG_STORE__SQLITE_SHARDS="1")

    assert "the disk is full" in failures["store"]
    assert "free some space" in failures["store"]
    assert "OperationalError" not in str(failures)


def test_missing_workers_and_beat_are_found(examine):
    failures = examine("--json")

    assert "no worker responds for fetch, robots" in failures["workers"]
    assert "no periodic task ran" in failures["beat"]


def test_stopped_system_is_found(tmp_path):
    environ = {
        "ARAGOG_DATA_DIR": str(tmp_path / "var"),
        "ARAGOG_SETTINGS": os.devnull,
        "ARAGOG_FETCH__USER_AGENT": AGENT,
        **{
            f"ARAGOG_SERVING__{name}_PORT": str(free_port())
            for name in ("HTTP", "THRIFT", "FLOWER")
        },
    }
    ran = CliRunner().invoke(main, ["doctor", "--json"], env=environ, catch_exceptions=False)
    failures = {f["part"]: f["text"] for f in orjson.loads(ran.stdout) if not f["ok"]}

    assert ran.exit_code == 1
    assert failures["redis"].startswith("not running; `aragog up` starts ")
    for name in ("HTTP", "Thrift"):
        port = environ[f"ARAGOG_SERVING__{name.upper()}_PORT"]
        assert failures[name].startswith(f"nothing listens on 127.0.0.1:{port}")
    before = CliRunner().invoke(main, ["doctor", "--json", "--no-workers"], env=environ)
    assert before.exit_code == 0, before.output


@pytest.fixture
def redis_files(tmp_path):
    """
    The private Redis files of a stopped system's data folder, with jobs written after a rewrite.
    """
    folder = tmp_path / "var" / "redis"
    with (
        RedisServer(folder, persistent=True, socket=tmp_path / "s") as server,
        redis.Redis.from_url(server.url) as client,
    ):
        client.mset({f"old:{number}": "x" * 40 for number in range(100)})
        client.bgrewriteaof()
        files = folder / "appendonlydir"
        wait_until((files / "appendonly.aof.2.base.rdb").exists)
        wait_until(lambda: not client.info("persistence")["aof_rewrite_in_progress"])
        client.mset({f"new:{number}": "x" * 40 for number in range(100)})
    return files


def findings_while_stopped(tmp_path):
    variables = {"ARAGOG_DATA_DIR": str(tmp_path / "var"), "ARAGOG_SETTINGS": os.devnull}
    result = CliRunner().invoke(main, ["doctor", "--no-workers", "--json"], env=variables)
    findings = orjson.loads(result.stdout)
    return [found for found in findings if found["part"] == "redis, files"]


def truncate_manifest(files):
    manifest = files / "appendonly.aof.manifest"
    manifest.write_text(manifest.read_text().splitlines(keepends=True)[0])


def damage_middle(files):
    file = files / "appendonly.aof.2.incr.aof"
    data = bytearray(file.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 60] = bytes(60)
    file.write_bytes(data)


@pytest.mark.parametrize("damage", [truncate_manifest, damage_middle])
def test_redis_files_that_would_prevent_a_start_are_found_while_stopped(
    redis_files, tmp_path, damage
):
    """doctor reported ok, and the next start lost 479 waiting URLs or failed."""
    assert [found["ok"] for found in findings_while_stopped(tmp_path)] == [True]
    damage(redis_files)

    (found,) = findings_while_stopped(tmp_path)

    assert not found["ok"]
    assert str(redis_files) in found["text"]
    assert "`aragog repair-redis`" in found["text"]


def test_settings_that_differ_from_the_running_system_are_found(examine, tmp_path):
    supervisor = Supervisor(tmp_path / "var", {})
    supervisor.acquire()
    try:
        running = FetchSettings(user_agent="examplebot/2.0 (+https://example.com/bot)")
        record_settings(Settings(data_dir=tmp_path / "var", fetch=running))

        assert "with other values of" in examine()["settings"]
        assert "fetch.user_agent" in examine()["settings"]
    finally:
        supervisor.stop()


def shared_findings(**sections):
    settings = Settings(redis=RedisSettings(url="redis://127.0.0.1:1"), **sections)
    return [f.text for f in check_one_machine(CheckedSystem(SettingsInUse(settings)))]


def test_local_files_with_a_broker_on_another_machine_are_refused():
    (text,) = shared_findings(broker=BrokerSettings(url="pinlater://192.0.2.1:6379"))

    assert "192.0.2.1" in text
    assert 'store.engine is "sqlite"' in text
    assert 'content.engine is "folder"' in text


def test_local_files_with_a_broker_on_the_same_machine_are_accepted():
    assert shared_findings(broker=BrokerSettings(url="pinlater://localhost:6379")) == []


def test_servers_on_other_machines_with_shared_stores_are_accepted():
    shared = {
        "store": StoreSettings(engine="hbase"),
        "content": ContentSettings(engine="s3", s3_bucket="pages"),
    }

    assert shared_findings(broker=BrokerSettings(url="amqp://192.0.2.1"), **shared) == []


@pytest.mark.parametrize(
    ("host", "is_here"),
    [("127.0.0.1", True), ("localhost", True), ("192.0.2.1", False), ("nowhere.invalid", False)],
)
def test_address_of_this_machine_is_recognized(host, is_here):
    assert is_this_machine(host) is is_here


@pytest.mark.parametrize(
    ("ahead_s", "reply"), [(0.1, ""), (5, "5.0 s ahead of"), (-5, "5.0 s behind")]
)
def test_clock_difference_is_found(ahead_s, reply):
    assert reply in "".join(f.text for f in clock_findings("redis", ahead_s))


def test_server_and_its_version_are_printed(examine):
    examine()

    assert "Valkey 9." in examine.output


def test_unsupported_server_version_is_a_warning():
    (finding,) = support_findings("redis, version", "Redis", "7.0.15")

    assert finding.ok
    assert finding.warning
    assert finding.text.startswith("Redis 7.0.15 no longer gets security fixes from its project")


def test_supported_server_versions_cause_no_warning():
    for name, version in (("Redis", "7.4.1"), ("Redis", "8.0.3"), ("Valkey", "9.1.2")):
        assert list(support_findings("redis, version", name, version)) == []


def test_valkey_is_not_mistaken_for_the_redis_version_it_reports():
    valkey = {"server_name": "valkey", "redis_version": "7.2.4", "valkey_version": "9.1.2"}

    assert server_product(valkey) == ("Valkey", "9.1.2")
    assert server_product({"redis_version": "7.0.15"}) == ("Redis", "7.0.15")
