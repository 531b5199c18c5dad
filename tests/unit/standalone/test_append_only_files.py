"""Damaged files of a real server, or a truncated manifest: nothing is lost silently."""

import shutil

import pytest
import redis

from aragog.errors import ConfigError
from aragog.standalone.append_only_files import AppendOnlyFiles
from aragog.standalone.redis_server import RedisServer
from tests.support.waiting import wait_until

pytestmark = pytest.mark.redis
VALUE = b"v" * 40
KEYS = 200


def keys_of(folder):
    with RedisServer(folder, persistent=True) as server, redis.Redis.from_url(server.url) as client:
        return client.dbsize()


@pytest.fixture
def folder(tmp_path_factory):
    """Files of a server with 200 keys in a snapshot, and 200 in an incremental file."""
    folder = tmp_path_factory.mktemp("r")
    with RedisServer(folder, persistent=True) as server, redis.Redis.from_url(server.url) as client:
        for number in range(KEYS):
            client.set(f"old:{number}", VALUE)
        client.bgrewriteaof()
        wait_until((folder / "appendonlydir" / "appendonly.aof.2.base.rdb").exists)
        wait_until(lambda: not client.info("persistence")["aof_rewrite_in_progress"])
        for number in range(KEYS):
            client.pipeline().set(f"new:{number}", VALUE).incr("count").execute()
    return folder


def incremental(folder):
    return folder / "appendonlydir" / "appendonly.aof.2.incr.aof"


def manifest(folder):
    return folder / "appendonlydir" / "appendonly.aof.manifest"


def test_files_after_a_clean_shutdown_have_no_problems(folder):
    files = AppendOnlyFiles(folder)

    assert (files.problems(), files.damage(), files.repair()) == ([], None, [])
    assert keys_of(folder) == 2 * KEYS + 1


@pytest.mark.parametrize("lost", ["folder", "contents"])
def test_server_without_its_files_starts_empty_only_on_request(folder, lost):
    """Regression: it started silently, without the jobs."""
    shutil.rmtree(folder / "appendonlydir")
    if lost == "contents":
        (folder / "appendonlydir").mkdir()
    files = AppendOnlyFiles(folder)

    with pytest.raises(ConfigError, match="has no files, although"):
        keys_of(folder)
    assert files.repair() == files.problems() != []

    files.set_aside()
    assert keys_of(folder) == 0
    assert files.problems() == []


@pytest.mark.parametrize("kept_lines", [0, 1])
def test_truncated_manifest_is_refused_and_repaired(folder, kept_lines):
    """Regression: it silently started without the incremental file; 479 waiting URLs were lost."""
    lines = manifest(folder).read_text().splitlines(keepends=True)
    manifest(folder).write_text("".join(lines[:kept_lines]))

    with pytest.raises(
        ConfigError, match=r"(?s)incr\.aof.* does not list it.*repair-redis"
    ) as caught:
        keys_of(folder)
    assert str(incremental(folder)) in str(caught.value)

    assert AppendOnlyFiles(folder).repair()
    assert keys_of(folder) == 2 * KEYS + 1


def test_missing_manifest_is_refused_and_repaired(folder):
    text = manifest(folder).read_text()
    manifest(folder).unlink()

    with pytest.raises(ConfigError, match=r"base\.rdb"):
        keys_of(folder)

    AppendOnlyFiles(folder).repair()
    assert manifest(folder).read_text() == text
    assert keys_of(folder) == 2 * KEYS + 1


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text + "\0" * 40 + "\n",
        lambda text: text + "\0" * 40,
        lambda text: text.rstrip("\n"),
        lambda text: "\0" * len(text),
        lambda text: text.replace("type i", "type ?"),
    ],
    ids=["trailing bytes", "no end of line", "last line not ended", "zeros", "a letter"],
)
@pytest.mark.parametrize("is_empty", [False, True], ids=["with jobs", "new file"])
def test_damaged_manifest_is_reported_and_repaired(folder, spoil, is_empty):
    """Regression: Redis refused it with raw log lines, and the repair found no problem."""
    whole = manifest(folder).read_text()
    if is_empty:
        incremental(folder).write_bytes(b"")
    manifest(folder).write_text(spoil(whole))

    with pytest.raises(ConfigError, match="repair-redis"):
        keys_of(folder)
    assert AppendOnlyFiles(folder).problems()

    assert AppendOnlyFiles(folder).repair()
    assert manifest(folder).read_text() == whole
    assert keys_of(folder) == (KEYS if is_empty else 2 * KEYS + 1)


def test_repair_names_the_missing_file(folder):
    incremental(folder).unlink()

    done = AppendOnlyFiles(folder).repair()

    assert any(str(incremental(folder)) in text and "lost" in text for text in done)
    assert keys_of(folder) == KEYS


def test_damage_in_the_middle_is_reported_and_the_repair_keeps_everything_before_it(folder):
    """Regression: the error was raw log lines and the name of a program that is not in the wheel."""
    data = bytearray(incremental(folder).read_bytes())
    at = data.index(b"new:100")
    data[at - 30 : at + 30] = bytes(60)
    incremental(folder).write_bytes(data)

    with pytest.raises(ConfigError, match=r"(?s)is damaged at byte [\d,]+ of .*repair-redis"):
        keys_of(folder)

    (text,) = AppendOnlyFiles(folder).repair()
    assert "bytes are lost" in text
    assert keys_of(folder) == KEYS + 100 + 1
    kept = incremental(folder).with_name(f"{incremental(folder).name}.damaged")
    assert kept.read_bytes() == data


def test_partial_transaction_before_the_damage_is_dropped(folder):
    data = bytearray(incremental(folder).read_bytes())
    at = data.index(b"INCR", data.index(b"new:100"))
    data[at - 8 : at + 4] = b"\xff" * 12
    incremental(folder).write_bytes(data)

    AppendOnlyFiles(folder).repair()

    with RedisServer(folder, persistent=True) as server, redis.Redis.from_url(server.url) as client:
        assert client.get("new:100") is None
        assert client.get("count") == b"100"


def test_end_truncated_by_a_crash_is_left_to_the_server(folder):
    data = incremental(folder).read_bytes()
    incremental(folder).write_bytes(data[:-7])

    assert AppendOnlyFiles(folder).damage() is None
    assert keys_of(folder) == 2 * KEYS


def test_leftovers_of_rewrites_are_not_a_problem(folder):
    (folder / "appendonlydir" / "appendonly.aof.1.incr.aof").write_bytes(b"*1\r\n$4\r\nPING\r\n")
    (folder / "appendonlydir" / "appendonly.aof.3.incr.aof").touch()
    (folder / "appendonlydir" / "appendonly.aof.3.base.rdb").write_bytes(b"VALKEY")

    assert AppendOnlyFiles(folder).problems() == []
    assert keys_of(folder) == 2 * KEYS + 1


def test_unrepairable_files_are_set_aside_and_kept(folder):
    base = folder / "appendonlydir" / "appendonly.aof.2.base.rdb"
    base.write_bytes(base.read_bytes()[:40] + b"\0" * 400)
    with pytest.raises(ConfigError, match=r"(?s)did not start.*repair-redis --set-aside"):
        keys_of(folder)

    kept = AppendOnlyFiles(folder).set_aside()

    assert keys_of(folder) == 0
    assert (kept / base.name).exists()
