"""
docs/tutorial.md#a-crawl-of-your-own-site in full: a site, its rule, a crawl at a different rate, a
read over HTTP.
"""

import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from aragog.client import Aragog
from tests.support.documented import Shell, blocks
from tests.support.standalone import standalone

pytestmark = [pytest.mark.redis, pytest.mark.slow, pytest.mark.timeout(600)]

PAGE = "docs/tutorial.md#a-crawl-of-your-own-site"


class Quiet(SimpleHTTPRequestHandler):
    """`python3 -m http.server` without its log."""

    def log_message(self, *_):
        pass


@pytest.fixture
def site(tmp_path):
    """The port of the tutorial's site, and the one named on the page."""
    (script,) = blocks(PAGE, "sh")
    *making, serving = script.strip().splitlines()
    assert Shell({}, tmp_path).script("\n".join(making)).returncode == 0
    handler = partial(Quiet, directory=str(tmp_path / "shop"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server.server_address[1], re.search(r"http.server (\d+)", serving)[1]
        server.shutdown()


def test_tutorial_crawl_ends_as_documented(site, tmp_path):
    port, documented = site
    (settings,) = blocks(PAGE, "toml")
    (tmp_path / "aragog.toml").write_text(settings.replace(f":{documented}", f":{port}"))

    with standalone(
        {"ARAGOG_SETTINGS": str(tmp_path / "aragog.toml")}, frontends=("beat", "http")
    ) as system:
        address = f"127.0.0.1:{system.settings.serving.http_port}"
        shell = Shell(system.environ, tmp_path, {"127.0.0.1:8100": address})
        wrong = [shell.mismatches("docs/tutorial.md#the-crawl-and-its-rate")]
        system.finish(Aragog(system.settings))
        wrong.append(shell.mismatches("docs/tutorial.md#the-result"))

    assert wrong == ["", ""], system.logs()
