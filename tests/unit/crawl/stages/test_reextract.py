"""The reextract stage: it updates fields, and keeps those of pages that fail."""

from dataclasses import replace

import orjson
import pytest

from aragog.crawl.stages.reextract import (
    ReextractBatch,
    ReextractStage,
    Versions,
    text_version,
    walk,
)
from aragog.errors import InvalidMessage
from aragog.pages.rules_version import RulesVersions
from aragog.settings import PipelineSettings
from aragog.urlstore import nodes
from aragog.urlstore.compression import compress
from aragog.urlstore.records import ContentWrite
from richpins.rich_pins import EXTRACTOR_VERSION
from tests.support.stores import NOW_MS, node_id, page

URL, BARE = "http://a.example/", "http://b.example/"
BODY = b"<title>New title</title><p>text"


@pytest.fixture
def stage(ports):
    return ReextractStage(ports.store, ports.marks, ports.settings.pipeline, "examplebot")


@pytest.fixture
def stored(ports):
    """A page with content and the fields of an earlier extractor, and one without content."""
    meta = {"content_type": "text/html", "url": URL, "fetched_at_ms": str(NOW_MS)}
    content = ContentWrite(compress(BODY), "zstd", len(BODY), meta)
    old = {"page.title": b'"Old title"', "page.extractor_version": b"1"}
    facts = {"fetched_at_ms": NOW_MS, "final_url": URL}
    ports.store.write_pages(
        [page(URL, fields=old, content=content, facts=facts), page(BARE, fields=old)]
    )


def test_fields_are_those_of_the_current_extractor_and_a_second_run_changes_nothing(
    ports, stage, stored
):
    counts = [stage.run(ReextractBatch((URL, BARE))) for _ in range(2)]

    fields = ports.store.get(URL).fields
    assert fields["page.title"] == b'"New title"'
    assert orjson.loads(fields["page.extractor_version"]) == EXTRACTOR_VERSION
    assert counts == [{"changed": 1, "content": 1}, {"read": 1, "content": 1}]
    assert ports.marks.begun == {}


def test_page_reserved_for_a_purpose_keeps_its_fields(ports, stage, stored):
    preferences = "ai-train=n (Content-Usage)"
    facts = {"fetched_at_ms": NOW_MS, "final_url": URL, "page_preferences": preferences}
    ports.store.write_pages([page(URL, facts=facts, links=None)])
    trains = replace(stage, purposes=("search", "ai-train"))

    assert trains.run(ReextractBatch((URL,))) == {"reserved": 1}
    assert ports.store.get(URL).fields["page.title"] == b'"Old title"'
    assert replace(stage, purposes=("search",)).run(ReextractBatch((URL,))) == {"changed": 1}


@pytest.mark.parametrize(
    ("kept_for", "usual", "count"),
    [
        ("ai-train", (), "reserved"),
        ("any", ("ai-train",), "changed"),
        ("ai-train search", (), "changed"),
        ("ai-train usual", ("ai-train",), "reserved"),
        ("ai-train usual", (), "changed"),
    ],
)
def test_page_is_judged_by_the_purposes_of_the_crawls_that_keep_it(
    ports, stage, stored, kept_for, usual, count
):
    preferences = "ai-train=n (Content-Usage)"
    facts = {"fetched_at_ms": NOW_MS, "final_url": URL, "page_preferences": preferences}
    at = {nodes.FACTS: orjson.dumps({**facts, "kept_for": kept_for})}
    ports.store.zen.nodes.put(node_id(URL), at, at_ms=NOW_MS + 1)

    assert replace(stage, purposes=usual).run(ReextractBatch((URL,))) == {count: 1}


def test_page_that_killed_two_processes_keeps_its_fields(ports, stage, stored):
    ports.marks.begun["reextract", URL] = 2

    assert stage.run(ReextractBatch((URL,))) == {"given_up": 1}
    assert ports.store.get(URL).fields["page.title"] == b'"Old title"'


