"""
A reader with a purpose gets no data of pages that refuse it, from any operation over any interface.
"""

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from aragog.api.operations.scopes import READ
from aragog.api.operations.table import OPERATIONS
from aragog.api.server.http.services import Services
from aragog.errors import BadInput
from aragog.pages.items import PageItems
from aragog.pages.preferences import PURPOSES, TDM_FILE_READ
from aragog.runtime.clock import ManualClock
from aragog.settings import StoreSettings
from aragog.urlstore.feed import SETTLE_MS
from aragog.urlstore.records import Likeness, OutLink
from aragog.urlstore.refresh_policy import Seen
from richpins.items import Item
from tests.support import api_server
from tests.support.every_way import WAYS, changed, graphs, ways
from tests.support.fetching import Fetching
from tests.support.stores import NOW_MS, node_id, page, store_harness
from zengraph.tables.memory import MemoryTables

pytestmark = pytest.mark.redis
__all__ = ["changed", "graphs", "ways"]  # fixtures

READ_IT = {"robots_preferences": str(TDM_FILE_READ)}
PAGES = {
    # host: the facts of its page, and the purposes that it allows
    "open.example": (READ_IT, PURPOSES),
    "refused.example": (
        READ_IT | {"page_preferences": "ai-train=n (meta)"},
        ("search", "ai-input"),
    ),
    "unasked.example": ({"page_preferences": "ai-train=y (header)"}, ("search",)),
    "hidden.example": (READ_IT | {"page_preferences": "search=n (meta)"}, ("ai-input", "ai-train")),
}
TARGET = "http://target.example/"
ALIKE = Likeness("0" * 16)
CALLS = {
    "get": lambda url: ((url,), {}),
    "get_many": lambda url: (([url],), {}),
    "get_fresh": lambda url: ((url,), {}),
    "fetch": lambda url: ((url,), {"max_wait_ms": 0, "content": True}),
    "content_part": lambda url: ((url,), {}),
    "content": lambda url: ((url,), {}),
    "outlinks": lambda url: ((url,), {}),
    "inlinks": lambda _: ((TARGET,), {}),
    "same_content": lambda url: ((url,), {}),
    "history": lambda url: ((url, "page.title"), {}),
    "items": lambda url: (("cards", url.split("/")[2]), {}),
    "item_history": lambda url: (("cards", url.split("/")[2], "1"), {}),
    "changes": lambda _: ((), {}),
    "get_node": lambda url: ((url,), {}),
    "lookup": lambda _: (("team.n", b"7"), {}),
    "lookup_unique": lambda url: (("team.code", marker(url)), {}),
    "edges": lambda url: ((url, 0), {}),
    "edges in": lambda _: ((TARGET, 0, "in"), {}),
}
NEED_NONE = {
    # reads without a purpose, and the reason given in docs/standing.md
    "count_inlinks": "numbers",
    "count_edges": "numbers",
    "field_sizes": "names and sizes of fields",
    "aliases": "URLs that lead to the same page",
    "watchers": "owners",
    "get_edge": "edges that applications store",
    "get_nodes": "graphs that applications store",
    "scan_nodes": "graphs that applications store",
    "edges_by_prefix": "graphs that applications store",
    "node_properties": "graphs that applications store",
    "lookup_prefix": "graphs that applications store",
    "batch_progress": "numbers",
    "explain": "operators",
    "list_crawls": "numbers",
    "get_crawl": "numbers",
    "crawl_report": "numbers",
    "try_scope": "rules of a crawl",
    "list_queues": "names and sizes of queues",
    "queue_state": "names and sizes of queues",
    "list_templates": "URL templates",
}


def marker(url):
    """A text that occurs only in this page."""
    return f"TEXT-{url.split('/')[2]}".encode()


def url_of(host):
    return f"http://{host}/p"


