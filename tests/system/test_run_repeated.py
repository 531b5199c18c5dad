"""A repeated run reaches every page again, waits for waiting URLs, and keeps its file."""

import json
import os
import signal
import socket
from collections import Counter

import pytest

from tests.support.origin import Origin, answer, page
from tests.support.site_runs import LIMIT_S, starter
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.redis, pytest.mark.slow]

PAGES = 60
ROOT = "http://site.test/"


def path_of(number):
    return "/" if number == 0 else f"/p{number}"


def site_page(number):
    """A page in a tree of three links per page; each also links to the first pages."""
    links = [path_of(n) for n in (*range(3 * number + 1, 3 * number + 4), 0, 1, 2) if n < PAGES]
    body = "".join(f'<a href="{path}">{path}</a>' for path in links)
    body = f"<html><title>Page {number}</title>{body}</html>".encode()

    def handler(request, _):
        if request.header("if-none-match") == f'"{number}"':
            return answer(304, b"", headers=(("ETag", f'"{number}"'),))
        return page(body, headers=(("ETag", f'"{number}"'),))

    return handler


URLS = {f"http://site.test{path_of(n)}" for n in range(PAGES)}


@pytest.fixture
def site():
    routes = {f"//site.test{path_of(n)}": site_page(n) for n in range(PAGES)}
    routes["//site.test/robots.txt"] = answer(404, b"")
    with Origin(routes) as origin:
        yield origin


@pytest.fixture
def start(site, tmp_path):
    """Starts a command in the user's folder, in its own process group."""
    (tmp_path / "urls.txt").write_text(f"{ROOT}\n")
    return starter(site.address, tmp_path)


def finished(process):
    out, err = process.communicate(timeout=LIMIT_S)
    return process.returncode, out + err


def urls_of(file):
    return [json.loads(line)["url"] for line in file.open()]


def test_stopped_and_repeated_run_has_every_page_in_its_file(site, start, tmp_path):
    file = tmp_path / "docs.jsonl"
    first = start("--depth", "3", "-O", "docs.jsonl", qps=2)
    wait_until(lambda: len(site.seen) > 8)
    os.killpg(first.pid, signal.SIGINT)
    code, output = finished(first)
    assert code == 130, output
    assert "URLs are still waiting" in output
    begun = urls_of(file)
    assert 0 < len(begun) < PAGES

    code, output = finished(start("--depth", "3", "-O", "docs.jsonl"))

    deep = {url for url in URLS if depth_of(url) <= 3}
    assert code == 0, output
    assert Counter(urls_of(file)) == Counter(deep)
    assert f"{len(deep)} records in docs.jsonl" in output
    assert all(count == 1 for count in Counter(r.path for r in site.seen).values())


def depth_of(url):
    number, depth = int(url.rpartition("/")[2].removeprefix("p") or 0), 0
    while number:
        number, depth = (number - 1) // 3, depth + 1
    return depth


def test_complete_runs_repeated_or_refreshed_reach_every_page(site, start, tmp_path):
    file = tmp_path / "docs.jsonl"
    code, output = finished(start("--depth", "4", "-O", "docs.jsonl"))
    assert (code, set(urls_of(file))) == (0, URLS), output
    seen_count = len(site.seen)

    code, output = finished(start("--depth", "4", "-O", "docs.jsonl"))
    assert (code, Counter(urls_of(file))) == (0, Counter(URLS)), output
    assert f"{PAGES} already stored" in output
    assert output.rstrip().endswith(f"{PAGES} records of {PAGES} URLs")
    assert {r.path for r in site.seen[seen_count:]} <= {"/robots.txt"}
    seen_count = len(site.seen)

    code, output = finished(start("--depth", "4", "--refresh", "-O", "docs.jsonl"))
    assert (code, Counter(urls_of(file))) == (0, Counter(URLS)), output
    assert f"{PAGES} not modified" in output
    again = Counter(r.path for r in site.seen[seen_count:] if r.path != "/robots.txt")
    assert again == Counter(path_of(n) for n in range(PAGES))

    code, output = finished(start("-O", "docs.jsonl"))  # reaches the first page only
    assert (code, set(urls_of(file))) == (0, URLS), output
    assert f"{PAGES - 1} of them from the earlier file only" in output


@pytest.mark.parametrize(("servers_after_s", "serves"), [(0.0, True), (1e9, False)])
def test_run_that_stops_at_its_end_starts_the_servers_only_if_it_takes_long(
    start, tmp_path, servers_after_s, serves
):
    """The first pages of a short run waited until Flower and the API were imported."""
    code, output = finished(start("-O", "docs.jsonl", servers_after_s=servers_after_s))

    assert code == 0, output
    assert urls_of(tmp_path / "docs.jsonl") == [ROOT]
    logs = {log.stem for log in (tmp_path / "var" / "logs").iterdir()}
    assert {"fetch", "store"} <= logs
    assert {"http", "flower"} <= logs if serves else not {"http", "flower"} & logs


def test_run_that_stops_at_its_end_tolerates_ports_in_use(start, tmp_path):
    """A run of five seconds was refused because of Flower's port, which it never uses."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        process = start("-O", "docs.jsonl", servers_after_s=0.0, ARAGOG_SERVING__FLOWER_PORT=port)
        code, output = finished(process)

    assert code == 0, output
    assert (
        f"Flower was not started: serving.flower_port: port {port} on 127.0.0.1 is in use" in output
    )
    assert urls_of(tmp_path / "docs.jsonl") == [ROOT]
    logs = {log.stem for log in (tmp_path / "var" / "logs").iterdir()}
    assert "http" in logs
    assert "flower" not in logs


def test_run_applies_changed_rules_to_pages_stored_earlier(site, start, tmp_path):
    """After a change of rules, the file had the old values, without a warning."""
    file, settings = tmp_path / "docs.jsonl", tmp_path / "rules.toml"

    def ran(rule):
        settings.write_text(f'[extract."site.test"]\nheading = "{rule}"\n')
        process = start("--depth", "1", "-O", "docs.jsonl", ARAGOG_SETTINGS=str(settings))
        code, output = finished(process)
        assert code == 0, output
        return {json.loads(line)["heading"] for line in file.open()}, output

    first, _ = ran("css:a")
    seen_count = len(site.seen)
    second, output = ran("css:title")
    third, unchanged = ran("css:title")

    assert first == {"/p1", "/p4", "/p7", "/p10"}
    assert second == third == {f"Page {number}" for number in range(4)}
    assert "4 pages extracted again with the current rules" in output
    assert "extracted again" not in unchanged
    assert {request.path for request in site.seen[seen_count:]} <= {"/robots.txt"}
