"""`aragog page-objects`: web-poet classes on stored pages."""

import csv
import json
import shlex
import uuid
from contextlib import closing

import pytest
from click.testing import CliRunner

from aragog.bootstrap.stores import url_store
from aragog.cli import main
from aragog.settings import load_settings
from tests.support import quotes_site
from tests.support.documented import blocks

PAGE = "docs/coming-from.md#scrapy"
TITLE = """
from web_poet import WebPage, field


class Title(WebPage):
    @field
    async def title(self):
        return self.css('h3::text').get().strip()
"""


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store with a page of quotes and the pages of its authors."""
    monkeypatch.setenv("ARAGOG_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with closing(url_store(load_settings())) as opened:
        for path, body in quotes_site.site().items():
            if path == "/" or path.startswith("/author/"):
                url = f"http://{quotes_site.HOST}{path}"
                opened.put_content(url, body.encode(), {"content_type": "text/html"})
        yield opened


@pytest.fixture
def module(tmp_path):
    """Writes a module with a unique name into the current folder; returns the name."""

    def write(text):
        name = f"pages_{uuid.uuid4().hex}"
        (tmp_path / f"{name}.py").write_text(text)
        return name

    return write


def run(*arguments, code=0):
    ran = CliRunner().invoke(main, ["page-objects", *arguments])
    assert ran.exit_code == code, ran.output
    return ran.output


def test_page_object_reads_authors_from_the_store(store, module, tmp_path):
    name = module(blocks(PAGE, "python", "from web_poet")[0])
    install, command = blocks(PAGE, "sh", "pip install 'aragog-crawler[poet]'")[0].splitlines()
    arguments = shlex.split(command.replace("pages:", f"{name}:"))
    assert (install, arguments[:2]) == (
        "pip install 'aragog-crawler[poet]'", ["aragog", "page-objects"],
    )  # fmt: skip

    output = run(*arguments[2:])

    with (tmp_path / "authors.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["name"] for row in rows} == quotes_site.authors()
    assert output == f"{len(rows)} items from {len(rows)} pages\n"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_page_whose_object_raises_is_reported_and_left_out(store, module, tmp_path):
    name = module(TITLE)

    output = run("x.jsonl", "--page-object", f"{name}:Title")

    assert f"http://{quotes_site.HOST}/: AttributeError" in output
    assert "50 items from 51 pages; 1 with an error" in output
    lines = (tmp_path / "x.jsonl").read_text().splitlines()
    assert {json.loads(line)["title"] for line in lines} == quotes_site.authors()


def test_page_objects_can_use_each_other_as_items(store, module, tmp_path):
    name = module(
        "import attrs\n"
        "from web_poet import ResponseUrl, WebPage, field\n\n\n"
        "@attrs.define\nclass Person:\n    url: str\n    born: str\n\n\n"
        "class Born(WebPage):\n"
        "    @field\n    def born(self):\n        return self.css('.author-born-date::text').get()\n\n\n"
        "@attrs.define\nclass PersonPage(WebPage[Person]):\n"
        "    other: Born\n    address: ResponseUrl\n"
        "    @field\n    def url(self):\n        return str(self.address)\n"
        "    @field\n    def born(self):\n        return self.other.born\n"
    )

    run("x.jsonl", "--page-object", f"{name}:PersonPage", "--host", quotes_site.HOST)

    lines = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    assert {"url": f"http://{quotes_site.HOST}/author/Author-1", "born": "March 14, 1879"} in lines


def test_page_object_that_needs_requests_is_refused(store, module, tmp_path):
    name = module(
        "import attrs\nfrom web_poet import HttpClient, WebPage\n\n\n"
        "@attrs.define\nclass More(WebPage):\n    client: HttpClient\n"
    )

    output = run("x.jsonl", "--page-object", f"{name}:More", code=1)

    assert "stored pages cannot provide its inputs" in output
    assert not (tmp_path / "x.jsonl").exists()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("nothing_of_that_name:X", "No module named"),
        ("json:JSONDecoder", "is not a web-poet page object"),
        ("json", "is not MODULE:CLASS"),
    ],
)
def test_invalid_name_of_a_page_object_is_reported(store, name, reason):
    assert reason in run("x.jsonl", "--page-object", name, code=1)


def test_taken_down_page_is_not_read(store, module, tmp_path):
    name = module(TITLE)
    store.takedowns.take_down(url=f"http://{quotes_site.HOST}/author/Author-1")

    run("x.jsonl", "--page-object", f"{name}:Title")

    lines = (tmp_path / "x.jsonl").read_text().splitlines()
    names = {json.loads(line)["title"] for line in lines}
    assert names == quotes_site.authors() - {"Author-1"}
