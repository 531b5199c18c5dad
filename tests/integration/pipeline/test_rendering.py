"""Pages rendered by a real browser on their way through the stages."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from aragog.crawl.pipeline import counters
from aragog.crawl.politeness.slots import SlotRequest
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.crawl.stages.rendering_rule import RenderingRule
from aragog.settings import RenderingSettings
from tests.support.chromium import chromium_or_skip
from tests.support.origin import answer, page

pytestmark = pytest.mark.redis

SITE = "http://shop.test/"
PRODUCT = {
    "@context": "https://schema.org",
    "@type": "Product",
    "name": "Oak chair",
    "offers": {"@type": "Offer", "price": "49.90", "priceCurrency": "EUR"},
}
SHELL = b"""<!doctype html><title>Shop</title><body><div id=app></div>
<script src=/app.js></script>"""
APP = b"""
fetch("/api/product").then(r => r.json()).then(product => {
  const data = document.createElement("script");
  data.type = "application/ld+json";
  data.textContent = JSON.stringify(product);
  document.head.append(data);
  document.title = product.name;
  document.getElementById("app").innerHTML = '<h1>' + product.name + '</h1><a href="/other">Other</a>';
});
"""


def script(text: bytes) -> bytes:
    return answer(200, text, content_type="text/javascript")


def shop(**more) -> dict:
    product = answer(200, json.dumps(PRODUCT).encode(), content_type="application/json")
    return {"/": page(SHELL), "/app.js": script(APP), "/api/product": product, **more}


def rendering(**more) -> RenderingSettings:
    """Settings that render the hosts of shop.test with this machine's browser."""
    # Chromium's own sandbox needs a user other than root.
    values = {"hosts": ("shop.test",), "sandbox": os.geteuid() != 0, **more}
    return RenderingSettings(browser=chromium_or_skip(), **values)


@pytest.fixture
def crawled(crawl_harness):
    """Crawls one page; returns the harness and the page's record."""

    def crawl(handlers, url=SITE, *, depth=0, **more):
        more.setdefault("rendering", rendering())
        harness = crawl_harness(handlers, allowed_networks=(), **more)
        harness.crawl([url], EnqueueOptions(depth=depth))
        return harness, harness.urls.get(url)

    return crawl


def inline(text: str) -> bytes:
    """A page with one script after a paragraph."""
    return page(f"<!doctype html><title>plain</title><p>plain</p><script>{text}</script>".encode())


def html_of(harness, url=SITE) -> str:
    return harness.urls.content(url).body.decode("utf-8-sig")


def test_page_filled_by_a_script_is_stored_with_product_and_links(crawled):
    harness, record = crawled(shop(), depth=1)

    assert record.fields["page.title"] == b'"Oak chair"'
    assert record.fields["product.price"] == b'"49.90"'
    assert [link.url for link in harness.urls.links.outlinks(SITE).items] == [
        "http://shop.test/other"
    ]
    assert record.facts["rendering"] == "rendered"
    assert record.facts["status"] == 200
    assert harness.pipeline.render.counters.read()[counters.RENDERED] == 1
    assert len(harness.origin.of("/other")) == 1


def test_host_without_a_rule_is_not_rendered(crawled):
    harness, record = crawled(shop(), "http://other.test/")

    assert record.fields["page.title"] == b'"Shop"'
    assert "rendering" not in record.facts
    assert [seen.path for seen in harness.origin.seen] == ["/robots.txt", "/"]


@contextmanager
def trap() -> Iterator[tuple[int, int, list[bytes]]]:
    """A TCP and a UDP port of 127.0.0.1 that record everything they receive."""
    heard: list[bytes] = []
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
    ):
        udp.bind(("127.0.0.1", 0))

        def accept() -> None:
            while True:
                try:
                    connection, _ = tcp.accept()
                except OSError:
                    return
                with connection:
                    heard.append(b"a connection")

        def receive() -> None:
            while True:
                try:
                    heard.append(udp.recv(2_000))
                except OSError:
                    return

        for listen in (accept, receive):
            threading.Thread(target=listen, daemon=True).start()
        yield tcp.getsockname()[1], udp.getsockname()[1], heard
        for sock in (tcp, udp):
            sock.shutdown(socket.SHUT_RDWR) if sock is tcp else sock.close()


