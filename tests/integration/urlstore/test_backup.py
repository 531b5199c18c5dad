"""Backup and restore as described in docs/deployment.md."""

import os
import shutil

import pytest

from aragog.bootstrap.stores import url_store
from aragog.settings import load_settings
from tests.support.documented import Shell, blocks
from tests.support.stores import page

pytestmark = pytest.mark.redis

URL, OTHER = "http://site.test/page", "http://site.test/old"


@pytest.mark.parametrize("private", [False, True], ids=["redis.url", "private Redis"])
def test_copy_of_a_running_system_replaces_a_lost_one(cli_environ, tmp_path, monkeypatch, private):
    (copying,) = blocks("docs/deployment.md", "sh", "printf")
    (restoring,) = blocks("docs/deployment.md", "sh", "export")
    monkeypatch.setenv("ARAGOG_DATA_DIR", str(tmp_path / "data"))
    if private:  # and not running yet
        monkeypatch.delenv("ARAGOG_REDIS__URL")
    shell = Shell(dict(os.environ), tmp_path, {"/backup": str(tmp_path)})
    store = url_store(load_settings())
    store.write_pages([page(URL, fields={"page.title": b'"Kept"'})])
    store.aliases.merge(OTHER, URL)
    store.put_content(URL, b"<p>the page")

    copied = [shell.run(line) for line in copying.splitlines()]
    store.close()
    shutil.rmtree(tmp_path / "data")
    # The last line starts the system, as other tests do.
    restored = [shell.run(line) for line in restoring.splitlines() if line != "aragog up"]

    assert "aragog:" not in "".join(copied + restored)
    assert "Kept" in shell.run(f"aragog show {OTHER}")
    assert shell.run(f"aragog content {URL}") == "<p>the page"
