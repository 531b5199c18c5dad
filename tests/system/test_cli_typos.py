"""Typos are refused with exit code 2 and a hint; nothing is done and nothing is created."""

import click
import orjson
import pytest
from click.testing import CliRunner

from aragog.bootstrap.stores import url_store
from aragog.cli import main
from aragog.cli.arguments import pin_fields
from aragog.client import Aragog
from aragog.errors import ConfigError
from aragog.settings import load_settings
from pinlater.admin import Admin
from pinlater.models import JobState, NewJob
from tests.support.stores import page

pytestmark = pytest.mark.redis

AGENT = "examplebot/1.0 (+https://example.com/bot)"
URL = "http://a.example/"


@pytest.fixture
def run(cli_environ):
    """An `aragog` command on a store with one page that has a title and no content."""
    store = url_store(load_settings())
    facts = {"outcome": "Gone"}
    store.write_pages([page(URL, fields={"page.title": b'"T"', "team.score": b"1"}, facts=facts)])
    store.close()

    def call(*arguments):
        ran = CliRunner().invoke(main, arguments)
        assert "Traceback" not in ran.output
        return ran

    return call


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["queue", "pause", "fetsh"], "unknown queue 'fetsh'; did you mean fetch?"),
        (["queue", "show", "zzz"], "unknown queue 'zzz'; available: canonicalize, fetch"),
        (["queue", "limit", "fetch", "-1"], "-1"),
        (["queue", "limit", "fetch", "nan"], "'nan': must be a number above 0, or none"),
        (["queue", "limit", "fetch", "5", "--burst", "-2"], "-2"),
        (
            ["show", URL, "--fields", "page.titel"],
            "'page.titel' is not a known field; did you mean page.title?",
        ),
        (["show", URL, "--fields", "team.scor"], "did you mean team.score?"),
        (["show", URL, "--fields", " , "], "contains no field name"),
        (
            ["store", "export", "x.jsonl", "--fields", "page.title, page.titel"],
            "'page.titel' is not a known field; did you mean page.title?",
        ),
        (["store", "export", "x.jsonl", "--cursor", "bogus"], "'bogus' is not a cursor"),
        (
            ["store", "export-parts", "x", "--fields", "product.prize"],
            "did you mean product.price?",
        ),
        (["links", URL, "--limit", "-5"], "-5"),
        (["links", URL, "--limit", "0"], "0"),
        (["store", "list", "a.example", "--limit", "-1"], "-1"),
        (["store", "export", "x.jsonl", "--limit", "-1"], "-1"),
        (["enqueue", URL, "--priority", "10"], "10"),
        (["enqueue", URL, "--depth", "-1"], "-1"),
        (["enqueue", URL, "--run-after", str(10**15)], "must be before the year 9999"),
        (["enqueue", URL, "--run-after", "9" * 30], "must be before the year 9999"),
        (["unwatch", URL, "--owner", " "], "is not a valid owner"),
        (["plan", "--urls", "nan", "--domains", "1"], "nan is not a finite number"),
        (["plan", "--urls", "1", "--domains", "1e999"], "inf is not a finite number"),
        (["token", "reader", "--rate", "nan"], "nan is not a finite number"),
        (["queue", "limit", "fetch", "5", "--burst", "nan"], "nan: must be a finite number"),
        (["enqueue", "x" * 5000], "neither a file nor a URL"),
        (["show", URL, "--fields", "\udcff"], "is not valid UTF-8"),
        (
            ["webhooks", "add", "example.com/hook"],
            "use an absolute URL such as https://example.com/",
        ),
        (
            ["webhooks", "add", "ftp://example.com/"],
            "use an absolute URL such as https://example.com/",
        ),
        (["show", "nonsense"], "relative"),
        (["store", "list", "no host"], "'no host' is not a host name"),
        (["store", "export", "x.jsonl", "--host", "no host"], "is not a host name"),
        (["changes", "--host", "no host"], "is not a host name"),
        (["webhooks", "add", URL, "--host", "no host"], "is not a host name"),
        (["reextract", "--host", "no host"], "is not a host name"),
        (["templates", "close", "http://a.test", "/p/"], "is a URL: pass only its host"),
        (["templates", "list", "no host"], "is not a host name"),
        (["watch", URL, "--owner", ""], "is not a valid owner"),
        (["webhooks", "add", "https://a.test/", "--owner", "\udcff"], "is not a valid owner"),
        (["webhooks", "add", "https://a.test/", "--secret", "\udcff"], "is not a valid text"),
        (["token", "two words"], "'two words' is not a valid name"),
        (["explain", "nonsense"], "relative"),
        (["shwo", URL], "No such command 'shwo'. Did you mean 'show'?"),
        (["statsu"], "Did you mean 'status'?"),
        (["queue", "lst"], "Did you mean 'list'?"),
        (["enqueue", "nowhere.txt"], "neither a file nor a URL"),
        (["run", "nowhere.txt"], "neither a file nor a URL"),
        (["enqueue", "/"], "is a folder"),
        (["store", "export", "x.parqet"], "unknown extension; use .jsonl"),
    ],
    ids=lambda value: " ".join(value)[:30] if isinstance(value, list) else "",
)
def test_typo_exits_with_2_and_names_the_mistake(run, arguments, text):
    ran = run(*arguments)

    assert ran.exit_code == 2, ran.output
    assert text in " ".join(ran.output.split())