ESCAPES = """<!doctype html><title>plain</title>
<link rel=preconnect href="http://127.0.0.1:TCP"><link rel=dns-prefetch href="//127.0.0.1:TCP">
<link rel=prefetch href="http://127.0.0.1:TCP/p"><link rel=stylesheet href="http://127.0.0.1:TCP/s">
<link rel=icon href="http://127.0.0.1:TCP/i"><link rel=manifest href="http://127.0.0.1:TCP/m">
<body><img src="http://127.0.0.1:TCP/"><iframe src="http://127.0.0.1:TCP/"></iframe>
<video src="http://127.0.0.1:TCP/"></video><object data="http://127.0.0.1:TCP/"></object>
<script src="http://127.0.0.1:TCP/x.js"></script>
<script>
const told = [];
const tell = text => { told.push(text); document.title = told.sort().join(", "); };
const get = (name, url) => fetch(url).then(() => tell(name + " read"), () => tell(name + " failed"));
const socket = new WebSocket("ws://127.0.0.1:TCP/");
socket.onerror = () => tell("websocket failed");
const peer = new RTCPeerConnection({iceServers: [{urls: "stun:127.0.0.1:UDP"}]});
peer.createDataChannel("x");
peer.onicecandidate = e => { if (!e.candidate) tell("webrtc found nothing"); };
peer.createOffer().then(offer => peer.setLocalDescription(offer));
navigator.sendBeacon("http://127.0.0.1:TCP/");
new EventSource("http://127.0.0.1:TCP/");
window.open("http://127.0.0.1:TCP/");
get("loopback", "http://127.0.0.1:TCP/");
get("localhost", "http://localhost:TCP/");
get("metadata", "http://169.254.169.254/latest/");
get("file", "file:///etc/passwd");
get("own", "/data");
setTimeout(() => { location.href = "http://127.0.0.1:TCP/"; }, 200);
</script>"""


def test_page_reaches_only_what_the_fetcher_may_fetch(crawled):
    with trap() as (tcp, udp, heard):
        html = ESCAPES.replace(":TCP", f":{tcp}").replace(":UDP", f":{udp}")
        harness, record = crawled({"/": page(html.encode()), "/data": answer(200, b"data")})

    assert json.loads(record.fields["page.title"]) == (
        "file failed, localhost failed, loopback failed, metadata failed, own read, "
        "webrtc found nothing, websocket failed"
    )
    assert [seen.path for seen in harness.origin.seen] == ["/robots.txt", "/", "/data"]
    assert heard == []


def test_script_disallowed_by_robots_txt_is_not_fetched(crawled):
    rules = answer(200, b"User-agent: *\nDisallow: /api/\n", content_type="text/plain")

    harness, record = crawled(shop(**{"/robots.txt": rules}))

    assert not harness.origin.of("/api/product")
    assert len(harness.origin.of("/app.js")) == 1
    assert record.fields["page.title"] == b'"Shop"'


def test_script_of_another_origin_is_fetched_after_its_robots_txt(crawled):
    html = page(b"<!doctype html><title>plain</title><script src=//cdn.test/a.js></script>")
    harness, record = crawled({"/": html, "/a.js": script(b"document.title = 'from the cdn'")})

    assert record.fields["page.title"] == b'"from the cdn"'
    assert [seen.path for seen in harness.origin.of(host="cdn.test")] == ["/robots.txt", "/a.js"]


def test_data_of_another_origin_is_readable_only_with_cors(crawled):
    _, record = crawled(
        {
            "/": inline("""
                const told = [];
                for (const name of ["open", "closed", "named", "moved"])
                  fetch("//api.test/" + name).then(r => r.text()).catch(() => "-").then(text => {
                    told.push(name + " " + text);
                    document.title = told.sort().join(", ");
                  });"""),
            "//api.test/open": answer(200, b"1", headers={"Access-Control-Allow-Origin": "*"}),
            "//api.test/closed": answer(200, b"2"),
            "//api.test/named": lambda request, _: answer(
                200, b"3", headers={"Access-Control-Allow-Origin": request.header("Origin")}
            ),
            "//api.test/moved": answer(302, headers={"Location": "http://shop.test/secret"}),
            "//shop.test/secret": answer(200, b"4"),
        }
    )  # fmt: skip

    assert json.loads(record.fields["page.title"]) == "closed -, moved 4, named 3, open 1"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("document.title = 'changed'; for (;;);", "its scripts did not end within 12 s"),
        (
            "document.title = 'changed'; location = 'about:blank'",
            "its scripts navigated to another site",
        ),
        (
            "const kept = []; for (;;) kept.push(new Array(1e5).fill(Math.random()))",
            "the page crashed, for example because it ran out of memory",
        ),
        (
            "for (let n = 0; n < 20; n++) document.documentElement.append(new Comment('x'.repeat(2e6)));",
            "the rendered page exceeds 20971520 bytes",
        ),
    ],
    ids=["endless", "leaves", "hoards", "grows"],
)
def test_page_that_cannot_be_rendered_is_stored_as_fetched(crawled, text, reason):
    settings = rendering(deadline_s=12.0 if "for (;;);" in text else 60.0)
    harness, record = crawled({"/": inline(text)}, rendering=settings)

    assert record.fields["page.title"] == b'"plain"'
    assert record.facts["rendering"] == reason
    assert record.facts["outcome"] == "Fetched"
    harness.crawl(["http://shop.test/next"], EnqueueOptions())  # 404
    harness.origin.handlers["/good"] = inline("document.title = 'good'")
    harness.crawl(["http://shop.test/good"], EnqueueOptions())
    assert harness.urls.get("http://shop.test/good").fields["page.title"] == b'"good"'


