"""Backup and restore of a store in PostgreSQL, with the commands of docs/deployment.md."""

import os
import shutil
import threading
from contextlib import closing

import pytest

from aragog.bootstrap.stores import url_store
from aragog.settings import load_settings
from tests.support.documented import Shell, blocks
from tests.support.stores import body, page
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.postgres, pytest.mark.redis]

URL, OTHER = "http://site.test/page", "http://site.test/old"


@pytest.fixture
def environ(cli_environ, postgres_dsn, postgres_server, tmp_path, monkeypatch):
    """Settings of a store in PostgreSQL, with that server's programs in the path."""
    for name, value in {
        "ARAGOG_STORE__ENGINE": "postgres",
        "ARAGOG_STORE__DSN": postgres_dsn,
        "PATH": f"{postgres_server.programs.folder}:{os.environ['PATH']}",
    }.items():
        monkeypatch.setenv(name, value)


class Writer(threading.Thread):
    """Writes pages until stopped."""

    def __init__(self):
        super().__init__(daemon=True)
        self.written, self._stopped = 0, threading.Event()

    def run(self):
        with closing(url_store(load_settings())) as store:
            while not self._stopped.is_set():
                url = f"http://more.test/{self.written}"
                store.write_pages([page(url, fields={"t": b"1"}, content=body(url), links=[URL])])
                self.written += 1

    def stop(self):
        self._stopped.set()
        self.join(60)


@pytest.mark.usefixtures("environ")
def test_dump_made_while_pages_are_written_is_restored(postgres_server, tmp_path, monkeypatch):
    (dumping,) = blocks("docs/deployment.md", "sh", "pg_dump")
    (restoring,) = blocks("docs/deployment.md", "sh", "aws s3 sync s3://pages-backup")
    folder = load_settings().data_dir
    content, copied = folder / "content", tmp_path / "copy"
    instead = {
        "aws s3 sync s3://pages-backup s3://pages": f"cp -r {copied} {content}",
        "aws s3 sync s3://pages s3://pages-backup": f"cp -r {content} {copied}",
        "/backup": str(tmp_path),
    }
    shell = Shell(dict(os.environ), tmp_path, instead)
    shell.run("aragog store create-tables")
    with closing(url_store(load_settings())) as store:
        store.write_pages([page(URL, fields={"page.title": b'"Kept"'}, content=body("the page"))])
        store.aliases.merge(OTHER, URL)
    writer = Writer()
    writer.start()
    wait_until(lambda: writer.written > 20)

    dumped = [shell.run(line) for line in dumping.splitlines()]
    writer.stop()
    at_the_dump = writer.written
    shutil.rmtree(content)
    empty = postgres_server.create_database("restored")
    monkeypatch.setenv("ARAGOG_STORE__DSN", empty)
    shell.environ = dict(os.environ)
    restored = [shell.run(line) for line in restoring.splitlines()]

    assert "error" not in "".join(dumped + restored).lower()
    with closing(url_store(load_settings())) as store:
        assert store.get(OTHER).fields["page.title"] == b'"Kept"'
        assert store.content(OTHER).body == b"the page"
        urls = [f"http://more.test/{n}" for n in range(at_the_dump)]
        found = [record for record in store.get_many(urls) if record is not None]
        assert len(found) >= 20
        for record in found[-20:]:  # every pointer has its content
            assert store.content(record.url).body == record.url.encode()
            assert [link.url for link in store.links.outlinks(record.url).items] == [URL]
    postgres_server.drop_database("restored")
