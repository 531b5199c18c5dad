"""`aragog store takedown`, `takedowns`, `lift-takedown`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any, TypeVar

import click

from aragog.api.operations import administration
from aragog.api.operations.values import MAX_ITEMS
from aragog.bootstrap.redis_services import TakedownSharing
from aragog.bootstrap.stores import replaced_files, url_store
from aragog.cli.arguments import Host, as_json_lines
from aragog.cli.data_folder import command_settings
from aragog.cli.operation_json import call_operation, result_json
from aragog.cli.terminal import echo, echo_json, note
from aragog.errors import BrokerUnavailable, InvalidUrl, RobotsUnavailable, SpoolUnavailable
from aragog.settings import Settings
from aragog.urlstore.store import UrlStore
from urlspelling import normalize


def _normalize_url(
    _context: click.Context, _option: click.Parameter, url: str | None
) -> str | None:
    try:
        return None if url is None else normalize(url)
    except InvalidUrl as error:
        raise click.BadParameter(str(error)) from error


def _require_one_target(**options: str | None) -> str:
    values = [value for value in options.values() if value is not None]
    if len(values) != 1:
        raise click.UsageError(f"pass exactly one of {', '.join(options)}")
    return values[0]


F = TypeVar("F", bound=Callable[..., Any])


def _target_options(command: F) -> F:
    for option in (
        click.option("--domain", type=Host(), help="A domain and its subdomains."),
        click.option("--host", type=Host(), help="A host, on any port."),
        click.option("--url", "named", callback=_normalize_url, help="Same as URL."),
        click.argument("url", required=False, callback=_normalize_url),
    ):
        command = option(command)
    return command


@click.command()
@_target_options
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def takedown(
    url: str | None, named: str | None, host: str | None, domain: str | None, *, yes: bool
) -> None:
    """
    Delete the page at URL, or all pages of a host or domain, and refuse them from now on.

    A page is deleted with its aliases. If URL is an alias of a page on another host, only the alias
    is deleted. If URL was redirected, the page stored under the target is deleted too.
    """
    target = _require_one_target(URL=url, **{"--url": named, "--host": host, "--domain": domain})
    url = url or named
    settings = command_settings()
    with closing(url_store(settings)) as opened:
        description = target if url is None else _describe(opened, url)
        if not yes:
            click.confirm(f"Delete {description} permanently?", abort=True)
        count = opened.takedowns.take_down(url=url, host=host, domain=domain)
        note(f"{target}: {count:,} URLs deleted; it is refused from now on")
        _publish_takedowns(opened, settings, purge=True)
    for path in replaced_files(settings):
        echo(f"{path} is a damaged file kept by a repair; delete it, as it may contain this data")


def _describe(opened: UrlStore, url: str) -> str:
    """Describe what a takedown deletes. The URL may be an alias of a page on another host."""
    pages = opened.takedowns.pages_of(url)
    canonical = opened.resolve(url)
    if canonical not in pages:
        note(
            f"{url} is an alias of {canonical}, which is on another host and is kept; "
            f"to delete that page, use --url {canonical}"
        )
    return " and ".join(pages)


@click.command()
@as_json_lines
def takedowns(*, as_json: bool) -> None:
    """List the hosts, domains and URLs that were taken down."""
    with closing(url_store(command_settings())) as opened:
        cursor = None
        while True:
            page = call_operation(opened, administration.takedowns, MAX_ITEMS, cursor)
            for entry in page.takedowns:
                if as_json:
                    echo_json(result_json(opened, entry))
                else:
                    echo(f"{entry.kind:6} {entry.name}")
            cursor = page.cursor
            if cursor is None:
                return


@click.command("lift-takedown")
@_target_options
def lift_takedown(url: str | None, named: str | None, host: str | None, domain: str | None) -> None:
    """
    Accept URL, a host or a domain again; deleted data is not restored.

    Pages that were stored when their host or domain was taken down stay refused until you lift each
    URL.
    """
    target = _require_one_target(URL=url, **{"--url": named, "--host": host, "--domain": domain})
    settings = command_settings()
    with closing(url_store(settings)) as opened:
        if not opened.takedowns.lift(url or named, host=host, domain=domain):
            raise click.UsageError(f"{target} is not taken down; see `aragog store takedowns`")
        note(f"{target} may be stored again")
        _publish_takedowns(opened, settings)


def _publish_takedowns(opened: UrlStore, settings: Settings, *, purge: bool = False) -> None:
    """
    Copy takedowns to Redis for producers. With `purge`, also delete data in Redis and the broker.

    If Redis is down, a periodic task copies them later. Until then, producers still accept these
    URLs, and workers refuse them.
    """
    try:
        removed = TakedownSharing(settings, opened)(purge=purge)
    except (BrokerUnavailable, RobotsUnavailable, SpoolUnavailable):
        echo(
            "Redis does not respond. When it is back, run the takedown again to delete its data in "
            "Redis; producers will refuse these URLs within minutes"
            if purge
            else "Redis does not respond. Producers accept these URLs minutes after it is back"
        )
        return
    if removed is not None:
        note(
            f"also removed: {removed.messages:,} messages, {removed.bodies:,} bodies in the "
            f"spool, {removed.deliveries:,} webhook deliveries, robots.txt rules of "
            f"{removed.origins:,} origins"
        )
