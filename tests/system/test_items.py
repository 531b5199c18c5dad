"""Items end to end: a shop's listings become rows, once each, despite repeated and killed runs."""

import json
import signal

import pytest

from tests.support.documented import blocks
from tests.support.item_runs import LIMIT_S, prepare, rows, run, started
from tests.support.origin import Origin, answer, page
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.slow, pytest.mark.timeout(900)]

DOCS = "docs/own-fields.md#items"
RULES = blocks(DOCS, "toml")[0].replace('.example"', '.test"')
COMMAND, *_ = blocks(DOCS, "sh")
PAGES, EACH = 3, 20


def card(number, price):
    shown = f"<i class=price>€ {price}</i>" if price else ""
    return (
        f'<div class=card><b class=sku>L-{number}</b><a class=name href="/p/{number}">Lamp '
        f"{number}</a>{shown}</div>"
    )


def listing(shop, number):
    """A page of the category; its last two items are the first two of the next page."""
    first = (number - 1) * (EACH - 2)
    cards = "".join(card(n, shop.prices.get(n, f"{n + 1},50")) for n in range(first, first + EACH))
    next_link = (
        f'<a class=next href="/c/lamps?page={number + 1}">next</a>' if number < PAGES else ""
    )
    return f"<html><h1>Lamps</h1>{cards}<div class=card><b class=sku>none</b></div>{next_link}".encode()


@pytest.fixture
def shop():
    """A shop with 56 lamps on three listing pages, two of each also on the next page."""

    def listed(request, _):
        return page(listing(origin, int(request.query.removeprefix("page=") or 1)))

    routes = {"//shop.test/robots.txt": answer(404, b""), "//shop.test/c/lamps": listed}
    with Origin(routes) as origin:
        origin.prices = {}
        yield origin


@pytest.fixture
def folder(tmp_path):
    return prepare(tmp_path, RULES, "http://shop.test/c/lamps\n")


def test_listings_give_one_row_per_product(folder, shop):
    output, errors = run(folder, shop, COMMAND)

    found = rows(folder / "cards.csv")
    assert sorted(int(row["sku"][2:]) for row in found) == list(range(56))
    row = next(row for row in found if row["sku"] == "L-7")
    assert row == {
        "sku": "L-7", "name": "Lamp 7", "url": "http://shop.test/p/7", "price": "8.50",
        "page_url": "http://shop.test/c/lamps",
    }  # fmt: skip
    assert "56 items in cards.csv; 3 dropped (3 price: nothing found)" in output
    assert "56 items on 3 pages of 3 URLs" in errors


def test_repeated_or_killed_run_writes_no_row_twice(folder, shop):
    process = started(folder, shop, COMMAND)
    wait_until(lambda: any("/c/lamps" in seen.path for seen in shop.seen), LIMIT_S)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=LIMIT_S)

    for _ in range(2):
        run(folder, shop, COMMAND)
        skus = [row["sku"] for row in rows(folder / "cards.csv")]
        assert len(skus) == len(set(skus)) == 56
    assert [path.name for path in folder.glob("cards*")] == ["cards.csv"]


def test_price_change_is_in_the_feed_by_sku(folder, shop):
    run(folder, shop, COMMAND)
    shop.prices[17] = "3,90"  # on the first page only
    shop.prices[18] = "2,90"  # on the first page and the second
    run(folder, shop, f"{COMMAND.strip()} --refresh")

    output, _ = run(folder, shop, "aragog changes --json")

    news = [change["fields"] for change in map(json.loads, output.splitlines())]
    found = [(name, v["before"], v["now"]) for fields in news for name, v in fields.items()]
    # At least once: pages stored at the same moment both report a shared item.
    assert sorted(set(found)) == [
        ('items.cards["L-17"].price', "18.50", "3.90"),
        ('items.cards["L-18"].price', "19.50", "2.90"),
    ]
    prices = {row["sku"]: row["price"] for row in rows(folder / "cards.csv")}
    assert (prices["L-17"], prices["L-18"], prices["L-19"]) == ("3.90", "2.90", "20.50")


def test_export_of_the_store_has_the_items_in_every_format(folder, shop):
    run(folder, shop, COMMAND)
    for name in ("items.jsonl", "items.json", "items.parquet", "items.sqlite", "items.csv.gz"):
        output, _ = run(folder, shop, f"aragog store export {name} --items cards")
        assert "56 items" in output, name

    lines = [json.loads(line) for line in (folder / "items.jsonl").open()]
    assert len({line["sku"] for line in lines}) == len(lines) == 56
    assert next(line["price"] for line in lines if line["sku"] == "L-7") == 8.5


def test_items_are_extracted_again_when_the_rules_change(folder, shop):
    run(folder, shop, COMMAND)
    requests = len(shop.seen)
    settings = folder / "aragog.toml"
    settings.write_text(settings.read_text().replace('required = ["price"]', 'required = ["sku"]'))
    run(folder, shop, "aragog reextract --all")

    output, _ = run(folder, shop, "aragog store export - --items cards --fields sku,price")

    prices = {row["sku"]: row["price"] for row in map(json.loads, output.splitlines())}
    assert len(prices) == 57
    assert prices["none"] is None
    assert len(shop.seen) == requests
