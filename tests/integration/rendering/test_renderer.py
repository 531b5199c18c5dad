"""Browsers of a renderer: when they are started, replaced and ended."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from aragog.crawl.rendering.browser import FOLDER_PREFIX
from aragog.crawl.rendering.models import NotRendered, PlainPage, RenderedPage, Resource
from aragog.crawl.rendering.renderer import Renderer
from aragog.errors import BrowserUnavailable, LimiterUnavailable
from aragog.settings import RenderingSettings
from tests.support.chromium import chromium_or_skip, installed_or_any
from tests.support.documented import blocks
from tests.support.missing_parts import NAMESPACES, ROOT, skip_without, unless
from tests.support.waiting import wait_until

DRIVER, CHROMIUM = "run-driver", "chromium"
HTML = (("Content-Type", "text/html"),)
GOOD = PlainPage("https://shop.test/", HTML, b"<script>document.title = 'good'</script>")
ASKS = PlainPage("https://shop.test/", HTML, b"<script>fetch('/data')</script>")


def nothing(_request) -> str:
    return "no request"


def settings(**more) -> RenderingSettings:
    # Chromium's own sandbox does not work as root.
    values = {"browser": chromium_or_skip(), "sandbox": os.geteuid() != 0, **more}
    return RenderingSettings(**values)


@pytest.fixture(autouse=True)
def folder_of_browsers(tmp_path, monkeypatch):
    """Files left behind by a killed browser are deleted with the test."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))


@pytest.fixture
def renderer() -> Iterator:
    """Makes renderers and stops their browsers."""
    renderers = []

    def make(**more) -> Renderer:
        renderers.append(Renderer(settings(**more), user_agent="test", max_html_bytes=1_000_000))
        return renderers[-1]

    yield make
    for renderer in renderers:
        renderer.close()


def processes(*parts: str, pid: int | str = "self") -> list[int]:
    """
    The processes below this one whose command line contains one of these strings, nearest first.
    """
    pids = []
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, children.read_text().split()):
            with suppress(OSError):
                command = Path(f"/proc/{child}/cmdline").read_text()
                pids += [child] if any(part in command for part in parts) else []
                pids += processes(*parts, pid=child)
    return pids


def browsers() -> list[int]:
    """The processes of all browsers of this process and their drivers."""
    return processes(DRIVER, CHROMIUM)


def test_browser_starts_with_the_first_page_and_is_replaced_after_its_last(renderer):
    rendering = renderer(pages_per_browser=2)
    assert browsers() == []

    drivers = []
    for _ in range(3):
        assert isinstance(rendering.render(GOOD, nothing), RenderedPage)
        drivers.append(browsers()[:1])

    # The second page was its browser's last.
    assert drivers[1] == []
    assert drivers[2] not in ([], drivers[0])
    rendering.close()
    assert browsers() == []


@pytest.mark.parametrize("command", installed_or_any())
def test_browser_starts_although_tmpdir_is_too_long_for_a_socket(
    renderer, command, tmp_path, monkeypatch
):
    deep = tmp_path / ("x" * 120)
    deep.mkdir()
    monkeypatch.setenv("TMPDIR", str(deep))
    monkeypatch.setattr(tempfile, "tempdir", None)
    rendering = renderer(browser=command or chromium_or_skip(), pages_per_browser=1)

    assert isinstance(rendering.render(GOOD, nothing), RenderedPage)


def test_browser_leaves_no_folder_behind(renderer, monkeypatch, tmp_path):
    with tempfile.TemporaryDirectory(prefix="ar") as folder:
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr(tempfile, "tempdir", None)
        renderer(pages_per_browser=1).render(GOOD, nothing)

        assert list(Path(folder).glob(f"{FOLDER_PREFIX}*")) == []


@pytest.mark.parametrize("part", [DRIVER, CHROMIUM])
def test_browser_that_died_between_pages_is_replaced(renderer, part):
    rendering = renderer()
    rendering.render(GOOD, nothing)
    died = browsers()
    for pid in processes(part):
        os.kill(pid, signal.SIGKILL)

    results = [rendering.render(GOOD, nothing) for _ in range(2)]

    assert [type(result) for result in results] == [RenderedPage, RenderedPage]
    wait_until(lambda: not set(browsers()) & set(died))


