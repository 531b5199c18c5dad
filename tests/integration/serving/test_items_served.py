"""Items over HTTP, as documented."""

import orjson
import pytest

from aragog.api.server.http.services import Services
from aragog.pages.items import PageItems
from aragog.runtime.clock import ManualClock
from richpins.items import Item
from tests.support import api_server
from tests.support.documented import blocks
from tests.support.stores import NOW_MS, page, store_harness
from zengraph.tables.memory import MemoryTables

URL = "http://shop.example/c/lamps"
(EXAMPLE,) = blocks("docs/own-fields.md#items", "python", "from aragog.client")


@pytest.fixture
def server():
    store = store_harness(MemoryTables(ManualClock(NOW_MS))).store
    items = PageItems("shop.example", (Item({"sku": "L-1", "price": "5.00"}, "L-1"),)).stored()
    store.write_pages([page(URL, fields={"items.cards": orjson.dumps(items)})])
    with api_server.running(store, Services(kinds=frozenset({"offers", "products"}))) as running:
        yield running


def test_documented_example_prints_the_items(server, capsys):
    code = EXAMPLE.replace("http://127.0.0.1:8100", f"http://127.0.0.1:{server.port}")

    exec(compile(code, "docs/own-fields.md#items", "exec"), {})

    assert capsys.readouterr().out == f"L-1 5.00 {URL}\n"


def test_item_in_json_has_its_values_unchanged(server):
    reply = server.get("/v1/items?kind=cards&host=shop.example&key=L-1")

    assert reply.json == {
        "items": [
            {
                "kind": "cards", "key": "L-1", "values": {"sku": "L-1", "price": "5.00"},
                "page_url": URL, "fetched_at_ms": NOW_MS,
            }
        ],
        "cursor": None,
    }  # fmt: skip


@pytest.mark.parametrize("path", ["/v1/items?", "/v1/items/history?key=L-1&"])
def test_unknown_kind_is_refused_and_known_ones_are_named(server, path):
    """A misspelled kind returned an empty list, as if the shop sold nothing."""
    reply = server.get(f"{path}kind=product&host=shop.example")

    assert reply.status == 400
    assert "`extract` has offers, products" in reply.json["detail"]
    assert server.get(f"{path}kind=products&host=shop.example").status == 200


def test_removed_kind_stays_known_while_it_has_items(server):
    assert server.get("/v1/items?kind=cards&host=shop.example&key=none").json["items"] == []
    assert server.get("/v1/items?kind=cards&host=other.example").status == 400
