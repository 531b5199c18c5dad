"""The documentation lists exactly the existing interfaces."""

import ast
import json
import logging
import re
from functools import cache
from pathlib import Path
from unittest.mock import ANY

import pytest

from aragog.api.server.access_log import AccessLog, access_log
from aragog.api.server.http.openapi.document import DOCUMENT
from tests.support.documented import blocks
from tests.support.sources import all_modules

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
CONTRACT = (ROOT / "aragog/api/urlstore.thrift").read_text()


def test_http_page_has_exactly_the_existing_paths():
    page = (DOCS / "http.md").read_text()
    table = page.partition("| | |\n")[2].partition("\n\n")[0]
    listed = {path for path in re.findall(r"(/[\w/{}.:]+)", table) if path.startswith("/")}

    documented = {
        path for path in DOCUMENT["paths"] if path.startswith(("/v1", "/health", "/ready"))
    }
    published = {"/bot.html", "/addresses.json"}  # about the crawler, for site owners
    assert listed - {"/metrics"} - published == documented


def test_http_page_describes_every_error_of_the_document():
    table = (DOCS / "http.md").read_text().partition("## Errors")[2].partition("\n## ")[0]
    described = set(
        re.findall(r"\b[45]\d\d\b", " ".join(re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)))
    )
    declared = {name.removeprefix("Problem") for name in DOCUMENT["components"]["responses"]}

    assert described == declared


def test_progress_on_the_http_page_has_the_members_of_its_schemas():
    (progress,) = map(json.loads, blocks("docs/http.md", "json", '{"batch"'))
    responses = DOCUMENT["paths"]["/v1/batches/{batch}"]["get"]["responses"]
    schema = responses["200"]["content"]["application/json"]["schema"]["properties"]

    assert {*schema} == {*progress}
    for domain in progress["slowest"]:
        assert {*schema["slowest"]["items"]["properties"]} == {*domain}


@pytest.mark.parametrize("page", ["http.md", "thrift.md"])
def test_access_log_line_matches_the_page(page, caplog):
    (line,) = map(json.loads, blocks(f"docs/{page}", "json", '{"at"'))
    what = {name: line[name] for name in ("service", "method", "route") if name in line}

    with caplog.at_level(logging.INFO, access_log.name):
        target, token = line["target"].encode(), line["token"]
        AccessLog(1.0).write(what, target, line["status"], line["ms"], token)

    assert json.loads(caplog.messages[0]) == line | {"at": ANY}


def test_thrift_page_has_every_call_of_every_service():
    page = (DOCS / "thrift.md").read_text()
    for name, calls in re.findall(
        r"^service (\w+)[^{]*\{(.*?)^\}", CONTRACT, re.DOTALL | re.MULTILINE
    ):
        code = re.sub(r"/\*.*?\*/|//[^\n]*", "", calls, flags=re.DOTALL)
        call_names = set(re.findall(r"(\w+)\s*\([^)]*\)\s*(?:throws|,|;|$)", code, re.MULTILINE))
        (row,) = re.findall(rf"^\| {name} \| (.+) \|$", page, re.MULTILINE) or [""]

        assert set(re.findall(r"`(\w+)`", row)) >= call_names - {"ping", "authenticate"}, name


def test_thrift_page_has_every_exception():
    page = (DOCS / "thrift.md").read_text()
    names = re.findall(r"^exception (\w+)", CONTRACT, re.MULTILINE)

    assert len(names) > 5
    assert [name for name in names if f"| {name} |" not in page] == []


@cache
def metrics():
    """The names of the package's metrics, as Prometheus shows them."""
    return {*_metrics()}


def _metrics():
    for path in all_modules():
        if not re.search(r"[\"']aragog_", text := path.read_text()):
            continue
        for node in ast.walk(ast.parse(text)):
            match node:
                case ast.Call(func=function, args=[ast.Constant(value=str(name)), *_]) if (
                    re.fullmatch(r"aragog_[a-z_]+", name)
                ):
                    yield f"{name}_total" if "Counter" in ast.unparse(function) else name


def test_there_are_metrics_to_check():
    assert {"aragog_urls_total", "aragog_in_flight", "aragog_stage_seconds"} <= metrics()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_documented_metric_exists(page):
    named = set(re.findall(r"`(aragog_[a-z_]+)[`{]", page.read_text()))

    assert sorted(named - metrics()) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_documented_variable_is_a_setting(page):
    from aragog.settings import Settings

    for section, field in re.findall(r"ARAGOG_([A-Z_]+?)__([A-Z_0-9]+)", page.read_text()):
        assert hasattr(getattr(Settings(), section.lower()), field.lower())
