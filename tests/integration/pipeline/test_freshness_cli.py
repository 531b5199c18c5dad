"""The commands that keep pages fresh, on a store in a folder."""

import json

import pytest
from click.testing import CliRunner

from aragog.bootstrap.stores import url_store
from aragog.cli import main
from aragog.pages.sitemaps import SitemapUrl
from aragog.runtime.clock import ManualClock
from aragog.settings import load_settings
from aragog.urlstore.compression import compress
from aragog.urlstore.crawl_budget import Budget
from aragog.urlstore.feed import Change, changes_put
from aragog.urlstore.records import ContentWrite
from aragog.urlstore.refresh_policy import Seen
from tests.support.stores import NOW_MS, page

A, B = "http://a.example/", "http://b.example/"
HTML = b"<html><head><title>New</title></head></html>"


@pytest.fixture
def a_store(tmp_path, monkeypatch):
    """A store with one changed page and one unchanged page."""
    monkeypatch.setenv("ARAGOG_DATA_DIR", str(tmp_path))
    # Written long ago, so the feed has settled.
    store = url_store(load_settings(), ManualClock(NOW_MS))
    for at_ms, price in ((NOW_MS, b'"5"'), (NOW_MS + 9, b'"4"')):
        seen = Seen(outcome="Fetched", fetched_at_ms=at_ms, page_type="product")
        content = ContentWrite(compress(HTML), length_bytes=len(HTML), meta={"url": A})
        parts = {"fields": {"product.price": price}, "facts": {"page_type": "product"}}
        store.write_pages([page(A, at_ms, seen=seen, content=content, **parts)])
        store.write_pages([page(B, at_ms, seen=seen, fields={"product.price": b'"1"'})])
    yield store
    store.close()


def run(*arguments, code=0):
    reported = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert reported.exit_code == code, reported.output
    return reported.output


def test_changes_are_shown_and_their_cursor_continues(a_store):
    reported = json.loads(run("changes", "--json"))

    assert reported["url"] == A
    assert "product.price" in run("changes", "--host", "a.example")
    assert run("changes", "--cursor", reported["cursor"]) == ""
    assert run("changes", "--host", "b.example") == ""


def test_changes_of_a_host_are_found_after_many_others(a_store):
    others = [Change(B, NOW_MS, "changed")] * 10_001
    mine = Change("http://c.example/", NOW_MS, "changed")
    a_store.zen.mutate([changes_put(a_store.zen.log, others, NOW_MS + 20)])
    a_store.zen.mutate([changes_put(a_store.zen.log, [mine], NOW_MS + 30)])

    assert "http://c.example/" in run("changes", "--host", "c.example")


def test_due_shows_why_a_page_is_due(a_store):
    a_store.schedule.watch(A, "shop")
    reported = run("due", A)

    assert "watched by" in reported
    assert "shop" in reported
    assert "1 in 1 checks" in reported
    assert "has been due for" in run("due")


def test_due_shows_the_date_in_a_sitemap_and_the_trust_in_it(a_store):
    listed = [SitemapUrl(A, NOW_MS + 5000)]
    reading = a_store.signals.reading(
        listed, kind="sitemap", fetched_at_ms=NOW_MS + 3_600_000, sender=A
    )
    reading.take(listed)
    reading.close()

    assert "a sitemap that was read" in run("due", A)
    assert "not proven yet" in run("explain", A)
    assert json.loads(run("due", A, "--json"))["signal"]["reported_ms"] == NOW_MS + 5000


def test_due_shows_the_freshness_that_a_fetch_must_gain_when_fetches_are_scarce(a_store):
    assert "must buy" not in run("due", A)
    a_store.schedule.keep_budgets({"a.example": Budget(price_s=9000, age_s=1)})

    assert "fetches must gain 2 h 30 min of freshness" in run("due", A)


def test_webhooks_are_added_listed_and_removed(a_store):
    name = run("webhooks", "add", "https://example.com/hook", "--owner", "shop").split()[0]

    assert f"{name}  https://example.com/hook  owner=shop" in run("webhooks", "list")
    run("webhooks", "remove", name)
    assert run("webhooks", "list") == ""
    run("webhooks", "remove", name, code=5)


def test_webhook_that_cannot_receive_anything_is_reported_when_added(a_store, monkeypatch):
    hook = ("webhooks", "add", "http://127.0.0.1/hook", "--secret", "s")

    assert "webhooks.allowed_hosts" in run(*hook)

    monkeypatch.setenv("ARAGOG_WEBHOOKS__ALLOWED_HOSTS", "127.0.0.1")
    assert "webhooks.allowed_hosts" not in run(*hook)


def test_pages_are_reextracted_once(a_store):
    assert "1 changed" in run("reextract")
    assert a_store.get(A, ["page.title"]).fields["page.title"] == b'"New"'
    assert "nothing to extract again" in run("reextract")
    assert "nothing to extract again" in run("reextract", "--host", "a.example", "--afresh")
    assert "1 unchanged" in run("reextract", "--all", "--max-per-second", "100")
