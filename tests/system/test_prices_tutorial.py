"""
docs/tutorial.md#the-prices-of-three-shops-over-a-week in full: three shops, a week of crawls, a
DuckDB table, and the answer.
"""

import contextlib
import importlib.util
import io
import re
import shlex
import threading
from http.server import ThreadingHTTPServer

import pytest
from click.testing import CliRunner

from aragog.cli import main
from tests.support.documented import ROOT, blocks
from tests.support.standalone import standalone

pytestmark = [pytest.mark.redis, pytest.mark.slow, pytest.mark.timeout(900)]

PAGE = "docs/tutorial.md#the-prices-of-three-shops-over-a-week"
URLS, CRONTAB, PRINTED = blocks(PAGE, "text")


@pytest.fixture
def shops(tmp_path, monkeypatch):
    """The port of the tutorial's shops, with the reader's folder as the current one."""
    monkeypatch.chdir(tmp_path)
    where = importlib.util.spec_from_file_location("shops", ROOT / "examples/prices/shops.py")
    module = importlib.util.module_from_spec(where)
    where.loader.exec_module(module)
    (start,) = blocks(PAGE, "sh", "echo")
    day, _ = start.splitlines()
    (tmp_path / "today").write_text(shlex.split(day)[1])
    with ThreadingHTTPServer(("127.0.0.1", 0), module.Shops) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server.server_address[1], module.PORT
        server.shutdown()


def test_week_of_prices_answers_the_question(shops, tmp_path):
    port, documented = shops
    (settings,) = blocks(PAGE, "toml")
    (tmp_path / "aragog.toml").write_text(settings.replace(f":{documented}", f":{port}"))
    (tmp_path / "urls.txt").write_text(URLS)
    (week,) = blocks(PAGE, "sh", "mkdir")
    days = re.search(r"for day in (.*);", week)[1].split()
    (command,) = re.findall(r"aragog (run .*)", week)
    (tmp_path / "prices").mkdir()

    with standalone({"ARAGOG_SETTINGS": str(tmp_path / "aragog.toml")}, frontends=()) as system:
        for day in days:
            (tmp_path / "today").write_text(day)
            arguments = shlex.split(command.replace("$day", day))
            ran = CliRunner().invoke(main, arguments, env=system.environ)
            assert ran.exit_code == 0, ran.output + system.logs()

    out, (program,) = io.StringIO(), blocks(PAGE, "python")
    with contextlib.redirect_stdout(out):
        exec(compile(program, PAGE, "exec"), {})
    assert out.getvalue() == PRINTED
    assert command.split("-O")[0] in CRONTAB
    assert (tmp_path / "prices.duckdb").exists()
