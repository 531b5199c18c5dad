"""
The examples in docs/client.md#enqueue-urls, README.md and examples/ produce the output that the
page shows; for others, see test_demo_crawl.py.
"""

import doctest
import gzip
import subprocess
import sys

import pytest

from tests.support.documented import ROOT, Shell, blocks
from tests.support.producer import producer_home

pytestmark = [pytest.mark.redis, pytest.mark.slow]


def test_every_command_is_documented():
    from aragog.cli import COMMANDS

    text = "".join(page.read_text() for page in (ROOT / "docs").glob("*.md"))

    assert [name for name in COMMANDS if f"aragog {name}" not in text] == []


def test_producer_session_matches_its_documented_output(monkeypatch):
    session = "\n".join(blocks("docs/client.md#enqueue-urls", "pycon"))
    test = doctest.DocTestParser().get_doctest(session, {}, "client.md", None, 0)
    with producer_home() as home:
        monkeypatch.setenv("ARAGOG_DATA_DIR", str(home.folder))

        outcome = doctest.DocTestRunner(verbose=False).run(test)

    assert outcome.attempted > 5
    assert not outcome.failed


def test_examples_match_their_documented_output():
    with producer_home() as home:
        mismatches = Shell(home.environ).mismatches("examples/README.md")
    assert not mismatches, mismatches


def test_readme_example_enqueues_from_code():
    (code,) = blocks("README.md", "python")
    with producer_home() as home:
        printed = subprocess.check_output([sys.executable, "-c", code], env=home.environ, text=True)

        assert home.urls() == ["https://example.com/a"]
    assert printed.splitlines() == [
        "https://example.com/a accepted ",
        "nonsense invalid relative URL without a base",
    ]


def test_producer_example_sends_tasks_from_its_own_app():
    """The tasks are a chain that begins with a fetch; the app is that of an example."""
    (code,) = blocks("docs/client.md#enqueue-urls", "python", "chain(")
    setup = """
from celery import chain
from examples.celery_producer import app, look_at as mine
url = "http://a.test/"
"""
    with producer_home() as home:
        subprocess.run([sys.executable, "-c", setup + code], env=home.environ, cwd=ROOT, check=True)

        (job,) = home.jobs()
    assert job.name == "aragog.tasks.fetch"


def test_producer_example_enqueues_from_the_shell(tmp_path):
    (script,) = blocks("docs/client.md#enqueue-urls", "sh")
    (tmp_path / "urls.txt").write_text("http://a.test/1\n")
    (tmp_path / "urls.gz").write_bytes(gzip.compress(b"http://a.test/2\nhttp://a.test/1\n"))

    with producer_home() as home:
        done = Shell(home.environ, tmp_path).script(script)

        assert done.returncode == 0, done.stdout
        assert sorted(home.urls()) == ["http://a.test/1", "http://a.test/2"]
