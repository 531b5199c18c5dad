"""From nothing to a table: `aragog new`, `aragog try` and `aragog run`, as in the README."""

import json
import os
import shlex
import subprocess
import sys
import tomllib

import pytest

from tests.support.documented import blocks
from tests.support.origin import Origin, answer, page
from tests.support.standalone import free_port

pytestmark = [pytest.mark.redis, pytest.mark.slow, pytest.mark.timeout(900)]

LIMIT_S = 800  # it starts a complete system, perhaps on a busy machine
README = "README.md"
(COMMANDS,) = blocks(README, "sh", "make setup")
(RULES,) = blocks(README, "toml")
(TABLE,) = blocks(README, "text", "title")
BOOKS = [
    ("Leeks and how to grow them", "12.50", "In stock"),
    ("The frost", "9.00", "Sold out"),
    ("A year of soups", "21.95", "In stock"),
]


def of_site(text):
    """A documented text, changed to this test's site."""
    return text.replace("https://books.example", "http://books.test").replace(".example", ".test")


def book(number):
    title, price, stock = BOOKS[number - 1]
    offer = {"@type": "Offer", "price": price, "priceCurrency": "EUR"}
    product = {"@context": "https://schema.org", "@type": "Product", "name": title, "offers": offer}
    return page(
        f"""<html><title>{title}</title><script type="application/ld+json">{json.dumps(product)}</script>
        <nav><a class=title href="/">Books</a></nav><article><h1>{title}</h1>
        <div class="cover css-1x{number}y2z"><img src="/covers/{number}.jpg"></div>
        <p class=price>€ {price}</p><p class=stock>{stock}</p><p class=slogan>The best books</p>
        </article><script>alert(1)</script></html>""".encode()
    )


@pytest.fixture
def shop():
    """A shop with three books."""
    routes = {f"//books.test/book/{n}": book(n) for n in (1, 2, 3)}
    routes["//books.test/book/4"] = answer(404, b"")
    routes["//books.test/robots.txt"] = answer(
        200, b"User-agent: *\nDisallow: /secret", content_type="text/plain"
    )
    with Origin(routes) as origin:
        yield origin


@pytest.fixture
def run(tmp_path, shop):
    """Runs a user's command in their folder; returns its output and status."""
    ours = {name: text for name, text in os.environ.items() if not name.startswith("ARAGOG_")}
    environ = {
        **ours,
        "ARAGOG_DATA_DIR": str(tmp_path / "var"),
        "ARAGOG_FETCH__HOST_MAP": f"*.test={shop.address}",
        "ARAGOG_SERVING__HTTP_PORT": str(free_port()),
        "ARAGOG_SERVING__THRIFT_PORT": "0",
        "ARAGOG_SERVING__FLOWER_PORT": str(free_port()),
        "COLUMNS": "300",
    }

    def ran(command):
        _, *arguments = shlex.split(command)
        return subprocess.run(
            [sys.executable, "-m", "aragog.cli", *arguments],
            cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=LIMIT_S,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    return ran


def test_commands_of_the_readme_make_its_table(run, tmp_path, shop):
    first, *commands = of_site(COMMANDS).replace("\\\n", " ").splitlines()
    assert first.startswith("make setup && ")  # `make test` has run it
    new, tried, ran = [run(command) for command in commands]

    assert new.returncode == 0, new.stderr
    assert "found without a rule" in new.stdout
    rules = tomllib.loads((tmp_path / "aragog.toml").read_text())
    assert rules.pop("fetch") == {"user_agent": "examplebot/1.0 (+https://example.com/bot)"}
    assert rules == tomllib.loads(of_site(RULES))
    assert "items.product.price 1 hit css:.price" in " ".join(tried.stdout.split())
    colored = (tmp_path / "page.html").read_text()
    assert 'title="items.product.price' in colored
    assert "alert(1)" not in colored
    assert ran.returncode == 0, ran.stdout + ran.stderr
    lines = sorted((tmp_path / "product.csv").read_text().splitlines())
    assert lines == sorted(of_site(TABLE).splitlines())
    requested_paths = [seen.path for seen in shop.seen]
    assert requested_paths[0] == "/robots.txt"  # before the first page
    assert len(requested_paths) <= 10
    for printed in (new.stdout.splitlines()[-2:], commands[1:]):
        assert [line.split()[:2] for line in printed] == [["aragog", "try"], ["aragog", "run"]]


def test_new_replaces_no_file_and_fetches_nothing_in_that_case(run, tmp_path, shop):
    (tmp_path / "urls.txt").write_text("mine")

    refused = run("aragog new http://books.test/book/1")

    assert refused.returncode == 1
    assert "urls.txt: already exists; choose another folder with --into" in refused.stderr
    assert (tmp_path / "urls.txt").read_text() == "mine"
    assert shop.seen == []


def test_new_in_another_folder_names_the_settings_that_its_file_lacks(run, tmp_path):
    """The printed commands failed, because host_map was only in the first folder's file."""
    (tmp_path / "aragog.toml").write_text(
        '[fetch]\nuser_agent = "examplebot/1.0 (+https://example.com/bot)"\n'
        "[politeness]\nqps = 20\n"
    )

    made = run("aragog new http://books.test/book/1 http://books.test/book/2 --into guess")

    assert made.returncode == 0, made.stderr
    lines = [line.strip() for line in made.stdout.splitlines()]
    assert "copy politeness.qps from aragog.toml if the pages need it" in lines
    assert "cd guess" in lines
    assert "qps" not in (tmp_path / "guess" / "aragog.toml").read_text()


@pytest.mark.parametrize(
    ("arguments", "reason", "status"),
    [
        ("http://books.test/secret", "/secret: refused by robots.txt line 2, Disallow: /secret", 5),
        (
            "http://no.invalid/ --agent 'examplebot/1.0 (+https://example.com/bot)'",
            "robots.txt could not be reached (no.invalid: ",
            5,
        ),
        ("http://books.test/book/4", "http://books.test/book/4: Gone: 404", 5),
        ("http://books.test/book/1 http://other.test/1", "pass URLs on a single host", 2),
        (" ".join(f"http://books.test/book/{n}" for n in range(11)), "at most 10 examples", 2),
    ],
)  # fmt: skip
def test_unsupported_use_of_new_has_a_reason_and_writes_nothing(
    run, tmp_path, arguments, reason, status
):
    refused = run(f"aragog new {arguments}")

    assert reason.lower() in refused.stderr.lower()
    assert refused.returncode == status
    assert not (tmp_path / "aragog.toml").exists()
