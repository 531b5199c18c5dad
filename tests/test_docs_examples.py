"""Every example of README.md and docs/ is run by a test, or has a reason why none runs it."""

import doctest
import io
import json
import re
import subprocess
import sys
import tomllib
from contextlib import redirect_stdout

import pytest

from aragog.pipeline.pages.analysis import read_page
from aragog.settings import Settings, load_settings
from tests.support.documented import ROOT
from tests.support.origin import Origin, page
from tests.support.pieces import html_result

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
SECTIONS = set(Settings.__dataclass_fields__)

# (page, language of the fence) to the test that runs it, or the reason why none does.
DOCTESTS = {"changes.md", "robots.md", "safety.md"}
ELSEWHERE = {
    ("canonical.md", "pycon"): "tests/unit/urls/test_urls_docs.py",
    ("cli.md", "console"): "tests/system/test_demo_crawl.py",
    ("cli.md", "text"): "starts and stops a system; tests/system/test_standalone_lifecycle.py does",
    ("client.md", "python"): "tests/integration/serving/test_client.py",
    ("extraction.md", "python"): "tests/unit/pages/test_pages_docs.py",
    ("fields.md", "python"): "tests/unit/pages/test_pages_docs.py",
    ("politeness.md", "console"): "tests/system/test_demo_crawl.py",
    ("politeness.md", "toml"): "tests/unit/politeness/test_overrides.py",
    ("producers.md", "python"): "tests/system/test_cli_docs.py",
    ("README.md", "console"): "tests/system/test_demo_crawl.py",
    ("README.md", "python"): "tests/system/test_cli_docs.py",
    ("robots.md", "text"): "tests/test_docs_commands.py",
    ("scale.md", "text"): "tests/test_docs_figures.py",
    ("store.md", "python"): "tests/unit/urlstore/test_store_docs.py",
    ("thrift.md", "console"): "needs the Thrift compiler",
    ("thrift.md", "python"): "tests/integration/serving/test_thrift_calls.py",
    ("tutorial.md", "console"): "tests/system/test_demo_crawl.py",
    ("tutorial.md", "text"): "installs, and fetches from the internet",
    ("urls.md", "pycon"): "tests/unit/urls/test_urls_docs.py",
    ("urls.md", "toml"): "tests/unit/urls/test_urls_docs.py",
}
HERE = {("extending.md", "python"), ("fetching.md", "python")} | {
    (name, "python") for name in DOCTESTS
}


def blocks(path, language):
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE)


def test_every_example_is_run_or_has_a_reason():
    # JSON and TOML are read below; a fence without a language is a drawing, or commands, which
    # tests/test_docs_commands.py checks.
    found = {
        (path.name, language)
        for path in PAGES
        for language in re.findall(r"^```(\w+)\n", path.read_text(), re.MULTILINE)
        if language not in ("json", "toml", "mermaid")
    }
    known = {*ELSEWHERE, *HERE}

    assert found == {each for each in known if each[1] != "toml"}
    assert all((ROOT / at).exists() for at in ELSEWHERE.values() if at.startswith("tests/"))


@pytest.mark.parametrize("name", sorted(DOCTESTS))
def test_a_page_prints_what_it_says(name):
    found = doctest.testfile(str(DOCS / name), module_relative=False)

    assert found.attempted > 2
    assert not found.failed


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_json_is_json(path):
    read = [json.loads(block) for block in blocks(path, "json")]

    assert all(isinstance(each, dict | list) for each in read)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_settings_are_accepted(path, tmp_path):
    for block in blocks(path, "toml"):
        tables = set(tomllib.loads(block))
        if (path.name, "toml") in ELSEWHERE or tables == {"project"}:
            continue
        assert tables <= SECTIONS
        file = tmp_path / "aragog.toml"
        file.write_text(block)
        tokens = ",".join(f"{name}:write:{'0' * 64}" for name in ("ops", "team"))
        load_settings(environ={"ARAGOG_SETTINGS": str(file), "ARAGOG_SERVING__TOKENS": tokens})


def test_the_fetcher_fetches():
    (code,) = blocks(DOCS / "fetching.md", "python")
    printed = io.StringIO()

    with Origin({"/": page(b"<title>hello</title>")}) as origin:
        code = code.replace('https://example.com/")', f'{origin.url("/")}")').replace(
            "user_agent=",
            f'allowed_networks=("127.0.0.0/8",), allowed_ports=({origin.port},), user_agent=',
        )
        with redirect_stdout(printed):
            exec(compile(code, "fetching.md", "exec"), {})

        assert printed.getvalue() == f"Fetched 200 {origin.url('/')}\n"


def test_the_extractor_extracts():
    extractor, _ = blocks(DOCS / "extending.md", "python")
    entry, *_ = blocks(DOCS / "extending.md", "toml")
    ((name, target),) = tomllib.loads(entry)["project"]["entry-points"]["aragog.extractors"].items()
    names = {}
    exec(compile(extractor, "extending.md", "exec"), names)
    body = b"<title>A job</title><p itemprop=baseSalary>50,000</p>"

    found = read_page(
        html_result("https://jobs.test/1"), body, max_links=9,
        extractors={name: names[target.partition(":")[2]]},
    )  # fmt: skip

    assert (found.fields["jobs.salary"], found.page_type) == (b'"50,000"', "jobs")


def test_the_task_of_a_stored_page_prints_it(tmp_path):
    _, app = blocks(DOCS / "extending.md", "python")
    of = {"url": "http://a.test/", "canonical_url": "http://b.test/", "page_type": None}
    batch = {"v": 1, "pages": [{**of, "fetched_at_ms": 7}]}
    (tmp_path / "team.py").write_text(f"{app}\n\napp.tasks['team.page_ready']({batch})\n")

    done = subprocess.run(
        [sys.executable, tmp_path / "team.py"], capture_output=True, text=True, check=True
    )

    assert done.stdout == "http://a.test/ http://b.test/ None 7\n"
