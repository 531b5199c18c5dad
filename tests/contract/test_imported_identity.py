"""Pages that were exported and imported agree or differ like pages fetched here."""

import io

import orjson
import pytest

from aragog.settings import StoreSettings
from aragog.transfer.bulk_writer import BulkWriter
from aragog.transfer.import_export import export_urls, import_urls
from aragog.transfer.json_lines import JsonLinesSink, read_json_lines
from aragog.transfer.parquet import ParquetSink, read_parquet
from tests.contract.test_canonical_agreement import (
    DECLARED,
    LIST,
    P1,
    P2,
    P3,
    SECOND,
    fetched,
    write,
)
from tests.support.stores import NOW_MS, store_harness
from zengraph.tables.memory import MemoryTables


def exported(*pages):
    source = store_harness(MemoryTables())
    write(source, *pages)
    buffer = io.BytesIO()
    export_urls(source.store.zen, JsonLinesSink(buffer))
    return buffer.getvalue()


def imported(harness, lines):
    harness.clock.advance_ms(1000)
    writer = BulkWriter(harness.store, harness.store.zen, StoreSettings(), harness.clock)
    report = import_urls(
        read_json_lines(io.BytesIO(lines)), writer, on_problem=lambda *problem: pytest.fail(problem)
    )
    assert report.problems == 0
    harness.clock.advance_ms(1000)


def text(harness, url):
    return harness.store.get(url).fields["t"].decode()


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("agrees", [True, False])
def test_page_joins_an_imported_page_only_if_they_agree(harness, agrees, times):
    lines = exported(fetched(LIST, same="x"))
    for _ in range(times):
        imported(harness, lines)

    write(harness, fetched(SECOND, NOW_MS + 9, canonical_url=LIST, same="x" if agrees else "y"))

    assert text(harness, LIST) == f"the page of {LIST}"
    assert text(harness, SECOND) == f"the page of {LIST if agrees else SECOND}"
    assert harness.store.resolve(SECOND) == (LIST if agrees else SECOND)


@pytest.mark.parametrize("agrees", [True, False])
def test_imported_provisional_record_is_joined_or_disputed_like_a_fetched_one(harness, agrees):
    imported(harness, exported(fetched(P1, canonical_url=DECLARED, same="x")))

    write(harness, fetched(P2, NOW_MS + 9, canonical_url=DECLARED, same="x" if agrees else "y"))

    assert text(harness, P1) == f"the page of {P1}"
    assert text(harness, P2) == f"the page of {P1 if agrees else P2}"


def test_imported_alias_is_refetched_when_its_canonical_url_changes(harness):
    pages = fetched(LIST, same="x"), fetched(P3, NOW_MS + 1, canonical_url=LIST, same="x")
    imported(harness, exported(*pages))

    write(harness, fetched(LIST, NOW_MS + 99, same="y"))

    due = {each.url for each in harness.store.schedule.claim_due(NOW_MS + 10**9, 9, 60)}
    assert P3 in due


def test_import_keeps_the_evidence_of_a_page_fetched_here(harness):
    write(harness, fetched(LIST, same="z"))
    before = harness.store.get(LIST).facts
    imported(harness, exported(fetched(LIST, NOW_MS + 1, same="x")))
    assert harness.store.get(LIST).facts == before

    write(harness, fetched(SECOND, NOW_MS + 9, canonical_url=LIST, same="z"))

    assert harness.store.resolve(SECOND) == LIST


@pytest.mark.parametrize(
    "facts",
    [
        {"fetched_at_ms": "soon", "url": LIST, "final_url": LIST},
        {"fetched_at_ms": NOW_MS + 10**12, "url": LIST, "final_url": LIST, "status": 200},
        {"fetched_at_ms": NOW_MS, "url": "no URL", "final_url": LIST, "status": 200},
        {"fetched_at_ms": NOW_MS, "url": LIST, "final_url": LIST, "status": "200", "likeness": 5},
    ],
)
def test_invalid_evidence_facts_are_ignored(harness, facts):
    record = {"url": LIST, "fields": {"t": "v"}, "at_ms": NOW_MS, "facts": facts}
    imported(harness, orjson.dumps(record))

    assert text(harness, LIST) == "v"


def test_parquet_keeps_the_evidence_too(harness, tmp_path):
    source, path = store_harness(MemoryTables()), tmp_path / "pages.parquet"
    pages = fetched(LIST, same="x"), fetched(P3, NOW_MS + 1, canonical_url=LIST, same="x")
    write(source, *pages)
    with path.open("wb") as file:
        sink = ParquetSink(file)
        export_urls(source.store.zen, sink)
        sink.close()
    writer = BulkWriter(harness.store, harness.store.zen, StoreSettings(), harness.clock)
    with path.open("rb") as file:
        import_urls(read_parquet(file), writer, on_problem=lambda *problem: pytest.fail(problem))

    write(harness, fetched(SECOND, NOW_MS + 9, canonical_url=LIST, same="x"))

    assert harness.store.resolve(SECOND) == LIST