def fetched(host, at_ms, title):
    url, (facts, _) = url_of(host), PAGES[host]
    items = PageItems(host, (Item({"text": orjson.loads(title)}, "1"),)).stored()
    fields = {"page.title": title, "items.cards": orjson.dumps(items)}
    links = [OutLink(TARGET, marker(url).decode())]
    facts = {"outcome": "Fetched", **facts}
    seen = Seen(outcome="Fetched", fetched_at_ms=at_ms, page_type="page")
    made = page(url, at_ms, fields=fields, facts=facts, seen=seen, likeness=ALIKE)
    return replace(made, links=links)


@pytest.fixture
def store():
    """Each page fetched twice, with its text in everything that can be read from it."""
    settings = StoreSettings(history=("page.title",), indexed=("team.n",), unique=("team.code",))
    clock = ManualClock(NOW_MS)
    made = store_harness(MemoryTables(clock), settings=settings)
    opened = made.store
    opened.write_pages([page(TARGET)])
    for host in PAGES:
        url, text = url_of(host), marker(url_of(host))
        opened.schedule.watch(url, "me")
        opened.write_pages([fetched(host, NOW_MS, b'"%b"' % text)])
        opened.write_pages([fetched(host, NOW_MS + 9, b'"%b again"' % text)])
        facts = {"outcome": "Fetched", **PAGES[host][0]}
        title = {"page.title": b'"a copy"'}
        copy = page(f"http://{host}/{text.decode()}", facts=facts, fields=title, likeness=ALIKE)
        opened.write_pages([copy])
        opened.put_content(url, text, {"content_type": "text/plain"})
        opened.put(url, {"team.n": b"7", "team.code": text})
    made.compact()
    made.clock.advance_ms(SETTLE_MS + 1000)
    return opened


def read_once(client, name, url, **options):
    args, kwargs = CALLS[name](url)
    return getattr(client, name.split()[0])(*args, **kwargs, **options)


def shows(answer, name, url):
    """Whether a response contains data of the page."""
    if name == "lookup":
        return node_id(url).hex() in answer.nodes
    return marker(url).decode() in repr(answer)


@pytest.mark.parametrize("name", CALLS)
def test_no_read_for_a_purpose_shows_a_page_that_refuses_it(ways, name):
    for way in WAYS:
        for host, (_, purposes) in PAGES.items():
            url = url_of(host)
            assert shows(read_once(ways[way], name, url), name, url), way
            for purpose in PURPOSES:
                answer = read_once(ways[way], name, url, purpose=purpose)
                assert shows(answer, name, url) == (purpose in purposes), (way, host, purpose)


@pytest.mark.parametrize("name", CALLS)
def test_invalid_purpose_is_refused_over_all_interfaces(ways, name):
    for way in WAYS:
        for purpose in ("", "sale", "search,ai-train"):
            with pytest.raises(BadInput):
                read_once(ways[way], name, url_of("open.example"), purpose=purpose)


def test_every_read_takes_a_purpose_or_has_a_documented_reason():
    reads = {
        n for n, o in OPERATIONS.items() if o.scope == READ and o.response_type is not type(None)
    }
    taking = {n for n, o in OPERATIONS.items() if any(f.name == "purpose" for f in o.fields)}
    text = Path("docs/standing.md").read_text()

    assert taking == {name.split()[0] for name in CALLS} - {"content"}
    assert reads - taking == NEED_NONE.keys()
    for name, why in NEED_NONE.items():
        assert f"`{name}`" in text, name
        assert why in " ".join(text.split()), why


def test_change_of_a_page_that_refuses_a_purpose_has_no_fields(ways):
    for client in ways.values():
        found = {each.url: each for each in client.changes(purpose="ai-train").changes}

        assert found.keys() == {url_of(host) for host in PAGES}
        for host, (_, purposes) in PAGES.items():
            assert bool(found[url_of(host)].fields) == ("ai-train" in purposes)


def test_fetch_returns_the_reason_for_an_empty_result(ways):
    for client in ways.values():
        answer = client.fetch(url_of("refused.example"), purpose="ai-train", max_wait_ms=0)
        assert (answer.state, answer.record, answer.report) == ("absent", None, None)
        assert answer.reason == "not for ai-train: ai-train=n (meta)"
        answer = client.fetch(url_of("unasked.example"), purpose="ai-train", max_wait_ms=0)
        assert "tdmrep.json was not read" in answer.reason


