"""`aragog run --refresh` reports which pages of its crawl are new, changed and gone."""

import json
import os
import signal
from collections import Counter

import pytest

from tests.support.origin import Origin, answer, page
from tests.support.site_runs import LIMIT_S, starter
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.slow]

HOST = "http://site.test"


class Site:
    """Pages by path, each with text and links; they have ETags, and unchanged ones get a 304."""

    def __init__(self):
        self.pages = {}
        self.moved = {}
        self.held = set()

    def put(self, path, text, *links):
        self.pages[path] = (text, links)

    def __call__(self, request, wire):
        if request.path in self.held:
            wire.pause(60)
        if request.path in self.moved:
            return answer(301, headers=(("Location", self.moved[request.path]),))
        if request.path not in self.pages:
            return answer(404, b"")
        text, links = self.pages[request.path]
        etag = ("ETag", f'"{text}"')
        if request.header("if-none-match") == etag[1]:
            return answer(304, b"", headers=(etag,))
        body = "".join(f'<a href="{path}">{path}</a>' for path in links)
        html = f"<html><title>{request.path}</title><p>{text}</p>{body}</html>"
        return page(html.encode(), headers=(etag,))


@pytest.fixture
def site():
    """A home page with four pages."""
    site = Site()
    for name in ("same", "other", "gone", "lonely", "away"):
        site.put(f"/{name}", f"{name} 1")
    site.put("/", "home 1", "/same", "/other", "/gone", "/lonely", "/away")
    return site


@pytest.fixture
def origin(site):
    with Origin({"//site.test/*": site}) as origin:
        yield origin


@pytest.fixture
def run(origin, tmp_path):
    """Runs to the end; returns the lines of standard error."""
    start = starter(origin.address, tmp_path)
    (tmp_path / "urls.txt").write_text(f"{HOST}/\n")

    def done(*arguments):
        process = start("--depth", "2", *arguments)
        out, err = process.communicate(timeout=LIMIT_S)
        assert process.returncode == 0, out + err
        return err.splitlines()

    done.start = lambda *arguments: start("--depth", "2", *arguments)
    return done


def change(site):
    """One page changes, one is new, one is gone and still linked, one loses its link, one moves."""
    site.put("/other", "other 2")
    site.put("/new", "new 1")
    del site.pages["/gone"]
    site.moved["/away"] = "/same"
    site.put("/", "home 2", "/same", "/other", "/gone", "/away", "/new")


def requested_paths(origin, since=0):
    return Counter(r.path for r in origin.seen[since:] if r.path != "/robots.txt")


def conditional(origin, since):
    return {r.path for r in origin.seen[since:] if r.header("if-none-match")}


def test_refresh_reports_new_and_gone_pages_and_requests_each_stored_page_once(
    run, site, origin, tmp_path
):
    run()
    change(site)
    before = len(origin.seen)

    err = run("--refresh", "--changes", "changes.jsonl")

    assert err[-4:] == [
        f"new: {HOST}/new",
        f"gone: {HOST}/gone",
        f"redirected: {HOST}/away",
        "2 unchanged, 2 changed, 1 new, 1 gone, 1 redirected",
    ]
    listed = [json.loads(line) for line in (tmp_path / "changes.jsonl").open()]
    assert {one["url"].removeprefix(HOST): one["kind"] for one in listed} == {
        "/": "changed", "/other": "changed", "/new": "new", "/gone": "gone", "/away": "redirected",
    }  # fmt: skip
    stored = {"/", "/same", "/other", "/gone", "/lonely", "/away"}
    again = requested_paths(origin, before)
    assert again.keys() == stored | {"/new"}
    assert all(again[path] == 1 for path in again.keys() - {"/same"})
    assert conditional(origin, before) == stored
    assert not list(tmp_path.glob(".*-changes.jsonl"))
    before = len(origin.seen)

    err = run("--refresh")  # reported changes are not reported again

    assert err[-1] == "5 unchanged, 0 changed, 0 new, 0 gone, 1 absent as before"
    assert "/lonely" in conditional(origin, before)


def test_page_without_links_is_gone_only_when_its_site_says_so(run, site):
    run()
    site.put("/", "home 2", "/same")
    err = run("--refresh")
    assert err[-1] == "5 unchanged, 1 changed, 0 new, 0 gone"

    del site.pages["/lonely"]
    err = run("--refresh")

    assert err[-2:] == [f"gone: {HOST}/lonely", "5 unchanged, 0 changed, 0 new, 1 gone"]


def test_repeated_refresh_after_a_kill_reports_the_findings_of_both(run, site, origin):
    run()
    change(site)
    site.held = {"/same"}
    before = len(origin.seen)
    killed = run.start("--refresh")
    found = {"/", "/other", "/new", "/gone", "/same"}
    wait_until(lambda: requested_paths(origin, before).keys() >= found)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate(timeout=LIMIT_S)
    site.held = set()

    err = run("--refresh")

    assert err[-1] == "2 unchanged, 2 changed, 1 new, 1 gone, 1 redirected"


def test_crawl_that_starts_with_a_refresh_has_only_new_pages(run):
    err = run("--refresh")

    assert err[-1] == "0 unchanged, 0 changed, 6 new, 0 gone"
