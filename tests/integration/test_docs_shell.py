"""Documented commands that need a store and a Redis, but no running system."""

import json
import os
import shutil
from contextlib import closing

import pytest

from aragog.bootstrap.stores import url_store
from aragog.runtime.clock import ManualClock, SystemClock
from aragog.settings import load_settings
from aragog.urlstore.refresh_policy import Seen
from tests.support.documented import Shell, blocks
from tests.support.missing_parts import FISH, ZSH, skip_without
from tests.support.stores import body, page

pytestmark = pytest.mark.redis

CHANGED = "https://shop.example/p/1"


@pytest.fixture
def shell(cli_environ, tmp_path):
    """A shell with settings for a folder and a Redis of this test alone."""
    return Shell(dict(os.environ), tmp_path)


@pytest.fixture
def changed(shell):
    """A page watched by `shop`, fetched twice a minute ago, with different prices."""
    clock = ManualClock(SystemClock().now_ms() - 60_000)
    with closing(url_store(load_settings(), clock)) as store:
        store.schedule.watch(CHANGED, "shop")
        for price in (b'"5.00"', b'"4.00"'):
            clock.advance_ms(9)
            at_ms = clock.now_ms()
            seen = Seen(outcome="Fetched", fetched_at_ms=at_ms, page_type="product")
            fields = {"product.price": price}
            store.write_pages([page(CHANGED, at_ms, seen=seen, fields=fields)])


@pytest.mark.parametrize(
    "name", ["docs/crawls.md", "docs/politeness.md#robotstxt", "docs/performance.md#scale"]
)
def test_commands_of_a_page_print_what_it_shows(shell, name):
    mismatches = shell.mismatches(name)
    assert not mismatches, mismatches


def test_changes_and_webhooks_print_what_the_page_shows(changed, shell):
    mismatches = shell.mismatches("docs/refresh.md#the-change-feed")
    assert not mismatches, mismatches


def test_change_matches_the_page(changed, shell):
    (shown,) = map(json.loads, blocks("docs/refresh.md#the-change-feed", "json"))

    line = json.loads(shell.run("aragog changes --json").splitlines()[-1])

    assert {**line, "cursor": "", "at_ms": 0} == {**shown, "cursor": "", "at_ms": 0}
    assert len(line["cursor"]) == len(shown["cursor"])


def test_store_page_exports_in_parts(shell, tmp_path):
    with closing(url_store(load_settings())) as store:
        store.write_pages([page(CHANGED, fields={"page.title": b'"T"'}, content=body("T"))])
    (command,) = blocks("docs/store.md#bulk-access", "sh")
    shell.instead = {"/data/urls": str(tmp_path / "urls")}

    shell.run(command.strip())

    assert len(list((tmp_path / "urls").glob("*.parquet"))) == 64


def test_store_page_exports_and_imports(shell, tmp_path):
    with closing(url_store(load_settings())) as store:
        store.write_pages([page(CHANGED, fields={"page.title": b'"T"'}, content=body("T"))])
    shell.instead = {"/data": str(tmp_path)}

    mismatches = shell.mismatches("docs/store.md")
    assert not mismatches, mismatches


# Each shell, and how to ask it for completions.
ASKED = {
    "bash": "COMP_WORDS=(aragog enq) COMP_CWORD=1; _aragog_completion aragog; echo $COMPREPLY",
    "zsh": "echo $_comps[aragog]",
    "fish": "complete --do-complete='aragog enq'",
}


@pytest.mark.parametrize("name", ASKED)
def test_shell_completes_commands(shell, tmp_path, name):
    if not shutil.which(name):
        skip_without({"zsh": ZSH, "fish": FISH}[name])
    (block,) = blocks("docs/cli.md", "sh", "eval")
    (line,) = [line for line in block.splitlines() if f"{name}_source" in line]
    first = "autoload -U compinit; compinit -u" if name == "zsh" else ""
    (tmp_path / "startup").write_text(f"{first}\n{line}\n{ASKED[name]}\n")

    done = shell.script(f"HOME={tmp_path} {name} startup")

    assert done.stdout.split()[0] == ("_aragog_completion" if name == "zsh" else "enqueue")
