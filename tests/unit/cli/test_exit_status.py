"""The table of exit statuses in the documentation matches the code."""

import ast
import re
from pathlib import Path

import pytest

from aragog.cli import exit_status
from aragog.cli.run_crawl import RunResult
from aragog.crawl.pipeline.enqueue_results import EnqueueStatus

ROOT = Path(__file__).parents[3]
CLI = ROOT / "aragog" / "cli"
EXITS = ("sys.exit", "os._exit", "SystemExit")


def test_documentation_lists_every_status():
    table = re.findall(r"^\| (\d+) \|", (ROOT / "docs" / "cli.md").read_text(), re.MULTILINE)

    named = {value for name, value in vars(exit_status).items() if name.isupper()}
    assert {int(status) for status in table} == named - {exit_status.SIGNALED} | {143}


def literal_exits(path):
    """The lines that exit with a number instead of a name."""
    for node in ast.walk(ast.parse(path.read_text())):
        is_exit = isinstance(node, ast.Call) and ast.unparse(node.func) in EXITS
        if is_exit and any(isinstance(getattr(a, "value", None), int) for a in node.args):
            yield f"{path}:{node.lineno}"


def test_no_command_exits_with_a_literal_number():
    assert [line for path in CLI.rglob("*.py") for line in literal_exits(path)] == []


@pytest.mark.parametrize(
    ("finished", "lines", "status"),
    [
        (True, {EnqueueStatus.ACCEPTED: 3}, 0),
        (True, {EnqueueStatus.WAITING: 3, EnqueueStatus.TAKEN_DOWN: 1}, 0),
        (True, {EnqueueStatus.ACCEPTED: 3, EnqueueStatus.INVALID: 1}, 4),
        (True, {}, 2),
        (False, {EnqueueStatus.ACCEPTED: 3, EnqueueStatus.INVALID: 1}, 3),
    ],
)
def test_exit_status_depends_on_completion_not_on_responses_of_sites(finished, lines, status):
    assert RunResult(finished, lines).status == status
