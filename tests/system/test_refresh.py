"""Pages are fetched again as long as they exist and somebody watches them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from aragog.bootstrap.stores import url_store
from aragog.client import Aragog
from aragog.standalone.supervisor import Child
from aragog.standalone.system import FRONTEND_GROUP, worker_command
from aragog.urlstore.feed import Change
from aragog.urlstore.records import Record
from tests.support.origin import Origin, Request, Wire, answer
from tests.support.origin import page as html
from tests.support.standalone import Standalone, standalone
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.slow]

PRICED, GONE, UNWATCHED, NEVER_WATCHED = (f"http://shop.test/{n}" for n in ("p", "gone", "r", "n"))
MIN_INTERVAL_S, MAX_INTERVAL_S = 1.0, 2.0
AGAIN = 2
"""Rounds that are observed after the final state is reached."""


@dataclass
class Shop:
    """The origin's response for each path from now on; None means 404."""

    prices: dict[str, str | None] = field(default_factory=dict)

    def __call__(self, request: Request, _: Wire) -> bytes:
        price = self.prices.get(request.path)
        if price is None:
            return answer(404, b"no such page")
        return html(
            b'<!doctype html><title>Thing</title><script type="application/ld+json">'
            b'{"@context": "https://schema.org", "@type": "Product", "name": "Thing", "offers":'
            b'{"@type": "Offer", "price": "%b", "priceCurrency": "EUR"}}</script>' % price.encode()
        )


@dataclass
class Seen:
    """The final state."""

    origin: Origin
    records: dict[str, Record]
    changes: list[Change]
    stopped_at: dict[str, int]
    """The number of requests to a path when its refreshing ended."""


@pytest.fixture(scope="module")
def seen() -> Iterator[Seen]:
    """
    A price changes, a page disappears, one is unwatched; then everything is observed for a while.
    """
    paths = ("/p", "/gone", "/r", "/n")
    shop = Shop(dict.fromkeys(paths, "5.00"))
    with Origin({"/robots.txt": answer(404), "/*": shop}) as origin:
        environ = {
            "ARAGOG_FETCH__HOST_MAP": f"*.test={origin.address}",
            "ARAGOG_FETCH__USER_AGENT": "aragog-test/1.0 (+http://127.0.0.1/)",
            "ARAGOG_REFRESH__MIN_INTERVAL_S": str(MIN_INTERVAL_S),
            "ARAGOG_REFRESH__MAX_INTERVAL_S": str(MAX_INTERVAL_S),
        }
        with standalone(environ) as system, Aragog(system.settings) as client:
            second_beat(system)
            client.watch([PRICED, GONE, UNWATCHED], owner="shop")
            client.enqueue([PRICED, GONE, UNWATCHED, NEVER_WATCHED])
            yield watched(system, client, shop, origin)


def second_beat(system: Standalone) -> None:
    """A second beat, which an operator may run for safety."""
    schedule = system.folder / "run" / "beat-2"
    system.supervisor.start(
        Child("beat-2", [*worker_command("beat"), "--schedule", str(schedule)], FRONTEND_GROUP)
    )


def watched(system: Standalone, client: Aragog, shop: Shop, origin: Origin) -> Seen:
    store = url_store(system.settings)
    stopped_at: dict[str, int] = {}

    def until(what: Callable[[], object]) -> None:
        wait_until(what, every_s=0.1, meanwhile=system.supervisor.check, otherwise=system.logs)

    def price() -> bytes | None:
        record = store.get(PRICED)
        return record and record.fields.get("product.price")

    def ended(path: str, url: str) -> bool:
        record = store.get(url)
        if record is None or record.due_at_ms is not None:
            return False
        stopped_at.setdefault(path, len(origin.of(path)))
        return True

    def rounds(path: str) -> int:
        return len(origin.of(path))

    until(lambda: all(store.schedule.watchers(url) for url in (PRICED, GONE, UNWATCHED)))
    until(lambda: all(store.get(url) for url in (PRICED, GONE, UNWATCHED, NEVER_WATCHED)))
    shop.prices |= {"/p": "4.00", "/gone": None}
    client.unwatch([UNWATCHED], owner="shop")
    until(lambda: not store.schedule.watchers(UNWATCHED) and ended("/r", UNWATCHED))
    until(lambda: price() == b'"4.00"')
    until(lambda: ended("/gone", GONE))
    before = {path: rounds(path) for path in ("/p", "/n")}
    until(lambda: all(rounds(path) >= n + AGAIN for path, n in before.items()))
    until(lambda: any(change.kind == "given_up" for change in store.feed.changes().items))
    records = dict(zip((PRICED, GONE), store.get_many([PRICED, GONE]), strict=True))
    changes = store.feed.changes(limit=1000).items
    store.close()
    return Seen(origin, records, changes, stopped_at)


def test_stored_price_follows_the_page(seen):
    assert seen.records[PRICED].fields["product.price"] == b'"4.00"'
    assert seen.records[PRICED].due_at_ms is not None


def test_feed_gives_the_watcher_the_old_and_new_price(seen):
    (changed,) = [c for c in seen.changes if c.url == PRICED and c.kind == "changed"]

    assert changed.fields == {"product.price": ('"5.00"', '"4.00"')}
    assert changed.owners == ("shop",)


def test_gone_page_is_confirmed_three_times_and_given_up(seen):
    gone = [c.kind for c in seen.changes if c.url == GONE]

    assert gone == ["new", "gone", "given_up"]
    assert seen.records[GONE].due_at_ms is None
    assert seen.records[GONE].fields["product.price"] == b'"5.00"', "stored fields stay"
    assert len(seen.origin.of("/gone")) == seen.stopped_at["/gone"]


def test_unwatched_page_is_no_longer_fetched(seen):
    under_way = 1
    assert len(seen.origin.of("/r")) <= seen.stopped_at["/r"] + under_way


def test_page_never_watched_is_refreshed_too(seen):
    assert len(seen.origin.of("/n")) > AGAIN


def test_two_beats_fetch_no_page_twice(seen):
    """
    Refreshes are at least the shortest interval apart; a duplicate would follow within
    milliseconds.
    """
    for path in ("/p", "/n", "/gone"):
        assert min(seen.origin.gaps_ms(path)) > MIN_INTERVAL_S * 1000 / 2
