"""
Moving content into packs, and its earlier versions, with the commands of
docs/store.md#content-in-packs.
"""

import shlex
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner

from aragog.bootstrap.stores import url_store
from aragog.cli import main
from aragog.settings import load_settings
from tests.support.documented import blocks
from tests.support.stores import body, page

URL = "https://example.com/"
FIRST_MS = int(datetime(2026, 10, 30, tzinfo=UTC).timestamp() * 1000)
LATER_MS = int(datetime(2026, 11, 20, tzinfo=UTC).timestamp() * 1000)
AS_OBJECTS = {"ARAGOG_CONTENT__LAYOUT": "objects"}
WITH_VERSIONS = {"ARAGOG_CONTENT__KEEP_VERSIONS": "3"}


@pytest.fixture
def place(tmp_path):
    environ = {"ARAGOG_DATA_DIR": str(tmp_path), "ARAGOG_SETTINGS": ""}

    class Place:
        folder = tmp_path

        def store(self, text, at_ms, more):
            opened = url_store(load_settings(environ=environ | more))
            opened.write_pages([page(URL, at_ms, content=body(text))])
            opened.close()

        def run(self, command, more):
            words = shlex.split(command)[1:]
            ran = CliRunner().invoke(main, words, env=environ | more)
            assert ran.exit_code == 0, ran.output
            return ran.stdout

        def files(self, pattern):
            return [path for path in tmp_path.rglob(pattern) if path.is_file()]

    return Place()


def test_documented_commands_move_objects_and_show_an_earlier_version(place):
    pack, export, at = (one.strip() for one in blocks("docs/store.md#content-in-packs", "sh"))
    place.store("<p>of October", FIRST_MS, AS_OBJECTS)
    assert not place.files("*.warc.zst")

    place.run(pack, WITH_VERSIONS)
    assert len(place.files("*.warc.zst")) == 1
    place.store("<p>of late November", LATER_MS, WITH_VERSIONS)

    assert place.run(f"aragog content {URL}", WITH_VERSIONS) == "<p>of late November"
    assert place.run(at, WITH_VERSIONS) == "<p>of October"
    for command in export.splitlines():
        place.run(command.replace("/data", str(place.folder)), WITH_VERSIONS)
    for name in ("archive", "for-search"):
        assert place.files(f"{name}/**/*.warc.*")
