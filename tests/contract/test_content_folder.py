"""Behavior of the folder adapter alone: files, leftovers, a full disk."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import deque

import pytest

from aragog.errors import ConfigError, ContentUnavailable, CorruptContent
from aragog.urlstore.content import FileFolder, FolderContent
from aragog.urlstore.content.file_folder import drop_written

KEY = hashlib.sha256(b"x").hexdigest()


def test_header_is_one_readable_line(tmp_path):
    FolderContent(tmp_path).put(KEY, b"body", {"url": "https://example.com/"})

    line, body = (tmp_path / KEY[:2] / KEY).read_bytes().split(b"\n", 1)
    assert json.loads(line)["meta"] == {"url": "https://example.com/"}
    assert body == b"body"


@pytest.mark.parametrize("damage", [lambda d: d[:-1], lambda d: d + b"x", lambda d: d[:-1] + b"X",
                                    lambda d: d[5:], lambda d: b"", lambda d: d[:20]])  # fmt: skip
def test_damage_is_detected(tmp_path, damage):
    store = FolderContent(tmp_path)
    store.put(KEY, b"body", {})
    path = tmp_path / KEY[:2] / KEY
    path.write_bytes(damage(path.read_bytes()))

    with pytest.raises(CorruptContent) as caught:
        store.get(KEY)
    assert caught.value.key == KEY


def test_content_is_stored_with_fsync(tmp_path):
    store = FolderContent(tmp_path, fsync=True)
    store.put(KEY, b"body", {"a": "b"})

    assert store.get(KEY) == (b"body", {"a": "b"})


def test_full_disk_raises_content_unavailable_and_keeps_the_old_body(tmp_path):
    class Full(FolderContent):
        def _write(self, path, parts):
            # Every write to /dev/full fails with ENOSPC, as on a full disk.
            path.symlink_to("/dev/full")
            with path.open("wb", buffering=0) as file:
                file.write(b"".join(parts))

    FolderContent(tmp_path).put(KEY, b"old", {})

    with pytest.raises(ContentUnavailable, match="disk is full: free some space"):
        Full(tmp_path).put(KEY, b"new", {})
    assert FolderContent(tmp_path).get(KEY) == (b"old", {})
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize("written", [0, 1, 2, 3, 4, 5, 6])
def test_interrupted_write_continues_where_it_stopped(written):
    left = deque(map(memoryview, (b"ab", b"c", b"def")))

    drop_written(left, written)

    assert b"".join(left) == b"abcdef"[written:]


def test_file_with_more_parts_than_one_call_takes_is_complete(tmp_path):
    parts = [b"%d," % n for n in range(3000)]

    FileFolder(tmp_path).replace_file(tmp_path / "file", parts)
    FileFolder(tmp_path).replace_file(tmp_path / "empty", [])

    assert (tmp_path / "file").read_bytes() == b"".join(parts)
    assert (tmp_path / "empty").read_bytes() == b""


def test_data_dir_that_is_not_a_folder_is_a_config_error(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(ConfigError, match="data_dir"):
        FolderContent(tmp_path / "file" / "content")


def test_old_leftovers_are_swept_and_recent_ones_stay(tmp_path):
    FolderContent(tmp_path)
    old, young = tmp_path / "tmp" / "old", tmp_path / "tmp" / "young"
    old.touch()
    young.touch()
    os.utime(old, (time.time() - 7200,) * 2)

    FolderContent(tmp_path)

    assert not old.exists()
    assert young.exists()


def test_killed_writer_leaves_complete_objects(tmp_path):
    code = f"""
from pathlib import Path
from aragog.urlstore.content import FileFolder, FolderContent
from aragog.urlstore.content.file_folder import drop_written
store = FolderContent(Path({str(tmp_path)!r}))
n = 0
while True:
    n += 1
    store.put({KEY!r}, str(n % 10).encode() * 300_000, {{"n": str(n % 10)}})
    if n == 3:
        print("going", flush=True)
"""
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as writer:
            writer.stdout.readline()
            writer.send_signal(signal.SIGKILL)
        body, meta = FolderContent(tmp_path).get(KEY)
        assert body == meta["n"].encode() * 300_000


def test_others_cannot_read_the_folder_whatever_its_mode_was(tmp_path):
    """The mode was 0755 if the folder existed before, and its files were 0644."""
    folder = tmp_path / "content"
    folder.mkdir(mode=0o755)
    before = os.umask(0o022)
    try:
        FolderContent(folder).put(KEY, b"body", {})
    finally:
        os.umask(before)

    modes = [path.stat().st_mode & 0o077 for path in (folder, *folder.rglob("*"))]
    assert not any(modes), modes
