"""A user's own fields in their own file: rules, a function, a stored login, and `aragog try`."""

import json
import os
import shlex
import subprocess
import sys

import pytest
from click.testing import CliRunner

from aragog.cli import main
from aragog.cli.chosen_extractors import VARIABLE
from tests.support.documented import blocks
from tests.support.origin import Origin, answer, page
from tests.support.standalone import free_port

pytestmark = [pytest.mark.redis, pytest.mark.slow, pytest.mark.timeout(900)]

LIMIT_S = 800  # it starts a complete system, perhaps on a busy machine
DOCS = "docs/own-fields.md#fields-of-pages"
SECRET = "8f14e45fceea167a"
RULES, LOGIN = (
    block.replace("https://books.example", "http://books.test").replace('.example"', '.test"')
    for block in blocks(DOCS, "toml")
)
(FUNCTION,) = blocks(DOCS, "python")
COMMAND, *WITH_FUNCTION = blocks(DOCS, "sh")


def book(number):
    return page(
        f"""<html><title>Book {number}</title><h1>Book  {number}</h1><p class=price>£{number}.50</p>
        <p class=cover><img src="/covers/{number}.jpg"></p>
        <ul><li class=tag>poetry<li class=tag>leeks</ul>
        <a href="/">all</a></html>""".encode()
    )


def with_login(body):
    """A page for logged-in users, a refusal for others."""

    def handler(request, _):
        known = request.header("cookie") == f"session={SECRET}"
        return body if known else answer(403, b"log in first")

    return handler


@pytest.fixture
def shop():
    """A shop with three books behind a login, and a help page that links to it."""
    index = "".join(f'<a href="/book/{n}">Book</a>' for n in range(3)) + '<a href="/help">Help</a>'
    routes = {f"//books.test/book/{n}": with_login(book(n)) for n in range(3)}
    routes |= {
        "//books.test/": with_login(page(f"<html>{index}</html>".encode())),
        "//books.test/help": with_login(page(b"<html><h1>Help</h1></html>")),
        "//books.test/robots.txt": answer(
            200, b"User-agent: *\nDisallow: /secret", content_type="text/plain"
        ),
    }
    with Origin(routes) as origin:
        yield origin


@pytest.fixture
def folder(tmp_path, shop):
    """A user's folder: settings, a function, a list of URLs."""
    (tmp_path / "aragog.toml").write_text(f'{RULES}missing = "css:.none"\n{LOGIN}')
    (tmp_path / "shelf.py").write_text(FUNCTION)
    (tmp_path / "urls.txt").write_text("http://books.test/\n")
    return tmp_path


def environment(folder, shop):
    """The environment variables of the user's commands."""
    ours = {name: text for name, text in os.environ.items() if not name.startswith("ARAGOG_")}
    return {
        **ours,
        "ARAGOG_SETTINGS": str(folder / "aragog.toml"),
        "ARAGOG_DATA_DIR": str(folder / "var"),
        "ARAGOG_FETCH__HOST_MAP": f"*.test={shop.address}",
        "ARAGOG_SERVING__HTTP_PORT": str(free_port()),
        "ARAGOG_SERVING__THRIFT_PORT": "0",
        "ARAGOG_SERVING__FLOWER_PORT": str(free_port()),
    }