@pytest.mark.parametrize("part", [DRIVER, CHROMIUM])
def test_hung_browser_part_is_killed(renderer, part):
    rendering = renderer(deadline_s=15.0)
    rendering.render(GOOD, nothing)
    hanging = browsers()
    for pid in processes(part):
        os.kill(pid, signal.SIGSTOP)

    assert isinstance(rendering.render(GOOD, nothing), NotRendered)

    wait_until(lambda: not set(browsers()) & set(hanging))
    assert isinstance(rendering.render(GOOD, nothing), RenderedPage)


def test_each_thread_has_its_own_browser_and_a_crash_affects_no_other(renderer):
    rendering = renderer(deadline_s=60.0)
    both_open = threading.Barrier(2)
    results: dict[str, RenderedPage | NotRendered] = {}

    def render(name: str, page: PlainPage) -> None:
        def data(_request) -> Resource:
            both_open.wait(60)
            return Resource(page.url, 200, (), b"x")

        results[name] = rendering.render(page, data)
        rendering.close()

    hoards = b"<script>fetch('/data').then(() => { const a = []; for (;;) a.push(new Array(1e5).fill(Math.random())); })</script>"
    pages = {"good": ASKS, "hoards": PlainPage(ASKS.url, HTML, hoards)}
    threads = [threading.Thread(target=render, args=pair) for pair in pages.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert isinstance(results["good"], RenderedPage)
    assert results["hoards"] == NotRendered(
        "the page crashed, for example because it ran out of memory"
    )


def test_internal_failure_is_raised_and_the_next_page_is_rendered(renderer):
    rendering = renderer()

    def fails(_request):
        raise LimiterUnavailable("redis", "refused")

    with pytest.raises(LimiterUnavailable):
        rendering.render(ASKS, fails)
    assert isinstance(rendering.render(GOOD, nothing), RenderedPage)


def test_internal_failure_is_raised_although_the_page_then_loops(renderer):
    asks_until_answered = b"""<script>
        for (let status = 0; status !== 200; ) {
          const request = new XMLHttpRequest();
          request.open("GET", "/data", false);
          try { request.send(); } catch {}
          status = request.status;
        }</script>"""

    def fails(_request):
        raise LimiterUnavailable("redis", "refused")

    with pytest.raises(LimiterUnavailable):
        renderer(deadline_s=6.0).render(PlainPage(ASKS.url, HTML, asks_until_answered), fails)


def test_driver_that_keeps_page_logs_has_a_memory_limit(renderer):
    rendering = renderer(max_memory_bytes=1024**3)

    assert isinstance(rendering.render(GOOD, nothing), RenderedPage)
    (driver,) = processes(DRIVER)
    allowed, _ = resource.prlimit(driver, resource.RLIMIT_DATA)
    assert 1024**3 < allowed < 2 * 1024**3


def test_request_that_fails_by_a_bug_does_not_stop_its_page(renderer, caplog):
    def fails(_request):
        raise KeyError("defect")

    assert isinstance(renderer().render(ASKS, fails), RenderedPage)
    assert "a request of a page failed within aragog: https://shop.test/data" in caplog.text


def test_browser_that_does_not_start_raises_browser_unavailable(tmp_path):
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    assert browsers() == []
    for browser, reason in ((str(broken), str(broken)), ("no-such-browser", "install Chromium")):
        rendering = Renderer(settings(browser=browser), user_agent="t", max_html_bytes=1_000)
        with pytest.raises(BrowserUnavailable, match=reason):
            rendering.render(GOOD, nothing)
        rendering.close()
    assert browsers() == []


@unless(os.geteuid() == 0, ROOT)
def test_root_renders_only_if_told_to_run_without_the_sandbox():
    rendering = Renderer(settings(sandbox=True), user_agent="t", max_html_bytes=1_000)

    with pytest.raises(BrowserUnavailable, match="sandbox does not work as root"):
        rendering.render(GOOD, nothing)
    rendering.close()


def test_documented_script_cuts_off_the_network_in_the_kernel(renderer, tmp_path):
    (text,) = blocks("docs/fetching.md#pages-that-need-javascript", "sh", "#!/bin/sh")
    script = tmp_path / "chromium-without-network"
    script.write_text(text.replace("chromium-headless-shell", chromium_or_skip()))
    script.chmod(0o755)
    probe = ["unshare", "--user", "--net", "--map-current-user", "true"]
    if not shutil.which("unshare") or subprocess.run(probe, check=False).returncode:
        skip_without(NAMESPACES)

    assert isinstance(renderer(browser=str(script)).render(GOOD, nothing), RenderedPage)
    ours = Path("/proc/self/ns/net").readlink()
    theirs = {Path(f"/proc/{pid}/ns/net").readlink() for pid in processes(CHROMIUM)}
    assert ours not in theirs
