"""docs/table.md: its commands keep a table, and its programs read it."""

import shlex
from contextlib import closing

import pytest
from click.testing import CliRunner

from aragog.bootstrap.stores import url_store
from aragog.cli import main
from aragog.settings import load_settings
from aragog.urlstore.feed import SETTLE_MS
from aragog.urlstore.refresh_policy import Seen
from tests.support.documented import blocks
from tests.support.stores import page
from tests.support.waiting import wait_until

PAGE = "docs/table.md"


def run(*arguments, code=0):
    ran = CliRunner().invoke(main, ["table", *map(str, arguments)])
    assert ran.exit_code == code, ran.output
    return ran.output


def put(store, number, price):
    url, now_ms = f"http://shop.example/{number}", store.zen.clock.now_ms()
    fields = {"page.title": b'"Lamp %d"' % number, "product.price": b'"%d"' % price}
    seen = Seen(outcome="Fetched", fetched_at_ms=now_ms, body_hash=f"{number} {price}")
    store.write_pages([page(url, now_ms, fields=fields, seen=seen)])


@pytest.fixture
def store(tmp_path, monkeypatch):
    settings = tmp_path / "aragog.toml"
    settings.write_text(blocks(PAGE, "toml")[0])
    monkeypatch.setenv("ARAGOG_SETTINGS", str(settings))
    monkeypatch.setenv("ARAGOG_DATA_DIR", str(tmp_path / "data"))
    with closing(url_store(load_settings())) as opened:
        yield opened


def read(tmp_path, capsys):
    """What the programs of the page print."""
    for program in blocks(PAGE, "python"):
        exec(program.replace("/data/pages", str(tmp_path / "pages")), {})
    return capsys.readouterr().out


def test_the_page_builds_keeps_and_reads_a_table(store, tmp_path, capsys):
    install, first, later = (shlex.split(line) for line in blocks(PAGE, "sh")[0].splitlines())
    assert install[:2] == ["pip", "install"]
    assert first[:3] == later[:3] == ["aragog", "table", "/data/pages"]
    put(store, 1, 41)
    place = tmp_path / "pages"

    built = run(place, *first[3:])
    before = read(tmp_path, capsys)
    put(store, 1, 43)
    put(store, 2, 47)
    said = []

    def is_merged():
        said.append(run(place))
        return "2 pages written" in said[-1]

    wait_until(is_merged, SETTLE_MS / 1000 + 60)
    after = read(tmp_path, capsys)

    assert built.startswith("built from an export: 1 pages (there was no table)")
    assert "41" in before
    assert after.count("47") == 3
    assert after.count("43") == 2  # DuckDB shows the highest of the host
    assert later[3:] == ["--follow"]


def test_without_new_pages_in_the_feed_it_says_what_to_set(store, tmp_path, monkeypatch):
    monkeypatch.setenv("ARAGOG_REFRESH__REPORT_NEW_PAGES", "false")

    assert "set it to true for all workers" in run(tmp_path / "pages", "--fields", "t", code=1)


def test_a_new_table_needs_fields(store, tmp_path):
    assert "give --fields" in run(tmp_path / "pages", code=2)
