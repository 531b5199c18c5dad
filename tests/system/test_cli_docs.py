"""What docs/producers.md and examples/ print is what they say; docs/cli.md: test_demo_crawl.py."""

import doctest
import gzip
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.documented import ROOT, agrees, examples, run
from tests.support.producer import producer_home

pytestmark = [pytest.mark.redis, pytest.mark.slow]


def test_every_command_has_its_place_on_a_page():
    from aragog.cli import COMMANDS

    text = "".join(page.read_text() for page in (ROOT / "docs").glob("*.md"))

    assert [name for name in COMMANDS if f"aragog {name}" not in text] == []


def test_the_producers_page_does_what_it_says(monkeypatch):
    with producer_home() as home:
        monkeypatch.setenv("ARAGOG_DATA_DIR", str(home.folder))

        found = doctest.testfile(str(ROOT / "docs" / "producers.md"), module_relative=False)

    assert found.attempted > 5
    assert not found.failed


def test_the_examples_print_what_they_say():
    with producer_home() as home:
        for command, wanted in examples("examples/README.md"):
            assert agrees(wanted, run(command, home.environ))


def test_the_readme_enqueues_from_code():
    code = (ROOT / "README.md").read_text().partition("```python\n")[2].partition("```")[0]
    with producer_home() as home:
        printed = subprocess.check_output([sys.executable, "-c", code], env=home.environ, text=True)

        assert home.urls() == ["https://example.com/a"]
    assert printed.splitlines() == [
        "https://example.com/a accepted ",
        "nonsense invalid relative URL without a base",
    ]


def test_the_producers_page_sends_tasks_from_an_app_of_its_own():
    page = (ROOT / "docs" / "producers.md").read_text()
    (code,) = re.findall(r"```python\n(app\..*?)```", page, re.DOTALL)
    with producer_home() as home:
        setup = "from examples.celery_producer import app\n"
        subprocess.run([sys.executable, "-c", setup + code], env=home.environ, cwd=ROOT, check=True)

        assert len(home.jobs()) == code.count("send_task")


def test_the_producers_page_enqueues_from_the_shell(tmp_path):
    page = (ROOT / "docs" / "producers.md").read_text()
    shell = re.search(r"## From the shell\n\n((?:    .+\n)+)", page)[1]
    (tmp_path / "urls.txt").write_text("http://a.test/1\n")
    (tmp_path / "urls.gz").write_bytes(gzip.compress(b"http://a.test/2\nhttp://a.test/1\n"))

    with producer_home() as home:
        path = f"{Path(sys.executable).parent}:{home.environ['PATH']}"
        environ = {**home.environ, "PATH": path}
        subprocess.run(["bash", "-ec", shell], env=environ, cwd=tmp_path, check=True)

        assert sorted(home.urls()) == ["http://a.test/1", "http://a.test/2"]
