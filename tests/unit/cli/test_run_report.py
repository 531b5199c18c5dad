"""The summary card at the end of `aragog run`."""

from rich.console import Console

from aragog.cli.run_report import best_record, card
from aragog.settings import StoreSettings
from aragog.urlstore.content.memory import MemoryContent
from aragog.urlstore.store import UrlStore
from tests.support.stores import page
from zengraph.tables.memory import MemoryTables

LAMP = "http://shop.test/lamp"


def test_page_with_the_most_fields_is_shown_without_terminal_escapes():
    store = UrlStore(MemoryTables(), MemoryContent(), StoreSettings())
    store.write_pages(
        [
            page("http://shop.test/", fields={"page.title": b'"Shop"'}),
            page(LAMP, fields={"page.title": b'"Lamp \\u001b[2J"', "product.price": b'"89.90"'}),
        ]
    )

    record = best_record(store, ["http://shop.test/", LAMP, "http://shop.test/unknown"])
    console = Console(width=100)
    with console.capture() as captured:
        console.print(card(store, record))

    assert record.url == LAMP
    assert "89.90" in captured.get()
    assert " ago" in captured.get()
    assert "\x1b" not in captured.get()


def test_no_card_without_a_page():
    store = UrlStore(MemoryTables(), MemoryContent(), StoreSettings())

    assert best_record(store, [LAMP]) is None
