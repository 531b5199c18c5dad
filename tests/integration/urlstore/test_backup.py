"""Backup and restore as docs/deployment.md describes them."""

import shutil

import pytest
from click.testing import CliRunner

from aragog.bootstrap.stores import url_store
from aragog.cli import main
from aragog.settings import load_settings
from tests.support.stores import page

pytestmark = pytest.mark.redis

URL, OTHER = "http://site.test/page", "http://site.test/old"


@pytest.fixture
def run(tmp_path, redis_url, redis_server, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "ARAGOG_DATA_DIR": str(tmp_path / "data"),
        "ARAGOG_SETTINGS": "",
        "ARAGOG_REDIS__URL": redis_url,
        "ARAGOG_BROKER__URL": f"pinlater+socket://{redis_server.socket}?virtual_host=1",
    }.items():
        monkeypatch.setenv(name, value)

    def call(*arguments):
        ran = CliRunner().invoke(main, arguments)
        assert ran.exit_code == 0, ran.output
        return ran.output

    return call


def test_a_copy_of_a_running_system_replaces_a_lost_one(run, tmp_path, monkeypatch):
    store = url_store(load_settings())
    store.write_pages([page(URL, fields={"page.title": b'"Kept"'})])
    store.aliases.merge(OTHER, URL)
    store.put_content(URL, b"<p>the page")
    (tmp_path / "backup.toml").write_text(f'data_dir = "{tmp_path / "copy"}"\n')

    run("store", "copy", "backup.toml")
    store.close()
    shutil.rmtree(tmp_path / "data")
    monkeypatch.setenv("ARAGOG_DATA_DIR", str(tmp_path / "copy"))
    run("store", "adopt", "--yes")

    assert "Kept" in run("show", OTHER)
    assert run("content", URL) == "<p>the page"
