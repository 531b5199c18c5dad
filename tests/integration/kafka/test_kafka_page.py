"""The commands and records of docs/refresh.md#kafka, on a broker."""

import json
import os
from contextlib import closing
from dataclasses import replace

import pytest

from aragog.bootstrap.stores import url_store
from aragog.runtime.clock import ManualClock, SystemClock
from aragog.settings import load_settings
from aragog.urlstore.refresh_policy import Seen
from tests.support.documented import Shell, blocks
from tests.support.stores import page

pytestmark = [pytest.mark.kafka, pytest.mark.redis]

URL = "https://shop.example/p/1"


def test_commands_and_records_match_the_page(cli_environ, make_topic, tmp_path):
    changes, wanted = make_topic(), make_topic()
    wanted.put(
        [blocks("docs/refresh.md#kafka", "json")[1].replace(', "crawl": "shops"', ""), URL + "?b"]
    )
    clock = ManualClock(SystemClock().now_ms() - 60_000)
    with closing(url_store(load_settings(), clock)) as store:
        store.schedule.watch(URL, "shop")
        for price in (b'"5.00"', b'"4.00"'):
            clock.advance_ms(9)
            at_ms = clock.now_ms()
            seen = Seen(outcome="Fetched", fetched_at_ms=at_ms, page_type="product")
            store.write_pages([page(URL, at_ms, seen=seen, fields={"product.price": price})])
    instead = {
        "kafka://127.0.0.1:9092/changes": f"kafka://{changes.server.address}/{changes.name}",
        "kafka://127.0.0.1:9092/urls": f"kafka://{wanted.server.address}/{wanted.name}",
    }
    shell = replace(Shell(dict(os.environ), tmp_path), instead=instead)

    assert not (wrong := shell.mismatches("docs/refresh.md#kafka")), wrong
    shown = json.loads(blocks("docs/refresh.md#kafka", "json")[0])
    sent = json.loads(changes.records()[-1].value())
    unlike = {"id": "", "cursor": "", "at_ms": 0}
    assert {**sent, **unlike} == {**shown, **unlike}
    assert next(iter(sent)) == "id"
    assert len(sent["id"]) == len(shown["id"])