def test_fields_known_to_the_page_or_to_extraction_are_not_typos(run):
    assert run("show", URL, "--fields", "page.title,team.score").exit_code == 0
    assert run("show", URL, "--fields", "product.price").exit_code == 0
    assert {"page.title", "page.type", "recipe.ingredients", "product.price"} <= pin_fields()


def test_export_accepts_names_with_spaces_and_custom_fields(run, tmp_path, monkeypatch):
    monkeypatch.setenv("ARAGOG_STORE__FIELD_FORMATS", "page.note=text")
    file = tmp_path / "out.jsonl"

    ran = run("store", "export", str(file), "--fields", "page.title, team.score,page.note")

    assert ran.exit_code == 0, ran.output
    assert orjson.loads(file.read_bytes())["fields"].keys() == {"page.title", "team.score"}


def test_queue_with_jobs_of_another_program_is_known(run):
    admin = Admin.connect(load_settings().resolved().broker.url)
    admin.cluster.enqueue("theirs", [NewJob(b"x")])

    assert run("queue", "show", "theirs").exit_code == 0
    assert run("queue", "pause", "fetch").exit_code == 0


def test_enqueue_without_a_contact_is_refused_like_run(run, monkeypatch):
    monkeypatch.setenv("ARAGOG_FETCH__USER_AGENT", "")

    ran = run("enqueue", "http://example.com/")

    assert ran.exit_code == 1
    assert "fetch.user_agent: must contain a contact" in ran.stderr
    with Aragog() as client:
        assert client.in_flight() == 0


def test_content_and_show_agree_on_whether_a_url_is_known(run):
    known, unknown = run("content", URL), run("content", "http://unknown.example/")

    assert run("show", URL).exit_code == 0
    assert (known.exit_code, unknown.exit_code) == (5, 5)
    assert f"no stored content for {URL} (outcome: Gone)" in known.stderr
    assert "no record of http://unknown.example/" in unknown.stderr


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("ARAGOG_POLITENESS__QSP", "politeness.qps"),
        ("ARAGOG_FETCH__USERAGENT", "fetch.user_agent"),
        ("ARAGOG_REDDIS__URL", "redis"),
    ],
)
def test_unknown_setting_is_reported_with_the_closest_name(name, suggestion):
    with pytest.raises(ConfigError, match=f"did you mean {suggestion}"):
        load_settings(environ={name: "1"})


def test_ids_are_not_shortened_in_a_pipe(run):
    admin = Admin.connect(load_settings().resolved().broker.url)
    key = "k" * 150
    admin.cluster.enqueue("fetch", [NewJob(b"x", key=key, name="n" * 60)])

    assert key in run("queue", "jobs", "fetch", "--state", "pending").output


def test_job_ids_fit_on_one_line_of_80_columns(run, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    admin = Admin.connect(load_settings().resolved().broker.url)
    admin.cluster.enqueue("fetch", [NewJob(b"x", key="k" * 36, name="aragog.fetch")])
    (job,) = admin.jobs("fetch", JobState.PENDING)

    shown = run("queue", "jobs", "fetch", "--state", "pending").output

    assert job.job_id in shown
    assert max(len(click.unstyle(line)) for line in shown.splitlines()) <= 80
