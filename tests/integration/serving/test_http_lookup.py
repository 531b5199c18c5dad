"""The lookup page at `/`: its content, and that text from pages is never interpreted as markup."""

from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from aragog.api.operations.values import Explanation, ExplanationLine, ExplanationSection
from aragog.api.server.http.services import Services
from aragog.api.server.tokens import new_token
from aragog.urlstore.records import OutLink
from tests.support.api_server import running
from tests.support.chromium import WIDTH, chromium_or_skip, chromium_page
from tests.support.stores import NOW_MS, page, store_harness
from zengraph.tables.memory import MemoryTables

A = "http://shop.example/p"
EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
HTML = {"Accept": "text/html,application/xhtml+xml"}


def explain(url):
    line = ExplanationLine("because", f"it says so {EVIL}", EVIL)
    return Explanation(
        url, A,
        (ExplanationSection("store", (line,)), ExplanationSection("slot", (), f"no answer {EVIL}")),
    )  # fmt: skip


def made(image='{"url":"https://img.example/a.jpg"}', title='"A desk"'):
    harness = store_harness(MemoryTables())
    fields = {
        "page.title": title.encode(), "product.price": b'"649.00"', "product.currency": b'"EUR"',
        "page.image": image.encode(),
    }  # fmt: skip
    source = {"product.price": "json-ld #1"}
    links = [OutLink("http://other.example/?a=1&b=2", EVIL)]
    harness.store.write_pages([page(A, NOW_MS - 7_200_000, fields=fields, provenance=source)])
    harness.store.links.add(A, links)
    return harness.store


@pytest.fixture(scope="module")
def api():
    with running(
        made(title=f'"{EVIL}"'.replace('">', '\\">').replace("\"'", "\\\"'")),
        Services(explain=explain),
    ) as server:
        yield server


def test_lookup_page_is_a_form_and_programs_get_json(api):
    response = api.get("/", **HTML)

    assert response.status == 200
    assert b'name="url"' in response.body
    assert api.get("/").json["docs"] == "/docs"


def test_url_in_any_spelling_is_shown_as_a_card():
    with running(made(), Services(explain=explain)) as api:
        text = api.get(f"/?url={quote('HTTP://Shop.Example:80/p')}", **HTML).body.decode()

    shown = (
        '<span class="title">A desk</span>',
        "649.00 EUR",
        "from json-ld #1, ",
        '<img src="https://img.example/a.jpg"',
        "it says so",
        'href="/?url=http%3A%2F%2Fother.example%2F%3Fa%3D1%26b%3D2"',
        'name="refresh"',
        '<a rel="bookmark" href="/?url=http%3A%2F%2Fshop.example%2Fp">',
    )
    assert [part for part in shown if part not in text] == []


def test_text_from_a_page_is_escaped(api):
    for url in (A, EVIL, f"http://x.example/{EVIL}"):
        response = api.get(f"/?url={quote(url)}", **HTML)
        text = response.body.decode()
        assert "<script" not in text
        assert "onerror=alert(1)>" not in text.replace("&gt;", "")
        assert "<img src=x" not in text
        assert "script-src" not in response.headers["content-security-policy"]
        assert "default-src 'none'" in response.headers["content-security-policy"]


@pytest.mark.parametrize(
    "image",
    ["javascript:alert(1)", "http://192.168.0.1/reboot", "http://localhost/x", "http://router/",
     "data:image/svg+xml,x", "http://printer.local/x", "http://10.0.0.1.nip.io/x.png",
     "http://localtest.me/x", "http://router.internal/x", "http://nas.home.arpa/",
     "http://foo.lan/x", "https://img.example:8443/x", "http://203.0.113.7/x", 7, ["x"]],
)  # fmt: skip
def test_image_on_a_private_address_is_left_out(image):
    import orjson

    with running(made(orjson.dumps({"url": image}).decode())) as api:
        assert b"<img" not in api.get(f"/?url={A}", **HTML).body


def test_unknown_or_invalid_url_is_reported(api):
    assert b"Nothing is stored" in api.get("/?url=http://no.example/", **HTML).body
    wrong = api.get("/?url=nonsense", **HTML)
    assert wrong.status == 400
    assert b"nonsense" in wrong.body


def test_form_sends_its_token_in_the_body():
    (reader, read), (_, write) = new_token("r", ["read"]), new_token("w", ["write"])
    form = {"Content_Type": "application/x-www-form-urlencoded"}
    with running(made(), Services(explain=explain), tokens=(read, write)) as api:
        bare = api.get("/", **HTML)
        closed = api.get(f"/?url={A}", **HTML)

        def post(body, **headers):
            data = body.encode()
            return api.ask("POST", "/", data, **{**form, **headers})

        seen = post(f"url={quote(A)}&token={reader}")
        refresh = post(f"url={quote(A)}&token={reader}&refresh=1")
        foreign = post(f"url={quote(A)}&token={reader}", Sec_Fetch_Site="cross-site")

    assert b'type="password"' in bare.body
    assert closed.status == 401
    assert b"A desk" not in closed.body
    assert b"A desk" in seen.body
    assert seen.headers["cache-control"] == "no-store"
    assert refresh.status == 403
    assert foreign.status == 403


@pytest.mark.slow
def test_browser_shows_the_page_at_1280_px_and_runs_none_of_its_scripts(api):
    dialogs, long = [], "http://shop.example/" + "a" * 3000
    with chromium_page(chromium_or_skip()) as browser:
        browser.on("dialog", lambda dialog: dialogs.append(dialog.message) or dialog.dismiss())
        for url in (A, EVIL, long):
            browser.goto(f"http://127.0.0.1:{api.port}/?url={quote(url)}")
            width = browser.evaluate("document.documentElement.scrollWidth")
            assert (browser.title(), dialogs, width <= WIDTH) == ("aragog", [], True)

        browser.goto(f"http://127.0.0.1:{api.port}/")
        browser.get_by_label("URL, in any spelling").fill("HTTP://Shop.Example:80/p")
        browser.get_by_role("button", name="Look up").click()
        expect(browser.get_by_label("Rich Pin")).to_contain_text("649.00 EUR")

        browser.get_by_role("link", name="other.example").click()
        expect(browser.locator("body")).to_contain_text("Nothing is stored for this URL.")
        browser.get_by_role("button", name="Refresh now").click()
        expect(browser.locator("body")).to_contain_text("this server does not fetch")
