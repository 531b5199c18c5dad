"""
Every read operation over all interfaces, and commands with `--json`: the same responses and errors.
"""

from contextlib import closing
from urllib.parse import quote

import orjson
import pytest
from click.testing import CliRunner

from aragog.api.operations import fetching as fetching_module
from aragog.api.operations.table import OPERATIONS
from aragog.api.server.http.services import Services
from aragog.bootstrap.stores import url_store
from aragog.cli import main
from aragog.client import AsyncClient, Client
from aragog.crawl.pipeline.completions import Completions
from aragog.errors import (
    BadInput,
    TakenDown,
)
from aragog.settings import load_settings
from tests.support import api_server
from tests.support.every_way import (
    ALIAS,
    PINS,
    UNKNOWN,
    WAYS,
    A,
    called,
    changed,
    enqueue,
    filled,
    graphs,
    plain,
    store,
    ways,
)
from tests.support.stores import page
from tests.unit.pages.test_main_text import FIRST, PAGE

pytestmark = pytest.mark.redis
__all__ = ["changed", "graphs", "store", "ways"]  # fixtures


READS = {
    "get": [(A,), (A, ["page.title"]), (A, []), (ALIAS,), (UNKNOWN,), (A, None, {"facts": True}),
            (ALIAS, ["page.title"], {"include": ("aliases", "inlinks", "fetch")}), (A, [], {"include": ("inlinks",), "facts": True}),
            (A, {"purpose": "search"}), (ALIAS, ["page.title"], {"purpose": "ai-train"}),
            (A, {"purpose": "ai-train", "include": ("inlinks",)}), (A, {"purpose": "sale"}),
            (UNKNOWN, {"include": ("aliases",)}), (A, {"include": ("all",)})],
    "get_many": [([A, ALIAS, UNKNOWN, A],), ([A], ["team.n", "none"]), ([],), ([A], None, {"facts": True}),
                 ([A, UNKNOWN], None, {"purpose": "ai-train"}), ([A], ["page.title"], {"purpose": "search"}),
                 ([A], {"purpose": "sale"})],
    "outlinks": [(A,), (A, 1), (UNKNOWN,), (A, 5000)],
    "inlinks": [(A,), ("http://b.example/", 10), ("http://b.example/", {"count": True})],
    "count_inlinks": [("http://b.example/",), (UNKNOWN,)],
    "aliases": [(A,), (UNKNOWN,)],
    "history": [(A, "product.price"), (A, "none")],
    "field_sizes": [(A,), (ALIAS, 2), (A, 2, "page.title"), (UNKNOWN,), (A, 5, "zz")],
    "same_content": [(A,), (UNKNOWN,), (A, 5000, {"within": 3}), (A, 1, "zz"), (A, {"within": 4})],
    "items": [("cards", "a.example"), ("cards", "A.example", 1), ("cards", "a.example", {"key": "1"}), ("none", "a.example"),
              ("cards", "a.example", 1, "zz"), ("no kind", "a.example"), ("cards", "a.example", {"purpose": "ai-train"})],
    "item_history": [("cards", "a.example", "1"), ("cards", "a.example", "none")],
    "watchers": [(A,), (UNKNOWN,)],
    "changes": [({},), ({"cursor": "now"},), ({"owner": "me", "limit": 3},), ({"items": "cards", "key": "1"},), ({"key": "1"},)],
    "batch_progress": [("batch-0000",), ("batch-none",)],
    "enqueue": [
        ([A, "nonsense"], {"depth": 2, "include": ["*/p/*"], "exclude": ["*.pdf"]}),
        ([A], {"run_after": 7, "priority": 0, "refresh": True, "sitemap": True, "request_id": "r"}),
        ([A], {"batch": "batch-0000", "traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}),
        ([],),
    ],
    "get_node": [
        (A,), (A, ["page.title"]), (ALIAS,), (UNKNOWN,), ("00" * 16,), ("a" * 32,), ("no id",), ("é" * 32,),
        ("ada", PINS), ("ada", ["raw", "none"], PINS), ("a" * 32, PINS), ("ada", {"graph": "none"}), ("é" * 101, PINS),
    ],
    "get_nodes": [
        ("pins", ["lamp", "none", "ada", "lamp"]), ("pins", ["ada"], ["raw"]), ("pins", []), ("none", ["ada"]), ("pins", [""]),
    ],
    "scan_nodes": [("pins",), ("pins", 1), ("pins", 1, "5" * 32, ["raw"]), ("pins", 5, "zz"), ("none",)],
    "lookup": [("team.n", b"7"), ("team.n", b"8"), ("page.title", b'"T"'), ("team.n", b"7", 5, "zz"),
               ("pin.site", b"shop", PINS), ("pin.site", b"shop"), ("team.n", b"7", PINS), ("user.email", b"a@x.example", PINS)],
    "lookup_unique": [
        ("team.code", b"x1"), ("team.code", b"x1", ["team.n"]), ("team.code", b"x2"), ("team.n", b"7"),
        ("user.email", b"a@x.example", ["raw"], PINS), ("user.email", b"none", PINS), ("pin.site", b"shop", PINS),
    ],
    "get_edge": [
        ("a" * 32, 20, "b" * 32, {"score": 7}), ("a" * 32, 20, "b" * 32), ("a" * 32, 20, "no id"), (A, 0, "b" * 32),
        (A, 1, A), ("ada", 16, "lamp", PINS), ("lamp", 16, "ada", PINS), ("ada", 16, "lamp", {"graph": "pins", "score": 99}),
    ],
    "edges": [
        (A, 0), (A, 0, "out", 1), ("http://b.example/", 0, "in"), (A, 16, "in", {"reverse": True}),
        (A, 1, "both"), (A, 1, "in"), ("a" * 32, 20, "out", 1), ("a" * 32, 20, "out", 5, {"reverse": True}),
        ("ada", 16, PINS), ("ada", 16, "out", 2, {"graph": "pins", "reverse": True}), ("lamp", 16, "in", PINS), ("ada", 0, PINS),
        ("ada", 16, "out", 9, {"graph": "pins", "least_score": 0}), ("ada", 16, "out", 9, {"graph": "pins", "most_score": 0}),
        ("a" * 32, 20, "out", 9, {"least_score": 0}), ("a" * 32, 20, "out", 9, {"most_score": 6, "reverse": True}),
        ("ada", 16, "out", 9, "00", PINS),
    ],
    "count_edges": [(A, 0), ("http://b.example/", 0, "in"), ("a" * 32, 20), ("b" * 32, 20, "in"),
                    ("ada", 16, PINS), ("lamp", 16, "in", PINS), ("ada", 17, PINS), ("ada", 1, PINS)],
    "edges_by_prefix": [
        ("pins", "ada", 18, b"an"), ("pins", "ada", 18, b"an", "out", 2), ("pins", "ada", 18, b"an\xff", {"reverse": True}),
        ("pins", "ada", 18, b"", {"score": 1}), ("pins", "contact 0", 18, b"a", "in"), ("pins", "ada", 16, b"an"),
        ("none", "ada", 18, b"an"), ("pins", "ada", 18, b"x" * 501), ("pins", "ada", 18, b"an", "out", 5, "00"), ("pins", "ada", 1, b"an"),
    ],
    "node_properties": [
        ("pins", "ada"), ("pins", "ada", "r"), ("pins", "ada", "", 1), ("pins", "ada", "", 1, "raw"), ("pins", "ada", "x"),
        ("pins", "nobody"), ("none", "ada"),
    ],
    "lookup_prefix": [
        ("pins", "user.email", b"a@"), ("pins", "user.email", b""), ("pins", "user.email", b"b"), ("pins", "pin.site", b"s"),
        ("pins", "user.email", b"a", 1, "zz"), ("none", "user.email", b"a"),
    ],
    "takedowns": [({},), (1,), (2, "domain:e.example"), ({"cursor": "nonsense"},)],
    "token_view": [({},)],
    "list_crawls": [({},)],
    "get_crawl": [("docs",), ("enqueued",), ("none",)],
    "crawl_report": [("docs",), ("none",)],
    "try_scope": [("docs", A), ("docs", "HTTP://b.example", {"page_url": A}), ("none", A)],
    "fetch": [
        (A, {"max_wait_ms": 0, "max_age_s": 3}), (A, ["page.title"], {"field_max_age_s": {"x": 1.5}}),
        (A, {"content": True}), (A, {"field_max_age_s": {"x": -1.0}}),
    ],
    "explain": [(A,), ("HTTP://A.example:80/p?utm_source=x",)],
    "get_fresh": [
        (A,), (ALIAS, ["page.title"], {"max_age_s": 0.5, "field_max_age_s": {"x:y": 1.5, "z": 2.0}}),
        (A, [], {"include": ("aliases", "inlinks", "fetch"), "max_wait_ms": 5}), (A, {"purpose": "ai-train"}),
        (A, {"max_age_s": -1.0}), (A, {"field_max_age_s": {"x": -1.0}}), (A, {"include": ("all",)}), (A, {"purpose": "sale"}),
    ],
}  # fmt: skip
"""Calls whose results do not depend on earlier calls."""


REMOVED, REMOVED_ALIAS, OF_REMOVED_HOST = (
    "http://c.example/gone", "http://c.example/old", "http://d.example/never",
)  # fmt: skip


def test_taken_down_url_has_the_same_answer_over_all_interfaces(ways, store):
    store.write_pages([page(REMOVED, fields={"page.title": b'"T"'}, also=(REMOVED_ALIAS,))])
    store.takedowns.take_down(url=REMOVED)
    store.takedowns.take_down(host="d.example")
    calls = [
        ("get", {}), ("get", {"fields": ["page.title"]}), ("get", {"facts": True}),
        ("content_part", {}), ("fetch", {"max_wait_ms": 0}), ("get_fresh", {}), ("put", {"fields": {"a": b"1"}}),
        ("add_links", {"links": []}), ("watch", {"owner": "me"}),
    ]  # fmt: skip
    for way, client in ways.items():
        for url in (REMOVED, REMOVED_ALIAS, OF_REMOVED_HOST):
            for name, options in calls:
                with pytest.raises(TakenDown) as error:
                    getattr(client, name)(url, **options)
                assert error.value.url == url, (way, name)
        for fields in (None, ["page.title"]):
            known, *removed, unknown = client.get_many(
                [A, REMOVED, REMOVED_ALIAS, OF_REMOVED_HOST, UNKNOWN], fields
            )
            assert [type(error) for error in removed] == [TakenDown] * 3, way
            assert [error.url for error in removed] == [REMOVED, REMOVED_ALIAS, OF_REMOVED_HOST]
            assert (known["page.title"], unknown) == ("T", None), way


COMMANDS = {
    ("show", A): ("/v1/urls?url=", None),
    ("show", A, "--fields", "page.title"): ("/v1/urls?fields=page.title&url=", None),
    ("show", A, "--max-age", "10000000000", "--wait", "0"): (
        "/v1/urls?max_age=10000000000&url=",
        None,
    ),
    ("links", A): ("/v1/links?url=", "links"),
    ("links", "http://b.example/", "--in"): ("/v1/links?direction=in&url=", "links"),
    ("changes",): ("/v1/changes", "changes"),
    ("store", "takedowns"): ("/v1/takedowns", "takedowns"),
}
"""Commands with `--json` and their HTTP equivalents; lists are printed one item per line."""


@pytest.mark.parametrize("command", COMMANDS)
def test_command_prints_the_json_of_http(command, tmp_path, monkeypatch, redis_client):
    monkeypatch.setenv("ARAGOG_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("CELERY_BROKER_URL", raising=False)
    path, member = COMMANDS[command]
    with closing(url_store(load_settings())) as store:
        filled(store)
        url = quote(command[1], safe="") if "url=" in path else ""
        fetching = fetching_module.Fetching(store, enqueue, Completions(redis_client, prefix="t:"))
        with api_server.running(store, Services(fetching=fetching)) as server:
            expected = server.get(path + url).json
        fetching.close()

    printed = CliRunner().invoke(main, [*command, "--json"]).stdout

    if member is None:
        assert without_age(orjson.loads(printed)) == without_age(expected)
    else:
        assert [orjson.loads(line) for line in printed.splitlines()] == expected[member]


def without_age(record):
    """The JSON of a record without its age, which grows between two reads."""
    age_s = record.get("freshness", {}).pop("age_s", None)
    assert age_s is None or age_s > 0
    return record


@pytest.mark.parametrize("name", READS)
def test_read_returns_the_same_over_all_interfaces(ways, name):
    for arguments in READS[name]:
        expected = called(ways["direct"], name, arguments)
        for way in WAYS[1:]:
            assert plain(called(ways[way], name, arguments)) == plain(expected), (way, arguments)


def test_content_is_read_whole_and_in_parts(ways):
    for client in ways.values():
        assert client.content(A) == b"0123456789"
        assert client.content(UNKNOWN) is None
        part = client.content_part(ALIAS, offset_bytes=3, limit_bytes=4)
        assert (part.url, part.body, part.total_bytes) == (A, b"3456", 10)


def test_main_text_is_read_over_all_interfaces(ways, store):
    body = PAGE.encode()
    store.put_content(A, body, {"content_type": "text/html"})

    for client in ways.values():
        assert FIRST in client.content(A, form="text").decode()
        assert b"Imprint" not in client.content(A, form="text")
        assert b"## The harvest" in client.content(ALIAS, form="markdown")
        assert client.content(A) == body
        assert client.content(UNKNOWN, form="text") is None
        with pytest.raises(BadInput, match="original, text, markdown"):
            client.content(A, form="pdf")


def test_values_are_decoded_by_their_formats(ways):
    from decimal import Decimal

    for client in ways.values():
        record = client.get(A)
        assert (record["page.title"], record["product.price"]) == ("T", Decimal("2.00"))
        assert record.fields["product.price"] == b'"2.00"'
        assert (record["team.n"], record["team.raw"]) == ("7", bytes(range(256)))
        assert (record.get("none"), "none" in record) == (None, False)


def test_every_operation_has_all_interfaces_and_a_test():
    named = {*READS, "take_edges", "trim_edges", "mutate", "put_node", "remove_node", "put_edge", "remove_edge", "take_down", "lift_takedown", "content_part", "put", "delete_fields", "remove", "add_links", "remove_links",
            "start_crawl", "set_crawl_state", "delete_crawl", "cancel_urls", "decide_template", "list_templates",
            "watch", "unwatch", "enqueue_jobs", "dequeue_jobs", "ack_jobs", "nack_jobs", "extend_jobs",
            "list_queues", "queue_state", "list_jobs", "retry_jobs", "delete_jobs", "configure_queue"}  # fmt: skip

    assert named == set(OPERATIONS)
    for name, operation in OPERATIONS.items():
        assert None not in (operation.http, operation.thrift), name
        assert all(hasattr(client, name) for client in (Client, AsyncClient)), name
