"""
docs/exports.md#a-table-that-stays-current: its commands keep a table, and its programs read it.
"""

import shlex
from contextlib import closing

import orjson
import pytest
from click.testing import CliRunner

from aragog.bootstrap.stores import url_store
from aragog.cli import main
from aragog.pages.items import PageItems
from aragog.settings import load_settings
from aragog.urlstore.feed import SETTLE_MS
from aragog.urlstore.refresh_policy import Seen
from richpins.items import Item
from tests.support.documented import blocks
from tests.support.stores import page
from tests.support.waiting import wait_until

PAGE = "docs/exports.md#a-table-that-stays-current"


def run(*arguments, code=0):
    ran = CliRunner().invoke(main, ["table", *map(str, arguments)])
    assert ran.exit_code == code, ran.output
    return ran.output


def show(store, *some):
    """A page with items given as (key, price)."""
    url, now_ms = "http://shop.example/c/lamps", store.zen.clock.now_ms()
    items = tuple(Item({"sku": key, "price": price}, key) for key, price in some)
    fields = {"items.cards": orjson.dumps(PageItems("shop.example", items).stored())}
    seen = Seen(outcome="Fetched", fetched_at_ms=now_ms, body_hash=str(some))
    store.write_pages([page(url, now_ms, fields=fields, seen=seen)])


def put(store, number, price):
    url, now_ms = f"http://shop.example/{number}", store.zen.clock.now_ms()
    fields = {"page.title": b'"Lamp %d"' % number, "product.price": b'"%d"' % price}
    seen = Seen(outcome="Fetched", fetched_at_ms=now_ms, body_hash=f"{number} {price}")
    store.write_pages([page(url, now_ms, fields=fields, seen=seen)])


@pytest.fixture
def store(tmp_path, monkeypatch):
    settings = tmp_path / "aragog.toml"
    settings.write_text(
        "".join([blocks(PAGE, "toml")[0], *blocks("docs/own-fields.md#items", "toml")[:1]])
    )
    monkeypatch.setenv("ARAGOG_SETTINGS", str(settings))
    monkeypatch.setenv("ARAGOG_DATA_DIR", str(tmp_path / "data"))
    with closing(url_store(load_settings())) as opened:
        yield opened


def read(tmp_path, capsys, table="pages"):
    """The output of the page's programs for a table."""
    for program in blocks(PAGE, "python"):
        if f"/data/{table}" in program:
            exec(program.replace(f"/data/{table}", str(tmp_path / table)), {})
    return capsys.readouterr().out


def test_documented_commands_build_update_and_read_a_table(store, tmp_path, capsys):
    install, first, later = (shlex.split(line) for line in blocks(PAGE, "sh")[0].splitlines())
    assert install[:2] == ["pip", "install"]
    assert first[:3] == later[:3] == ["aragog", "table", "/data/pages"]
    put(store, 1, 41)
    place = tmp_path / "pages"

    built = run(place, *first[3:])
    before = read(tmp_path, capsys)
    put(store, 1, 43)
    put(store, 2, 47)
    outputs = []

    def is_merged():
        outputs.append(run(place))
        return "2 pages written" in outputs[-1]

    wait_until(is_merged, SETTLE_MS / 1000 + 60)
    after = read(tmp_path, capsys)

    assert built.startswith("built from an export: 1 pages (there was no table)")
    assert "41" in before
    assert after.count("47") == 3
    assert after.count("43") == 2  # DuckDB shows the highest price of the host
    assert later[3:] == ["--follow"]


def test_documented_commands_build_and_read_a_table_of_items(store, tmp_path, capsys):
    command = shlex.split(blocks(PAGE, "sh")[1])
    assert command[:3] == ["aragog", "table", "/data/cards"]
    show(store, ("L-1", "41.50"), ("L-2", "7"))
    place = tmp_path / "cards"

    built = run(place, *command[3:])
    before = read(tmp_path, capsys, "cards")
    show(store, ("L-1", "43"))
    outputs = []

    def is_merged():
        outputs.append(run(place))
        return "1 items written, 1 no longer in the table" in outputs[-1]

    wait_until(is_merged, SETTLE_MS / 1000 + 60)
    after = read(tmp_path, capsys, "cards")

    assert built.startswith("built from an export: 2 items (there was no table)")
    assert "41.5" in before
    assert "L-2" in before
    assert "43.0" in after
    assert "L-2" not in after


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--items", "card"), "the setting `extract` has no item kind 'card'; known: cards"),
        (
            ("--items", "cards", "--fields", "sku,color"),
            "cards has no field 'color'; known: sku, ",
        ),
        (("--fields", "page.title", "--host", "shop.example"), "--host needs --items"),
        (("--fields", "page.titel"), "'page.titel' is not a known field"),
    ],
)
def test_options_that_make_no_table_are_reported(store, tmp_path, options, message):
    assert message in run(tmp_path / "pages", *options, code=2)


def test_error_without_new_pages_in_the_feed_names_the_setting(store, tmp_path, monkeypatch):
    monkeypatch.setenv("ARAGOG_REFRESH__REPORT_NEW_PAGES", "false")

    assert "set it to true for all workers" in run(tmp_path / "pages", "--fields", "t", code=1)


def test_new_table_needs_fields(store, tmp_path):
    assert "pass --fields or --items" in run(tmp_path / "pages", code=2)
