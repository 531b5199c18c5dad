"""The main job from outside: the demo sites are fetched, canonicalized, stored and served."""

import json
import os
import urllib.error
import urllib.request
from dataclasses import replace
from urllib.parse import quote

import pytest
from celery import Celery
from click.testing import CliRunner

from aragog.cli import main
from aragog.client import Aragog
from aragog.standalone.demo import web as running_web
from aragog.standalone.demo_sites import seeds, web
from pinlater.brokers import celery_settings
from tests.support.documented import Shell, blocks
from tests.support.standalone import open_to_others, standalone
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.slow]

DESK = "http://www.shop.test/p/walnut-desk"
LOGGED = {"ARAGOG_LOGS__LEVEL": "INFO", "ARAGOG_LOGS__FORMAT": "json"}


@pytest.fixture(scope="module")
def crawled():
    """
    The system with all demo sites fetched and stored; it logs everything as JSON.

    It has demo sites of its own, because the busy host is busy only for the first requests.
    """
    with (
        running_web() as environ,
        standalone({**environ, **LOGGED}, frontends=("beat", "http", "flower")) as system,
    ):
        with Aragog(system.settings) as client:
            client.enqueue(seeds(), depth=1, request_id="order-4711")
            system.finish(client)
        yield replace(system, environ=second_terminal(system))


def second_terminal(system):
    """The variables of a terminal beside the demo's: only the data folder of aragog's settings."""
    ours = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**ours, "ARAGOG_DATA_DIR": str(system.folder)}


@pytest.fixture(scope="module")
def logs(crawled):
    """Name of each process and its log, after all have ended: for the last tests of this module."""
    crawled.supervisor.stop()
    return {path.stem: path.read_text() for path in (crawled.folder / "logs").glob("*.log")}


def aragog(system, *arguments):
    """A command in this process, as for a user of the system."""
    return CliRunner().invoke(main, arguments, env=dict(system.environ))


def show(system, url, *options):
    reported = aragog(system, "show", url, "--json", *options)
    assert reported.exit_code == 0, reported.stderr
    return json.loads(reported.stdout)