URL = url_of("refused.example")
TO = f"url={URL}"
QUERIES = [
    f"GET /v1/urls?{TO}", f"GET /v1/urls?{TO}&include=", f"GET /v1/urls?{TO}&max_wait_ms=0",
    f"GET /v1/content?{TO}", f"GET /v1/links?{TO}", f"GET /v1/links?{TO}&direction=in",
    f"GET /v1/history?{TO}&field=page.title", "GET /v1/changes?limit=9",
    f"GET /v1/nodes?node={URL}", f"GET /v1/edges?node={URL}&type=0",
]  # fmt: skip
BODIES = {
    "/v1/urls:batchGet": {"urls": [URL]},
    "/v1/fetch": {"url": URL, "max_wait_ms": 0},
    "/v1/nodes:lookup": {"name": "team.n", "value": "7"},
    "/v1/nodes:lookupUnique": {"name": "team.code", "value": marker(URL).decode()},
}


@pytest.fixture
def api(store):
    with api_server.running(store, Services(fetching=Fetching(store))) as running:
        yield running


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("wrong", ["for=", "for", "for=search&for=ai-train", "for=ai-train&for=search",
                                   "for=search&for=search", "for=&for=search", "for=all"])  # fmt: skip
def test_empty_or_repeated_purpose_in_a_query_is_refused(api, query, wrong):
    path = query.removeprefix("GET ")

    for get in (api.get, api.get_fast):
        reply = get(f"{path}&{wrong}")
        assert reply.status == 400, reply.body
        assert marker(URL) not in reply.body


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize("wrong", ['"for": ""', '"for": "search", "for": "ai-train"', '"for": "all"',
                                   '"for": "ai-train", "f\\u006fr": "search"', '"for": []',
                                   '"for": "search", "for": null', '"for": "a", "for": "search"'])  # fmt: skip
def test_empty_or_repeated_purpose_in_a_body_is_refused(api, path, wrong):
    body = orjson.dumps(BODIES[path])[:-1] + b", " + wrong.encode() + b"}"

    reply = api.ask("POST", path, body)

    assert reply.status == 400, reply.body
    assert marker(URL) not in reply.body


def test_values_in_a_body_may_equal_member_names(api):
    body = {
        "urls": [URL, "http://x.example/\\", "urls"],
        "fields": ["urls", "for"],
        "for": "search",
    }

    reply = api.ask("POST", "/v1/urls:batchGet", body)

    assert [item["status"] for item in reply.json["results"]] == [200, 404, 400]


def test_repeated_parameter_is_refused(api):
    reply = api.get(f"/v1/urls?{TO}&fields=page.title&fields=team.n")

    assert (reply.status, reply.json["detail"]) == (400, "fields: is given more than once")


@pytest.mark.parametrize(
    "body",
    [
        b'{"fields": {"team.n": 1, "team.n": 2}}',
        b'{"fields": {"team.n": 1, "team\\u002en": 2}}',
        b'{"fields": {"team.n": {"a": 1, "a": 1}}}',
        b'{"fields": {"team.n": [[{"a": 1}, {"b": {"c": 1, "c": 1}}]]}}',
        b'{"fields": {"team.n": 1}, "fields": {}}',
        b'{"fields": {"": 1, "": 2}}',
    ],
)
def test_repeated_member_at_any_depth_is_refused(api, body):
    reply = api.ask("PATCH", f"/v1/urls?{TO}", body)

    assert (reply.status, "more than once" in reply.json["detail"]) == (400, True)


@pytest.mark.parametrize(
    "value", ['[{"a": 1}, {"a": 2}]', '"a: 1, a: 2"', '{"a": {"a": {"a": 1}}}', "[1, 1]"]
)
def test_equal_names_in_different_objects_are_accepted(api, value):
    reply = api.ask("PATCH", f"/v1/urls?{TO}", b'{"fields": {"team.n": %b}}' % value.encode())

    assert b"more than once" not in reply.body