def test_walk_finds_outdated_pages_with_content(ports, stage, stored):
    before = [url for part in walk(ports.store, None) for url in part.urls]
    stage.run(ReextractBatch((URL,)))
    after = [url for part in walk(ports.store, None) for url in part.urls]

    assert (before, after) == ([URL], [])


@pytest.mark.parametrize("wire", [None, {}, {"v": 99, "urls": []}, {"v": 1}])
def test_invalid_message_is_refused(wire):
    with pytest.raises(InvalidMessage):
        ReextractBatch.read(wire)


@pytest.fixture
def extractor(tmp_path, monkeypatch):
    """An installed package whose extractor stores whether the page has a noindex for us."""
    (tmp_path / "rules_of_pages.py").write_text(
        "from aragog.pages.extractors import Extracted\n"
        "def rules(page): return Extracted({'noindex': page.document.robots.noindex})\n"
    )
    info = tmp_path / "rules_of_pages-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rules-of-pages\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[aragog.extractors]\nrules = rules_of_pages:rules\n")
    monkeypatch.syspath_prepend(tmp_path)
    return PipelineSettings(extractors=("rules",))


def test_extractor_sees_the_page_rules_for_the_configured_agent(ports, extractor):
    meta = {"content_type": "text/html", "url": URL, "fetched_at_ms": str(NOW_MS)}
    body = b"<meta name=examplebot content=noindex><title>t"
    content = ContentWrite(compress(body), "zstd", len(body), meta)
    facts = {"fetched_at_ms": NOW_MS, "final_url": URL}
    ports.store.write_pages([page(URL, content=content, facts=facts)])

    ReextractStage(ports.store, ports.marks, extractor, "examplebot").run(ReextractBatch((URL,)))

    assert ports.store.get(URL).fields["rules.noindex"] == b"true"


def test_texts_are_stored_again_when_their_version_changes(ports, stored):
    settings = PipelineSettings(store_text=("text", "markdown"))
    stage = ReextractStage(ports.store, ports.marks, settings, "examplebot")
    stage.run(ReextractBatch((URL,)))
    fields = ports.store.get(URL).fields

    assert orjson.loads(fields["page.text_version"]) == text_version(settings)
    assert next(walk(ports.store, None, Versions(text_version(settings)))).urls == ()
    assert next(walk(ports.store, None, Versions("another 2.0: text"))).urls == (URL,)


def test_texts_no_longer_stored_are_deleted(ports, stored):
    old = {"page.text": b'"x"', "page.text_version": b'"a: text"'}
    ports.store.fields.replace(URL, old, dict.fromkeys(old, "main text"), at_ms=NOW_MS)
    ReextractStage(ports.store, ports.marks, ports.settings.pipeline, "examplebot").run(
        ReextractBatch((URL,))
    )

    assert {"page.text", "page.text_version"}.isdisjoint(ports.store.get(URL).fields)


def test_walk_finds_pages_read_by_other_rules_but_not_other_hosts(ports, stored):
    """Regression: after a change of `extract`, either every page or none had to be read again."""
    old = {"a.example": {"heading": "css:h1"}}
    new = {"a.example": {"heading": "css:title"}}
    elsewhere = {**old, "b.example": {"price": "css:b"}}
    stage = ReextractStage(
        ports.store, ports.marks, ports.settings.pipeline, "examplebot", rules=old
    )
    stage.run(ReextractBatch((URL,)))

    def found(rules):
        return next(walk(ports.store, None, Versions(rules=RulesVersions((), rules)))).urls

    assert (found(old), found(elsewhere)) == ((), ())
    assert found(new) == found({}) == (URL,)

    replace(stage, rules=new).run(ReextractBatch((URL,)))
    assert ports.store.get(URL).fields["site.heading"] == b'"New title"'
    assert found(new) == ()

    replace(stage, rules={}).run(ReextractBatch((URL,)))
    assert found({}) == ()
    assert "page.rules_version" not in ports.store.get(URL).fields