@pytest.mark.parametrize(
    "text",
    [
        "alert(1); confirm(1); print(); window.close(); document.title = 'good'",
        "for (let n = 0; n < 30; n++) window.open('about:blank'); document.title = 'good'",
        "document.title = 'good'; setTimeout(() => { location.href = '/elsewhere'; }, 50)",
        "document.title = 'good'; history.pushState({}, '', '/state'); location.hash = 'x'",
        "document.title = 'good'; setInterval(() => fetch('/poll'), 50)",
        "Object.defineProperty(Element.prototype, 'outerHTML', {}); document.title = 'good'",
    ],
    ids=["dialogs", "popups", "navigates", "history", "polls", "pretends"],
)
def test_misbehaving_page_is_still_rendered(crawled, text):
    # A page that never stops polling is read at the deadline.
    settings = rendering(deadline_s=15.0 if "/poll" in text else 60.0)
    harness, record = crawled({"/": inline(text)}, rendering=settings)

    assert record.facts["rendering"] == "rendered"
    assert record.fields["page.title"] == b'"good"'
    assert not harness.origin.of("/elsewhere")
    assert len(harness.origin.of("/poll")) <= rendering().max_requests


def test_page_keeps_its_limits_of_requests_and_bytes(crawled):
    harness, record = crawled(
        {
            "/": inline("""
                (async () => {
                  let read = 0;
                  for (let n = 0; n < 9; n++)
                    try { await (await fetch("/data?" + n)).text(); read++; } catch {}
                  document.title = read;
                })();"""),
            "/data": answer(200, b"x" * 1_000),
        },
        rendering=rendering(max_requests=5, max_bytes=3_500),
    )  # fmt: skip

    assert record.fields["page.title"] == b'"3"'
    assert len(harness.origin.of("/data")) == 5


TEN = """
    let left = 10;
    for (let n = 0; n < 10; n++)
      fetch("/data?" + n).finally(() => { if (!--left) document.title = "ten"; });
"""


QPS = 4
# The origin notes when its thread reads a request, which a busy machine delays. The interval itself
# is measured in tests/integration/politeness/test_interval_promise.py; without slots, the gaps are
# 1 ms.


def test_each_request_of_a_page_waits_for_a_slot(crawled):
    handlers = {"/": inline(TEN), "/data": answer(200, b"x")}
    harness, record = crawled(handlers, qps=QPS)

    assert record.fields["page.title"] == b'"ten"'
    assert len(harness.origin.of("/data")) == 10
    assert min(harness.origin.gaps_ms()) >= 1000 / QPS / 2


def test_page_skips_the_backlog_of_its_domain_but_keeps_its_rate(crawl_harness):
    handlers = {"/": inline(TEN), "/data": answer(200, b"x")}
    harness = crawl_harness(handlers, allowed_networks=(), rendering=rendering(), qps=QPS)
    harness.know_rules("shop.test")
    list(harness.pipeline.enqueuer.enqueue([SITE], EnqueueOptions()))
    sends = harness.step(harness.sent.messages.pop())
    harness.limiter.reserve([SlotRequest("shop.test")] * 800)  # 200 s

    for send in sends:
        harness.step(send)

    assert len(harness.origin.of("/data")) == 10
    assert min(harness.origin.gaps_ms()) >= 1000 / QPS / 2


def test_page_in_another_encoding_is_read_as_the_browser_rendered_it(crawled):
    body = '<!doctype html><meta charset=windows-1251><title>Стул</title><script>document.title += "!"</script>'
    headers = {"content_type": "text/html; charset=windows-1251"}
    harness, record = crawled({"/": answer(200, body.encode("cp1251"), **headers)})

    assert json.loads(record.fields["page.title"]) == "Стул!"
    assert "Стул!" in html_of(harness)


def test_rendered_page_is_refreshed_unconditionally(crawled):
    html = answer(200, SHELL, headers={"ETag": '"v1"'})
    harness, _ = crawled(shop(**{"/": html}))

    harness.crawl([SITE], EnqueueOptions(refresh=True))

    assert [seen.header("If-None-Match") for seen in harness.origin.of("/")] == [None, None]
    assert len(harness.origin.of("/api/product")) == 2


def test_page_no_longer_rendered_loses_the_rendering_fact(crawled):
    harness, record = crawled(shop())
    assert record.facts["rendering"] == "rendered"

    object.__setattr__(harness.pipeline.fetch, "rendering", RenderingRule(RenderingSettings()))
    harness.crawl([SITE], EnqueueOptions(refresh=True))

    assert "rendering" not in harness.urls.get(SITE).facts
    assert harness.urls.get(SITE).fields["page.title"] == b'"Shop"'
