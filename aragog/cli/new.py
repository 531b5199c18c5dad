"""
The command `aragog new`.

It fetches pages like `aragog try`, and writes `aragog.toml` and `urls.txt`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

import click
import orjson
from rich.table import Table
from rich.text import Text

from aragog.cli.arguments import WebAddress
from aragog.cli.exit_status import ABSENT
from aragog.cli.polite_fetch import fetch_all
from aragog.cli.terminal import echo, note, one_line, print_table, printable
from aragog.crawl.stages.page_analysis import named_agent
from aragog.errors import ConfigError
from aragog.fetch_record.outcome import Fetched
from aragog.observability.formatting import pluralize, to_one_line
from aragog.pages.written_rules import settings_text
from aragog.settings import Settings, load_settings
from aragog.settings.loading import TABLES, configured_names, settings_file
from richpins import documents
from richpins.document import Document
from richpins.guesses import Guess, GuessedKind, guess_rules
from richpins.items import find, kind_of
from urlspelling import normalize
from urlspelling.domain import host

SETTINGS_FILE, URLS_FILE = "aragog.toml", "urls.txt"
MAX_EXAMPLES = 10
MAX_CELL_CHARS = 60
MAX_EMBEDDED_SHOWN = 12


@click.command()
@click.argument("urls", nargs=-1, required=True, type=WebAddress())
@click.option(
    "--agent",
    help='The User-Agent, with a contact: "examplebot/1.0 (+https://example.com/bot)" '
    "(default: fetch.user_agent).",
)
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="The folder for the new files (default: the current one).",
)
def new(urls: tuple[str, ...], agent: str | None, into: Path) -> None:
    """
    Guess rules from example pages, and write them to aragog.toml.

    Pass about three URLs of one site: all of the same kind, such as three product pages or
    three listing pages. Then correct the guesses: `aragog try URL` shows what each rule finds. The
    exit status is 5 if a page cannot be fetched, or if nothing is found on the pages.
    """
    if len(urls) > MAX_EXAMPLES:
        raise click.UsageError(f"at most {MAX_EXAMPLES} examples, got {len(urls)}")
    if existing := [name for name in (SETTINGS_FILE, URLS_FILE) if (into / name).exists()]:
        raise ConfigError(
            f"{into / existing[0]}: already exists; choose another folder with --into"
        )
    settings = load_settings()
    if agent:
        settings = replace(settings, fetch=replace(settings.fetch, user_agent=agent))
    examples = list(dict.fromkeys(map(normalize, urls)))
    _check_site(examples)
    pages = list(_fetch_pages(examples, settings))
    _check_site([page.url for page in pages])  # check again: redirects may lead to other hosts
    guess = guess_rules(pages)
    if not guess.kinds:
        echo(
            "aragog: could not guess any rules: no element is on all pages with a different value "
            "on each",
            err=True,
        )
    _write_files(into, guess, pages, settings)
    _print_guess(guess, pages)
    note(f"wrote {into / SETTINGS_FILE} and {into / URLS_FILE}; next:")
    if into != Path():
        if names := _settings_left_behind():
            note(f"  copy {', '.join(names)} from {SETTINGS_FILE} if the pages need it")
        note(f"  cd {quote(str(into))}")
    note(f"  aragog try {quote(pages[0].url)} --html page.html")
    note(f"  aragog run urls.txt --stop -O {_output_args(guess)}")
    sys.exit(0 if guess.kinds or guess.embedded else ABSENT)


def _check_site(urls: Sequence[str]) -> None:
    hosts = sorted(set(map(host, urls)))
    if len(hosts) > 1:
        raise click.UsageError(f"the pages are on {', '.join(hosts)}; pass URLs on a single host")


def _fetch_pages(urls: Sequence[str], settings: Settings) -> Iterator[Document]:
    """Yield the parsed pages. Exits with 5 if a fetch fails."""
    for url, outcome in zip(urls, fetch_all(urls, settings), strict=True):
        if not isinstance(outcome, Fetched):
            reason = f"{outcome.outcome}: {outcome.reason or outcome.status or ''}"
            echo(one_line(f"aragog: {url}: {reason.rstrip(': ')}"), err=True)
            sys.exit(ABSENT)
        yield documents.parse(
            outcome.body,
            url=outcome.final_url,
            content_type=outcome.content_type,
            agent=named_agent(settings.fetch),
        )


def _write_files(into: Path, guess: Guess, pages: Sequence[Document], settings: Settings) -> None:
    text = settings_text(guess, host(pages[0].url), settings.fetch.user_agent)
    try:
        into.mkdir(parents=True, exist_ok=True)
        (into / SETTINGS_FILE).write_text(text)
        (into / URLS_FILE).write_text("".join(f"{page.url}\n" for page in pages))
    except OSError as error:
        raise ConfigError(f"{into}: cannot be written: {error.strerror}") from error


def _settings_left_behind() -> list[str]:
    """Return which settings of this folder's file the new file lacks, such as fetch.host_map."""
    file = Path(SETTINGS_FILE).absolute()
    if settings_file() != file:  # ARAGOG_SETTINGS applies in every folder
        return []
    names = configured_names(file, environ={})
    return [name for name in names if name not in ("fetch.user_agent", *TABLES)]


def _print_guess(guess: Guess, pages: Sequence[Document]) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    table.add_column(style="dim")
    for kind in guess.kinds:
        for row in _table_rows(kind, pages):
            table.add_row(*(Text(printable(to_one_line(cell, MAX_CELL_CHARS))) for cell in row))
    for name, syntax in list(guess.embedded.items())[:MAX_EMBEDDED_SHOWN]:
        table.add_row(Text(name), Text("found without a rule"), Text(syntax))
    print_table(table)


def _table_rows(kind: GuessedKind, pages: Sequence[Document]) -> Iterator[tuple[str, str, str]]:
    yield kind.name, pluralize(kind.items, "item"), str(kind.table.get("each", "the page"))
    compiled = kind_of(kind.name, kind.table)
    first = next(item for page in pages for item in find(compiled, page).items)
    for name, rule in kind.table["fields"].items():
        selector = rule if isinstance(rule, str) else rule["select"]
        yield f"  {name}", _to_text(first.values.get(name)), selector


def _output_args(guess: Guess) -> str:
    """Return the `-O` argument for a first run, with `--items` if it is needed."""
    names = [kind.name for kind in guess.kinds] or ["pages"]
    return f"{names[0]}.csv" + (f" --items {names[0]}" if len(names) > 1 else "")


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
