"""PDF and plain text, from the origin to fields, exports and readers of the store."""

import json
import zlib
from contextlib import closing
from pathlib import Path

import pytest

from aragog.api.operations.page_texts import PageTexts
from aragog.api.operations.text_processes import PageTextUnavailable
from aragog.crawl.pipeline.messages import FetchBatch, PageBatch, ResultBatch, RobotsBatch
from aragog.crawl.pipeline.routing import Destination
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.settings import FetchSettings, PipelineSettings
from aragog.transfer.import_export import NodeSelection, export_urls
from aragog.urlstore.records import Content
from tests.support.origin import answer

pytestmark = pytest.mark.redis

ROOT = Path(__file__).resolve().parents[3]
PDF = (ROOT / "packages/richpins/tests/documents/chromium_german.pdf").read_bytes()
TEXT = (
    b"Notes\n\nThe forests in the north grow slowly, because the soil there is sandy and the "
    b"summers are cool. <script>In the south</script> it rains more.\n"
)
STAGES = {
    Destination.FETCH: (FetchBatch, "fetch"),
    Destination.ROBOTS: (RobotsBatch, "robots"),
    Destination.CANONICALIZE: (ResultBatch, "canonicalize"),
    Destination.STORE: (PageBatch, "store"),
}
A_PDF, A_TEXT = "http://site.test/report.pdf", "http://site.test/notes.txt"


def crawl(harness, *urls):
    """Enqueue the URLs and deliver every message, as JSON, until none is left."""
    list(harness.pipeline.enqueuer.enqueue(urls, EnqueueOptions(refresh=True)))
    left = [*harness.sent.messages]
    harness.sent.messages.clear()
    while left:
        send = left.pop(0)
        kind, stage = STAGES[send.destination]
        left += getattr(harness.pipeline, stage).run(kind.read(send.message.wire()))
    return harness.pipeline.store.store


def site(crawl_harness):
    """A site with one document of each type and settings that allow both."""
    harness = crawl_harness(
        {
            "/report.pdf": answer(200, PDF, content_type="application/pdf"),
            "/notes.txt": answer(200, TEXT, content_type="text/plain; charset=utf-8"),
            "/slow.pdf": answer(200, SLOW, content_type="application/pdf"),
        },
        qps=1000,
        fetch={"content_types": (*FetchSettings().content_types, "application/pdf")},
    )
    harness.know_rules("site.test")
    return harness


def slow_pdf():
    """A file of 21 KB whose text takes seconds of CPU time and 300 MB."""
    content = zlib.compress(b"BT /F 9 Tf (a) Tj ET\n" * 400_000, 9)
    stream = b"<</Length %d/Filter/FlateDecode>>stream\n%b\nendstream" % (len(content), content)
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        stream,
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    )
    out, offsets = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        offsets.append(b"%010d 00000 n \n" % len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, each)
    table = b"xref\n0 6\n0000000000 65535 f \n" + b"".join(offsets)
    return out + table + b"trailer\n<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % len(out)


SLOW = slow_pdf()


def test_pdf_has_title_language_and_text(crawl_harness):
    store = crawl(site(crawl_harness), A_PDF)

    record = store.get(A_PDF)
    assert json.loads(record.fields["page.title"]) == "Bericht über die Wälder"
    assert json.loads(record.fields["page.language"]).startswith("de")
    assert record.facts["page_type"] == "page"
    assert store.content(A_PDF).body == PDF
    with closing(PageTexts()) as texts:
        text = texts.content(store, A_PDF, "text").body.decode()
        (field,) = texts.fields(store, A_PDF, ("page.text",)).values()
    assert "Zweite Seite: Die Zahlen stammen aus dem Jahr 2025." in text
    assert json.loads(field) == text


def test_plain_text_has_title_language_and_text_and_is_not_markup(crawl_harness):
    store = crawl(site(crawl_harness), A_TEXT)

    record = store.get(A_TEXT)
    assert json.loads(record.fields["page.title"]) == "Notes"
    assert json.loads(record.fields["page.language"]) == "en"
    with closing(PageTexts()) as texts:
        assert texts.content(store, A_TEXT, "markdown").body == TEXT.strip()


def test_exports_contain_the_texts_of_documents(crawl_harness):
    store = crawl(site(crawl_harness), A_PDF, A_TEXT)
    written = []

    class Sink:
        def write(self, records):
            written.extend(records)

        def close(self):
            pass

    with closing(PageTexts()) as texts:
        export_urls(
            store.zen, Sink(), NodeSelection(), fields=("page.title", "page.text"),
            find_texts=lambda url: texts.fields(store, url, ("page.text",)),
        )  # fmt: skip

    texts = {record.url: json.loads(record.fields["page.text"]) for record in written}
    assert texts[A_TEXT] == TEXT.decode().strip()
    assert texts[A_PDF].startswith("Bericht über die Wälder")


def test_pdf_is_refused_if_not_allowed(crawl_harness):
    harness = crawl_harness(
        {"/report.pdf": answer(200, PDF, content_type="application/pdf")}, qps=1000
    )
    harness.know_rules("site.test")
    store = crawl(harness, A_PDF)

    assert store.pages.fetch_report(A_PDF).outcome == "Unreadable"


def test_hostile_pdf_ends_its_process_but_not_the_server(crawl_harness):
    store = crawl(site(crawl_harness), A_TEXT)
    slow = Content("http://site.test/slow.pdf", SLOW, {"content_type": "application/pdf"}, {})
    limits = PipelineSettings(page_max_cpu_s=1.0, page_max_memory_bytes=200_000_000)
    with closing(PageTexts(limits)) as texts:
        with pytest.raises(PageTextUnavailable, match="CPU time"):
            texts.extract(slow, "text")
        assert texts.content(store, A_TEXT, "text").body == TEXT.strip()
