"""
What an operator lists and shows: refused and failed URLs, single fields, aliases by either name.
"""

import json
import time
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner

from aragog.bootstrap.stores import url_store
from aragog.cli import main
from aragog.settings import load_settings
from tests.support.stores import page

NOW_MS = int(time.time() * 1000)
HOUR_MS = 3_600_000
GOOD, DEAD, OLD, REFUSED, ALIAS = (
    "http://a.example/good", "http://a.example/dead", "http://b.example/old",
    "http://b.example/refused", "http://a.example/alias",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A store with a page that has an alias, and three URLs that failed."""
    data = tmp_path_factory.mktemp("data")
    opened = url_store(load_settings(environ={"ARAGOG_DATA_DIR": str(data)}))

    def facts(outcome, at_ms, **more):
        return {"outcome": outcome, "attempted_at_ms": at_ms, **more}

    good = {**facts("Fetched", NOW_MS, status=200), "url": ALIAS}
    fields = {"page.title": b'"Leeks"', "page.type": b'"page"'}
    opened.write_pages(
        [
            page(GOOD, NOW_MS, fields=fields, facts=good, also=(ALIAS,)),
            page(DEAD, NOW_MS, facts=facts("Unreachable", NOW_MS, reason="dns: no such host")),
            page(OLD, NOW_MS - 2 * HOUR_MS, facts=facts("Unreachable", NOW_MS - 2 * HOUR_MS)),
            page(REFUSED, NOW_MS, facts=facts("Refused", NOW_MS, reason="robots.txt line 2")),
        ]
    )
    opened.close()
    return data


@pytest.fixture
def run(folder):
    def call(*arguments, code=0):
        environ = {"ARAGOG_DATA_DIR": str(folder), "ARAGOG_SETTINGS": ""}
        ran = CliRunner().invoke(main, arguments, env=environ)
        assert ran.exit_code == code, ran.output
        return ran.output

    return call


def test_truncated_list_is_reported(run):
    """`--outcome Gone` stopped at 1,000 URLs without saying so."""
    assert "only the first 1 are shown; use --limit for more" in run(
        "store", "list", "--outcome", "Unreachable", "--limit", "1"
    )
    assert "--limit" not in run("store", "list", "--outcome", "Unreachable", "--limit", "2")


def listed(run, *arguments):
    lines = run("store", "list", "--json", *arguments).splitlines()
    rows = [json.loads(line) for line in lines if line.startswith("{")]
    return {row["url"]: row for row in rows}


def test_failed_urls_are_listed_by_outcome_and_time(run):
    assert set(listed(run, "--outcome", "Unreachable")) == {DEAD, OLD}
    assert set(listed(run, "--outcome", "unreachable", "--since", "1h")) == {DEAD}
    assert set(listed(run, "--outcome", "Refused", "--outcome", "Unreachable")) == {
        DEAD, OLD, REFUSED,
    }  # fmt: skip
    assert set(listed(run, "--since", "1h")) == {GOOD, DEAD, REFUSED}
    assert set(listed(run, "--since", "3h", "--limit", "1")) < {GOOD, DEAD, OLD, REFUSED}
    assert set(listed(run, "b.example", "--outcome", "Unreachable")) == {OLD}


def test_line_has_the_outcome_and_the_reason(run):
    row = listed(run, "--outcome", "Unreachable", "--since", "1h")[DEAD]
    text = run("store", "list", "--since", "1h")
    lines = {line.split("\t")[0]: line.split("\t")[1:] for line in text.splitlines()}
    when = datetime.fromtimestamp(NOW_MS // 1000, UTC).isoformat()

    assert (row["outcome"], row["reason"], row["tried_at_ms"]) == (
        "Unreachable", "dns: no such host", NOW_MS,
    )  # fmt: skip
    assert lines[DEAD] == ["Unreachable", "-", when, "dns: no such host"]
    assert lines[GOOD] == ["Fetched", "200", when, ""]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "pass a HOST, --outcome or --since"),
        (("--outcome", "Broken"), "'Broken' is not one of"),
        (("--since", "yesterday"), "is not a time"),
    ],
)
def test_list_without_a_selection_is_refused(run, arguments, problem):
    assert problem in run("store", "list", *arguments, code=2)


def test_show_with_fields_prints_only_these(run):
    lines = run("show", ALIAS, "--fields", "page.title").splitlines()

    assert [line.split() for line in lines] == [["page.title", "Leeks"]]


def test_show_has_each_name_once(run):
    names = [line.split("  ")[0] for line in run("show", ALIAS).splitlines()]

    assert names.count("url") == names.count("fetched as") == 1
    assert len(names) == len(set(names))


def test_takedown_and_its_end_take_the_same_arguments(run):
    gone = "http://gone.example/x"
    for way in ([gone], ["--url", gone], ["--host", "gone.example"], ["--domain", "gone.example"]):
        run("store", "takedown", *way, "--yes")
        assert way[-1] in run("store", "takedowns")
        run("store", "lift-takedown", *way)
        assert run("store", "takedowns") == ""
    for command in (["takedown", "--yes"], ["lift-takedown"]):
        assert "pass exactly one of URL, --url, --host, --domain" in run("store", *command, code=2)
        assert "pass exactly one of" in run("store", *command, gone, "--host", "a.example", code=2)
