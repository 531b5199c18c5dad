"""Commands with `--for` neither print nor write data of pages that refuse the purpose."""

import gzip
import zipfile

import pytest
import zstandard
from click.testing import CliRunner

from aragog.bootstrap.stores import url_store
from aragog.cli import main
from aragog.pages.preferences import PURPOSES, TDM_FILE_READ
from aragog.runtime.clock import ManualClock
from aragog.settings import load_settings
from aragog.transfer.parts import PURPOSE_FILE
from aragog.urlstore.compression import compress
from aragog.urlstore.records import ContentWrite
from aragog.urlstore.refresh_policy import Seen
from tests.support.stores import NOW_MS, page

READ = {"robots_preferences": str(TDM_FILE_READ)}
PAGES = {
    "http://open.example/": (READ, PURPOSES),
    "http://refused.example/": (READ | {"page_preferences": "ai-train=n (meta)"}, PURPOSES[:2]),
    "http://unasked.example/": ({}, ("search",)),
}
TARGET = "http://target.example/"


@pytest.fixture(autouse=True)
def _stored(tmp_path, monkeypatch):
    """Pages that changed, with content and a link."""
    monkeypatch.setenv("ARAGOG_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("ARAGOG_SETTINGS", "")
    monkeypatch.delenv("CELERY_BROKER_URL", raising=False)
    store = url_store(load_settings(), ManualClock(NOW_MS))
    for at_ms, words in ((NOW_MS, "old"), (NOW_MS + 9, "new")):
        for url, (facts, _) in PAGES.items():
            body = f"<title>{words} {text_of(url)}</title>".encode()
            meta = {"url": url, "content_type": "text/html"}
            written = page(
                url, at_ms, links=[TARGET], facts={"outcome": "Fetched", **facts},
                fields={"page.title": f'"{words} {text_of(url)}"'.encode()},
                content=ContentWrite(compress(body), length_bytes=len(body), meta=meta),
                seen=Seen(outcome="Fetched", fetched_at_ms=at_ms, page_type="page"),
            )  # fmt: skip
            store.write_pages([written])
    while store.maintenance.compact_links(1000).left:
        pass
    store.close()


def text_of(url):
    return f"TEXT-{url.split('/')[2]}"


def run(*arguments, code=0):
    ran = CliRunner().invoke(main, list(map(str, arguments)))
    assert ran.exit_code == code, ran.output
    return ran.output


def run_without_result(*arguments):
    """The output of a command that finds nothing to show without being misused."""
    ran = CliRunner().invoke(main, list(map(str, arguments)))
    assert ran.exit_code not in (0, 1, 2), ran.output
    return ran.output


@pytest.mark.parametrize("purpose", PURPOSES)
@pytest.mark.parametrize(
    "command",
    [("show",), ("show", "--json"), ("content",), ("show", "--max-age", "999999h", "--wait", "0")],
)
def test_page_that_refuses_a_purpose_is_not_shown(command, purpose):
    for url, (_, purposes) in PAGES.items():
        given = purpose in purposes
        show = run if given else run_without_result
        printed = show(command[0], url, *command[1:], "--for", purpose)

        assert (text_of(url) in printed) == given
        assert given or f"for {purpose}: " in printed


@pytest.mark.parametrize("purpose", PURPOSES)
def test_links_of_a_page_that_refuses_a_purpose_are_not_listed(purpose):
    sources = run("links", TARGET, "--in", "--for", purpose)
    for url, (_, purposes) in PAGES.items():
        assert (TARGET in run("links", url, "--for", purpose)) == (purpose in purposes)
        assert (url in sources) == (purpose in purposes)
        assert TARGET in run("links", url)


@pytest.mark.parametrize("purpose", PURPOSES)
def test_changes_of_a_page_that_refuses_a_purpose_have_no_fields(purpose):
    printed = run("changes", "--for", purpose)
    for url, (_, purposes) in PAGES.items():
        assert url in printed
        assert (text_of(url) in printed) == (purpose in purposes)


@pytest.mark.parametrize("purpose", PURPOSES)
@pytest.mark.parametrize("kind", ["jsonl", "warc", "wacz"])
def test_export_for_a_purpose_omits_pages_that_refuse_it(tmp_path, kind, purpose):
    run("store", "export", tmp_path / f"x.{kind}", "--for", purpose)

    written = b"".join(map(contents, tmp_path.glob("x.*")))
    for url, (_, purposes) in PAGES.items():
        assert (text_of(url).encode() in written) == (purpose in purposes)


@pytest.mark.parametrize("purpose", PURPOSES)
def test_pack_export_for_a_purpose_omits_pages_that_refuse_it(tmp_path, purpose):
    run("store", "export-packs", tmp_path / "out", "--for", purpose)

    written = b"".join(map(contents, (tmp_path / "out").glob("*/*.warc.zst")))
    for url, (_, purposes) in PAGES.items():
        assert (text_of(url).encode() in written) == (purpose in purposes)


def contents(file):
    """The content of a file, and of the files in it."""
    if file.suffix == ".wacz":
        with zipfile.ZipFile(file) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        return b"".join(gzip.decompress(d) if n.endswith(".gz") else d for n, d in parts.items())
    if file.suffix == ".zst":
        return zstandard.ZstdDecompressor().stream_reader(
            file.read_bytes(), read_across_frames=True
        ).read()  # fmt: skip
    return gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()


def test_parts_are_completed_only_for_the_same_purpose(tmp_path):
    out = tmp_path / "out"
    begin = ("store", "export-parts", out, "--parts", 2, "--format", "jsonl")
    run(*begin, "--part", 0)

    assert "parts for any purpose, but this export is for ai-train" in run(
        *begin, "--for", "ai-train", code=2
    )

    out = tmp_path / "trains"
    begin = ("store", "export-parts", out, "--parts", 2, "--format", "jsonl")
    run(*begin, "--part", 0, "--for", "ai-train")

    assert "parts for ai-train, but this export is for any purpose" in run(*begin, code=2)
    assert "parts for ai-train, but this export is for search" in run(
        *begin, "--for", "search", code=2
    )
    assert "1 already existed" in run(*begin, "--for", "ai-train")
    assert (out / PURPOSE_FILE).read_text() == "ai-train"
    written = b"".join(part.read_bytes() for part in out.glob("part-*"))
    assert b"TEXT-open.example" in written
    assert b"TEXT-refused.example" not in written


def test_purpose_of_a_webhook_is_listed():
    run("webhooks", "add", "https://example.com/hook", "--for", "ai-train")

    assert "for=ai-train" in run("webhooks", "list")
    assert '"for": "ai-train"' in run("webhooks", "list", "--json").replace('":"', '": "')