def run(folder, shop, command):
    """A command in its own process, as entered by the user."""
    _, *arguments = shlex.split(command)
    return subprocess.run(
        [sys.executable, "-m", "aragog.cli", *arguments],
        cwd=folder, env=environment(folder, shop), capture_output=True, text=True, timeout=LIMIT_S,
        check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def tried(folder, shop, *arguments, **options):
    """`aragog try` in this process."""
    return CliRunner().invoke(main, ["try", *arguments], env=environment(folder, shop), **options)


def test_run_writes_chosen_fields_and_keeps_the_login_to_its_site(folder, shop):
    ran = run(folder, shop, f"{COMMAND.strip()},poetry --extractor shelf.py:shelf")

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "4 records in books.jsonl" in ran.stdout
    rows = {row["url"]: row for row in map(json.loads, (folder / "books.jsonl").open())}
    assert set(rows) == {"http://books.test/", *(f"http://books.test/book/{n}" for n in range(3))}
    assert rows["http://books.test/book/2"] == {
        "url": "http://books.test/book/2", "title": "Book 2", "price": 2.5,
        "cover": "http://books.test/covers/2.jpg", "tags": ["poetry", "leeks"],
        "poetry": True,
    }  # fmt: skip
    assert "/help" not in [seen.path for seen in shop.seen]
    assert SECRET not in ran.stdout + ran.stderr
    # The settings of the system itself are readable by its user only.
    written = [path for path in (folder / "var").rglob("*") if path.is_file() and holds(path)]
    assert [path.name for path in written] == ["settings.json"]
    assert written[0].stat().st_mode & 0o077 == 0


def holds(path):
    """Whether a file, such as a log, a store record or a message, contains the secret."""
    return SECRET.encode() in path.read_bytes()


def test_try_reads_a_page_with_a_function_from_a_file(folder, shop, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv(VARIABLE, "")  # which the command changes for a system that it may start
    (command,) = WITH_FUNCTION
    _, _, *arguments = shlex.split(command.replace("https://books.example", "http://books.test"))

    shown = json.loads(tried(folder, shop, *arguments, "--json").stdout)

    assert {name: shown["fields"][f"shelf.{name}"] for name in ("tags", "poetry", "first")} == {
        "tags": 2, "poetry": True, "first": "Book 1",
    }  # fmt: skip
    assert shown["provenance"]["shelf.tags"] == "extractor shelf"


def test_try_shows_fields_links_and_timing_and_stores_nothing(folder, shop):
    shown = tried(folder, shop, "http://books.test/book/1")

    assert shown.exit_code == 0, shown.output
    lines = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    assert "site.price 1.5 extractor site" in lines
    assert "site.missing the rule matched nothing" in lines
    assert any(line.startswith("timing ") and "total" in line for line in lines)
    assert "links 1" in lines
    assert SECRET not in shown.output
    assert not (folder / "var" / "store").exists()


def test_try_as_json_has_everything(folder, shop):
    shown = json.loads(tried(folder, shop, "http://books.test/book/1", "--json").stdout)

    assert shown["fields"]["site.title"] == "Book 1"
    assert shown["rules_without_value"] == ["site.missing"]
    assert [link["url"] for link in shown["links"]] == ["http://books.test/"]
    assert shown["timing"].keys() >= {"total_ms", "analysis_ms"}


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://books.test/secret/x", "refused by robots.txt line 2"),
        ("http://books.test/none", "Gone"),
        ("http://127.0.0.1/", "Blocked"),
    ],
)
def test_try_of_a_url_without_a_page_prints_the_reason(folder, shop, url, problem):
    shown = tried(folder, shop, url)

    assert shown.exit_code == 5
    assert problem in shown.stderr
    assert "/secret/x" not in [seen.path for seen in shop.seen]


def test_prompt_can_query_the_page(folder, shop):
    commands = "css('h1')\nxpath('count(//li)') + 40\n"

    shown = tried(folder, shop, "http://books.test/book/1", "--prompt", input=commands)

    assert "'Book 1'" in shown.output
    assert "42" in shown.output


def test_mistake_in_a_rule_or_extractor_is_reported_before_fetching(folder, shop):
    missing = tried(folder, shop, "http://books.test/", "--extractor", "none.py:shelf")
    settings = (folder / "aragog.toml").read_text()
    (folder / "aragog.toml").write_text(settings.replace("img::link", "img::first"))
    ran = run(folder, shop, "aragog run urls.txt --stop")

    assert "none.py:shelf' cannot be loaded" in missing.stderr
    assert ran.returncode == 1
    assert "extract: books.test: cover: the end of a CSS selector must be" in ran.stderr
    assert shop.seen == []
