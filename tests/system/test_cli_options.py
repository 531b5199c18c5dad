"""Options shared by all commands: JSON, quiet, times, filters."""

import json
import time

import pytest
from click.testing import CliRunner

from aragog.cli import main
from aragog.cli.arguments import Instant
from aragog.cli.terminal import verbosity
from tests.support.producer import producer_home
from tests.support.standalone import free_port

pytestmark = pytest.mark.redis

URL = "http://a.example/page"


@pytest.fixture(scope="module")
def home():
    with producer_home() as home_folder:
        yield home_folder


@pytest.fixture
def run(home):
    def call(*arguments, code=0):
        ran = CliRunner().invoke(main, arguments, env=dict(home.environ))
        assert ran.exit_code == code, ran.output
        return ran

    yield call
    verbosity.quiet = verbosity.verbose = False


@pytest.mark.parametrize(
    ("text", "wanted_ms"),
    [
        ("1790000000000", 1790000000000),
        ("2026-12-31", 1798675200000),
        ("2026-12-31T08:00Z", 1798704000000),
        ("2026-12-31T08:00+01:00", 1798700400000),
    ],
)
def test_time_may_be_a_number_or_a_date(text, wanted_ms):
    assert Instant().convert(text, None, None) == wanted_ms


def test_time_may_be_relative_to_now():
    before_ms = int(1000 * time.time())

    assert 7_200_000 <= Instant().convert("in 2h", None, None) - before_ms < 7_260_000


@pytest.mark.parametrize("text", ["in two hours", "tomorrow", "-5", "2026-13-01", ""])
def test_invalid_time_exits_with_2(run, text):
    assert "is not a time" in run("enqueue", URL, "--run-after", text, code=2).stderr


def test_job_with_a_relative_time_waits(run):
    run("enqueue", URL, "--run-after", "in 2h")

    (queue,) = json.loads(run("queue", "list", "--json").stdout)[:1]
    assert queue["later"] + queue["due"] >= 0
    jobs = json.loads(run("queue", "jobs", "fetch", "--state", "pending", "--json").stdout)
    assert [job["at_ms"] > 1000 * time.time() + 3_600_000 for job in jobs] == [True]


@pytest.mark.parametrize("option", ["--include", "--exclude"])
def test_invalid_pattern_exits_with_2(run, option):
    assert "URL pattern" in run("enqueue", URL, option, "", code=2).stderr


def test_quiet_prints_problems_but_no_summary(run):
    reported = run("--quiet", "enqueue", "http://a.example/other", "nonsense://x", code=4)

    assert reported.stdout == ""
    assert "nonsense" in reported.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["queue", "pause", "fetch"],
        ["queue", "resume", "fetch"],
        ["queue", "limit", "fetch", "none"],
        ["queue", "purge", "fetch", "--yes"],
        ["reextract", "--host", "a.example"],
        ["watch", URL, "--owner", "me"],
        ["unwatch", URL, "--owner", "me"],
        ["store", "takedown", "--url", "http://a.example/gone", "--yes"],
        ["store", "repair"],
    ],
    ids=" ".join,
)
def test_quiet_commands_print_no_summary(run, arguments):
    run("enqueue", URL)

    reported = run("--quiet", *arguments)

    assert (reported.stdout, reported.stderr) == ("", "")


def test_quiet_run_prints_invalid_lines_but_no_summary(home, tmp_path):
    urls = tmp_path / "urls.txt"
    urls.write_text("nonsense://x\n")
    environ = {**home.environ, "ARAGOG_REDIS__URL": "", "ARAGOG_BROKER__URL": ""}
    environ |= {"ARAGOG_DATA_DIR": str(tmp_path / "var"), "ARAGOG_SERVING__THRIFT_PORT": "0"}
    ports = {"HTTP": free_port(), "FLOWER": free_port()}
    environ |= {f"ARAGOG_SERVING__{name}_PORT": str(port) for name, port in ports.items()}

    ran = CliRunner().invoke(main, ["--quiet", "run", str(urls)], env=environ)

    verbosity.quiet = False
    assert "nonsense" in ran.stderr
    assert ran.stdout == ""


def test_verbose_prints_the_traceback_of_an_error(run):
    ran = CliRunner().invoke(main, ["--verbose", "enqueue", "nowhere.txt"])

    assert ran.exit_code == 2
    assert "BadInput: nowhere.txt is neither a file nor a URL" in ran.output
    assert ran.output.startswith("Traceback")
    assert run("--quiet", "--verbose", "status", code=2)


@pytest.mark.parametrize(
    "arguments",
    [
        ["status"],
        ["due"],
        ["due", URL],
        ["webhooks", "list"],
        ["store", "takedowns"],
        ["store", "list", "a.example"],
        ["changes"],
        ["queue", "list"],
        ["domain", "list"],
        ["domain", "history"],
        ["limiter", "list"],
        ["limiter", "show", "a.example"],
        ["explain", URL],
        ["plan", "--urls", "1e9", "--domains", "1e6", "--costs"],
    ],
    ids=" ".join,
)
def test_json_output_of_reading_commands_is_valid(run, arguments):
    run("webhooks", "add", "http://hook.example/", "--secret", "hunter2")

    reported = run(*arguments, "--json").stdout

    for line in [reported] if reported.startswith(("[\n", "{\n")) else reported.splitlines():
        json.loads(line)
    assert "hunter2" not in reported


def test_shell_completes_commands_and_options():
    def completed(words):
        environ = {
            "_ARAGOG_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
        }
        return CliRunner().invoke(main, prog_name="aragog", env=environ).output.split()

    assert completed("aragog store takedo") == ["plain,takedown", "plain,takedowns"]
    assert "plain,--run-after" in completed("aragog enqueue --run")
