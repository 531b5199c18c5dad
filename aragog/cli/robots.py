"""The commands `aragog robots …`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import BinaryIO

import click
from rich.markup import escape
from rich.table import Table

from aragog.bootstrap.redis_services import robots_cache
from aragog.cli.arguments import as_json
from aragog.cli.data_folder import command_settings
from aragog.cli.exit_status import ABSENT, WAITING
from aragog.cli.terminal import SafeConsole, echo, echo_json
from aragog.client import Aragog
from aragog.crawl.pipeline.messages import RobotsBatch
from aragog.crawl.pipeline.routing import Destination, OutgoingMessage
from aragog.crawl.politeness.robots_engines import ENGINES, Opinion
from aragog.crawl.politeness.robots_rules import RobotsRules
from aragog.errors import InvalidUrl
from urlspelling import normalize
from urlspelling.domain import origin


@click.group()
def robots() -> None:
    """Test URLs against robots.txt, and fetch it again."""


@robots.command("test")
@click.argument("url")
@click.option(
    "--file", "file", type=click.File("rb"), help="A robots.txt file; `-`: standard input."
)
@click.option("--agent", help="User-Agent to test; only with --file. Default: fetch.user_agent.")
@as_json
def test(url: str, file: BinaryIO | None, agent: str | None, *, as_json: bool) -> None:
    """
    Test whether each engine allows URL: `builtin`, which the crawl uses, and `reppy`.

    Without --file, the cached rules of the URL's origin are used. The exit status is 5 if the
    built-in engine refuses, and 3 if no rules are known yet.
    """
    settings = command_settings()
    if agent and file is None:
        raise click.UsageError(
            "--agent needs --file: only the rules for fetch.user_agent are cached"
        )
    user_agent = agent or settings.fetch.user_agent
    try:
        url = normalize(url)
    except InvalidUrl as error:
        raise click.UsageError(str(error)) from error
    rules = (
        RobotsRules.parse(file.read()) if file else robots_cache(settings).get(origin(url)).rules
    )
    if rules is None:
        echo(f"aragog: robots.txt of {origin(url)} is not known yet; use --file", err=True)
        sys.exit(WAITING)
    opinions = {engine.name: engine.opinion(rules, user_agent, url) for engine in ENGINES}
    if as_json:
        echo_json({name: asdict(opinion) for name, opinion in opinions.items()})
    else:
        SafeConsole().print(_table(opinions))
    if not opinions["builtin"].allowed:
        sys.exit(ABSENT)


@robots.command("refresh")
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
def refresh(urls: tuple[str, ...]) -> None:
    """
    Fetch robots.txt of each URL's origin now, even if the cached rules are fresh.

    A worker fetches it at the domain's rate; the old rules stay in use until then.
    """
    try:
        origins = tuple(dict.fromkeys(origin(normalize(url)) for url in urls))
    except InvalidUrl as error:
        raise click.UsageError(str(error)) from error
    with Aragog(command_settings()) as client:
        client.send(OutgoingMessage(Destination.ROBOTS, RobotsBatch(origins, refresh=True)))
    for origin_url in origins:
        echo(f"{origin_url}/robots.txt will be fetched again")


def _table(opinions: dict[str, Opinion]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, opinion in opinions.items():
        verdict = {True: "allowed", False: "refused", None: "no answer"}[opinion.allowed]
        table.add_row(name, verdict, escape(opinion.reason))
    return table