def reply_of(system, path, body=None, **headers):
    """The response of the HTTP API: to GET, or to POST if there is a body."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{system.settings.serving.http_port}{path}",
        data,
        {"Content-Type": "application/json", **headers},
    )
    with urllib.request.urlopen(request, timeout=120) as reply:
        return reply.read()


def http(system, path, body=None):
    return json.loads(reply_of(system, path, body))


def test_product_is_served_by_any_spelling_of_its_url(crawled):
    for spelling in (
        "http://www.shop.test/p/walnut-desk",
        "HTTP://WWW.Shop.Test:80/p/walnut-desk?utm_source=letter#top",
        "http://www.shop.test/p/walnut-desk?colour=oak",
    ):
        page = show(crawled, spelling)

        assert page["canonical_url"] == "http://www.shop.test/p/walnut-desk"
        assert page["fields"]["product.price"] == "649.00"


def test_supervised_workers_report_waiting_urls_to_celery(crawled):
    """They answered KeyError('waiting'): only workers that `celery` started knew the command."""
    settings = crawled.settings.resolved().broker
    with Celery("asking", set_as_current=False) as app:
        app.conf.update(celery_settings(settings.url))
        answers = app.control.inspect(timeout=10)._request("waiting", domains=3)

    assert len(answers) > 1
    assert all(answer["domains"] == [] for answer in answers.values()), answers


def test_page_is_shown_with_its_url_once(crawled):
    shown = aragog(crawled, "show", "http://kitchen.test/r/shakshuka").stdout.splitlines()

    assert [line.split()[1] for line in shown if line.startswith("url ")] == [
        "http://kitchen.test/r/shakshuka"
    ]


def test_moved_page_is_an_alias_of_its_new_url(crawled):
    page = show(crawled, "http://old.test/city-bees.html")

    assert page["canonical_url"] == "http://news.test/city-bees"
    assert "http://old.test/city-bees.html" in page["aliases"]


def test_chain_of_permanent_redirects_ends_at_its_page(crawled):
    assert (
        show(crawled, "http://old.test/chain/1")["canonical_url"]
        == "http://kitchen.test/r/focaccia"
    )


def test_temporary_redirect_makes_no_alias(crawled):
    assert show(crawled, "http://old.test/today")["canonical_url"] == "http://old.test/today"


def test_url_disallowed_by_robots_txt_is_refused_with_the_line(crawled):
    facts = show(crawled, "http://private.test/members/list")["facts"]

    assert facts["outcome"] == "Refused"
    assert "Disallow: /members/" in facts["reason"]
    assert show(crawled, "http://private.test/members/join")["facts"]["outcome"] == "Fetched"


def test_busy_host_is_retried_until_it_responds(crawled):
    facts = show(crawled, "http://busy.test/worth-the-wait")["facts"]

    assert facts["outcome"] == "Fetched"
    assert facts["attempts"] == 3


@pytest.mark.parametrize(
    ("url", "outcome"),
    [
        ("http://odd.test/binary", "Unreadable"),
        ("http://odd.test/gone", "Gone"),
        ("http://odd.test/nothing-here", "Gone"),
        ("http://odd.test/broken", "Unreachable"),
        ("http://old.test/loop/1", "Unreachable"),
        ("http://nobody-lives-here.test.invalid/", "Unreachable"),
    ],
)
def test_url_without_a_page_has_an_outcome_in_the_store(crawled, url, outcome):
    facts = show(crawled, url)["facts"]

    assert facts["outcome"] == outcome
    assert facts["reason"]


def test_truncated_page_is_stored_and_marked(crawled):
    page = show(crawled, "http://odd.test/half")

    assert page["facts"]["outcome"] == "Fetched"
    assert page["facts"]["truncated"] == 1


def test_content_is_returned_as_sent(crawled):
    reported = aragog(crawled, "content", "http://kitchen.test/r/dal-tadka")

    assert reported.stdout_bytes == web()["kitchen.test"]["/r/dal-tadka"].body


def test_inlinks_are_compacted_from_the_journal(crawled):
    def linking():
        reported = aragog(crawled, "links", "http://news.test/paper-maps", "--in")
        return {line.split("\t")[0] for line in reported.stdout.splitlines()}

    assert wait_until(lambda: linking() >= {"http://news.test/", "http://news.test/city-bees"})


def test_outlinks_have_their_text(crawled):
    reported = aragog(crawled, "links", "http://kitchen.test/")

    assert "http://kitchen.test/r/shakshuka\tShakshuka" in reported.stdout.splitlines()


def test_read_api_accepts_any_spelling(crawled):
    url = quote("HTTP://www.SHOP.test/p/clay-vase?utm_campaign=x", safe="")
    record = http(crawled, f"/v1/urls?url={url}&fields=product.price,product.currency")

    assert record["canonical_url"] == "http://www.shop.test/p/clay-vase"
    assert record["fields"]["product.price"] == "39.00"
    assert set(record["fields"]) <= {"product.price", "product.currency"}


def test_read_api_describes_errors(crawled):
    for path, status in (("/v1/urls?url=nonsense", 400), ("/v1/urls?url=http://no.test/", 404)):
        with pytest.raises(urllib.error.HTTPError) as caught:
            http(crawled, path)
        assert caught.value.code == status
        assert json.loads(caught.value.read())["detail"]


def test_flower_shows_the_workers(crawled):
    port = crawled.settings.serving.flower_port

    def lists_all():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/workers", timeout=120) as answer:
                page = answer.read().decode()
        except (urllib.error.URLError, TimeoutError):
            return False
        return all(f"{role}@" in page for role in ("fetch", "upkeep", "canonicalize", "store"))

    assert wait_until(lists_all, every_s=0.5, otherwise=crawled.logs)


def test_doctor_finds_nothing_wrong(crawled):
    ran = crawled.aragog("doctor")

    assert ran.returncode == 0, ran.stdout
    for part in ("redis", "store", "content", "data_dir", "workers", "beat"):
        assert f"ok   {part}" in ran.stdout


@pytest.fixture
def shell(crawled, tmp_path):
    """A shell of a user of the system, in an empty folder."""
    serving = crawled.settings.serving
    ports = {":8100": f":{serving.http_port}", ":5555": f":{serving.flower_port}"}
    return Shell(crawled.environ, tmp_path, ports)


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "docs/cli.md",
        "docs/tutorial.md#from-nothing-to-a-pages-metadata",
        "docs/politeness.md#rates",
        "docs/http.md",
    ],
)
def test_commands_of_a_page_print_what_it_shows(shell, name):
    lines = [f"http://news.test/?from={quote(name)}{n}" for n in range(3)]
    (shell.folder / "urls.txt").write_text("\n".join(lines))

    # Those that start and stop a system: test_standalone_lifecycle.py.
    mismatches = shell.mismatches(name, but=("aragog up", "aragog down"))
    assert not mismatches, mismatches


@pytest.mark.parametrize("name", ["README.md", "docs/tutorial.md#from-nothing-to-a-pages-metadata"])
def test_documented_commands_crawl_a_list_of_urls(shell, name):
    (script,) = blocks(name, "sh", "export")
    url = f"http://news.test/?from={name}"
    (shell.folder / "urls.txt").write_text(url)
    shell.instead = {"https://example.com/\\n": url}

    printed = [shell.run(line) for line in script.splitlines()]

    assert "1 accepted, 0 already waiting, 0 invalid" in printed[-1]
    assert "Fetched" in shell.run(f"aragog show {url}")


def test_page_is_fetched_while_its_caller_waits(crawled):
    moved = "http://old.test/city-bees.html?now"

    fetched = http(crawled, "/v1/fetch", {"url": moved, "max_wait_ms": 60_000})
    unknown = quote("http://kitchen.test/r/focaccia?now")
    read = http(crawled, f"/v1/urls?url={unknown}&max_wait_ms=60000")
    batch = http(crawled, "/v1/enqueue", {"urls": [moved]})["batch"]
    progress = http(crawled, f"/v1/batches/{batch}")
    shown = reply_of(crawled, f"/?url={quote(moved)}", Accept="text/html").decode()

    assert fetched["state"] == "fresh"
    assert fetched["record"]["canonical_url"] == "http://news.test/city-bees"
    [hop] = fetched["fetch"]["hops"]
    assert (hop["url"], hop["status"]) == (moved, 301)
    # Zero if the kernel's clock, which counts in ticks, measures none.
    assert hop["latency_ms"] >= 0
    assert {name.lower() for name, _ in fetched["fetch"]["headers"]} >= {"content-type", "date"}
    assert read["freshness"]["state"] == "fresh"
    assert read["fields"]["page.title"]
    assert progress["total"] == 1
    # The content, why it has that canonical URL, and what it waits for.
    for text in ("http://news.test/city-bees", "<dt>because", "<dt>next slot", "<dt>in flight"):
        assert text in shown


def test_written_files_cannot_be_read_by_others(crawled):
    crawled.folder.chmod(0o755)

    assert open_to_others(crawled.folder) == []


def lines_of(log):
    """The log lines, without those that Celery writes around its logger when stopped."""
    return [json.loads(line) for line in log.splitlines() if line and "Warm shutdown" not in line]


@pytest.mark.parametrize(
    ("process", "events"),
    [("fetch", {"Fetched"}), ("canonicalize", {"canonicalized"}), ("store", {"stored"})],
)
def test_request_id_of_the_producer_is_logged_in_every_stage(logs, process, events):
    of_url = [line for line in lines_of(logs[process]) if line.get("url") == DESK]

    assert events <= {line["event"] for line in of_url}
    assert {line["request_id"] for line in of_url} == {"order-4711"}


def test_every_log_line_of_a_celery_process_is_json(logs):
    for process in ("fetch", "upkeep", "canonicalize", "store"):
        assert lines_of(logs[process]), process


def test_no_library_prints_at_exit_and_there_is_no_traceback(logs):
    for process, text in logs.items():
        for leaked in ("nanobind", "Deprecat", "ResourceWarning", "Exception ignored", "Traceback"):
            assert leaked not in text, process
