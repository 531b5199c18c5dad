"""The documentation's Python, TOML and JSON, run or read as a reader would."""

import doctest
import io
import json
import re
import subprocess
import sys
import tomllib
from contextlib import redirect_stdout

import pytest

from aragog.crawl.stages.page_analysis import read_page
from aragog.settings import Settings, load_settings
from richpins.document import parse
from tests.support.byte_streams import html_result
from tests.support.documented import ROOT, all_blocks, blocks
from tests.support.origin import Origin, page

SECTIONS = set(Settings.__dataclass_fields__)
# Pages whose Python needs a server, and pages whose TOML is not a settings file.
WITH_A_SERVER = {"docs/client.md", "packages/pinlater/README.md"}
OTHER_TOML = {"docs/politeness.md", "docs/urls.md", "packages/pinlater/README.md"}


def pages_with(language):
    return sorted({block.page for block in all_blocks() if block.language == language})


@pytest.mark.parametrize("name", sorted({*pages_with("pycon")} - WITH_A_SERVER))
def test_page_prints_what_it_shows(name):
    # Each page is a session in which later blocks use earlier names.
    session = "\n".join(blocks(name, "pycon"))
    test = doctest.DocTestParser().get_doctest(session, {}, name, name, 0)

    assert test.examples
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


@pytest.mark.parametrize("name", pages_with("json"))
def test_json_is_valid(name):
    read = [json.loads(block) for block in blocks(name, "json")]

    assert all(isinstance(each, dict | list) for each in read)


@pytest.mark.parametrize("name", sorted({*pages_with("toml")} - OTHER_TOML))
def test_settings_are_accepted(name, tmp_path):
    for block in blocks(name, "toml"):
        tables = set(tomllib.loads(block))
        if tables == {"project"}:  # from pyproject.toml, see below
            continue
        assert tables <= SECTIONS
        file = tmp_path / "aragog.toml"
        file.write_text(block)
        tokens = ",".join(f"{name}:write:{'0' * 64}" for name in ("ops", "team"))
        load_settings(environ={"ARAGOG_SETTINGS": str(file), "ARAGOG_SERVING__TOKENS": tokens})


# Runs each measurement with its arguments up to the help text, which it prints instead of
# measuring.
HELPS = """
import runpy, shlex, sys
for line in sys.stdin:
    module, *arguments = shlex.split(line)
    sys.argv = [module, *arguments, "--help"]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        sys.exit(f"{module} has no --help")
    except SystemExit as end:
        if end.code:
            raise
"""


def test_measurements_accept_the_documented_arguments():
    text = "\n".join(
        block.text for block in all_blocks() if block.language == "sh" and "bench" in block.text
    )
    commands = re.findall(r"^\.venv/bin/python -m (bench\..*?)(?: *#.*)?$", text, re.MULTILINE)

    done = subprocess.run(
        [sys.executable, "-c", HELPS],
        cwd=ROOT, input="\n".join(commands), capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert len(commands) > 10
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("usage: ") == len(commands)


def test_fetcher_example_works():
    (code,) = blocks("docs/fetching.md", "python")
    printed = io.StringIO()

    with Origin({"/": page(b"<title>hello</title>")}) as origin:
        code = code.replace('https://example.com/")', f'{origin.url("/")}")').replace(
            "user_agent=",
            f'allowed_networks=("127.0.0.0/8",), allowed_ports=({origin.port},), user_agent=',
        )
        with redirect_stdout(printed):
            exec(compile(code, "fetching.md", "exec"), {})

        assert printed.getvalue() == f"Fetched 200 {origin.url('/')}\n"


def test_extractor_example_works():
    (extractor,) = blocks("docs/extending.md", "python", "from aragog.pages.extractors")
    (entry,) = blocks("docs/extending.md", "toml", '[project.entry-points."aragog.extractors')
    ((name, target),) = tomllib.loads(entry)["project"]["entry-points"]["aragog.extractors"].items()
    names = {}
    exec(compile(extractor, "extending.md", "exec"), names)
    body = b"<title>A job</title><p itemprop=baseSalary>50,000</p>"

    analysis = read_page(
        html_result("https://jobs.test/1"), body, agent="aragog", max_links=9,
        extractors={name: names[target.partition(":")[2]]},
    )  # fmt: skip

    assert (analysis.fields["jobs.salary"], analysis.page_type) == (b'"50,000"', "jobs")


def test_text_finder_example_works():
    (finder,) = blocks("docs/extending.md", "python", "from richpins.document")
    (entry,) = blocks("docs/extending.md", "toml", '[project.entry-points."aragog.text_finders')
    (target,) = tomllib.loads(entry)["project"]["entry-points"]["aragog.text_finders"].values()
    names = {}
    exec(compile(finder, "extending.md", "exec"), names)
    find = names[target.partition(":")[2]]

    assert find(parse(b"<nav>Menu</nav><main><p>A text", url="https://a.test/"), "text") == "A text"
    assert find(parse(b"<p>A text", url="https://a.test/"), "text") == ""


def test_custom_engine_example_is_tested(tmp_path):
    (example,) = blocks("docs/extending.md", "python", "import pytest")
    (tmp_path / "test_my_content.py").write_text(example)
    engine = "from aragog.urlstore.content import FolderContent as MyContent\n"
    (tmp_path / "mystore.py").write_text(engine)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null"]

    done = subprocess.run(
        [*command, str(tmp_path)], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 20


def test_task_example_prints_a_stored_page(tmp_path):
    (app,) = blocks("docs/extending.md", "python", "from celery")
    of = {"url": "http://a.test/", "canonical_url": "http://b.test/", "page_type": None}
    batch = {"v": 1, "pages": [{**of, "fetched_at_ms": 7}]}
    (tmp_path / "team.py").write_text(f"{app}\n\napp.tasks['team.page_ready']({batch})\n")

    done = subprocess.run(
        [sys.executable, tmp_path / "team.py"], capture_output=True, text=True, check=True
    )

    assert done.stdout == "http://a.test/ http://b.test/ None 7\n"
