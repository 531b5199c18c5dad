"""The commands `aragog watch`, `unwatch`, `changes`, `webhooks` and `due`."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import click
import orjson
from rich.table import Table

from aragog.api.operations import change_feed
from aragog.api.operations.values import MAX_ITEMS
from aragog.bootstrap.stores import url_store
from aragog.cli import addons
from aragog.cli.addons import ChangeReceiver
from aragog.cli.arguments import CHANGES_PURPOSE, Host, Owner, Utf8Text, WebAddress, as_json_lines
from aragog.cli.data_folder import command_settings
from aragog.cli.exit_status import ABSENT
from aragog.cli.operation_json import call_operation, result_json
from aragog.cli.show import store
from aragog.cli.terminal import echo, echo_json, note, one_line, print_table
from aragog.client import Aragog
from aragog.crawl.fetcher.ssrf import SsrfFilter
from aragog.crawl.stages.webhook_post import AllowedHosts
from aragog.errors import BadInput, TransientError
from aragog.observability.formatting import format_duration
from aragog.urlstore.crawl_budget import marginal_freshness_s
from aragog.urlstore.feed import Change
from aragog.urlstore.refresh_policy import RefreshState
from aragog.urlstore.signal_reasons import signal_lines
from aragog.urlstore.store import UrlStore
from urlspelling import normalize
from urlspelling.domain import host, registered_domain

POLL_INTERVAL_S = 0.5
RETRY_DELAY_S = 2.0
_TAKES_EFFECT_LATER = "as soon as a worker has processed the message"


@click.command()
@click.argument("url", nargs=-1, required=True)
@click.option(
    "--owner", type=Owner(), required=True, help="The team or program that wants the URLs fresh."
)
def watch(url: tuple[str, ...], owner: str) -> None:
    """Keep each URL fresh for OWNER until `unwatch`. This fetches nothing immediately."""
    with Aragog() as client:
        client.watch(url, owner)
    note(f"{len(url)} watched for {owner}, {_TAKES_EFFECT_LATER}")


@click.command()
@click.argument("url", nargs=-1, required=True)
@click.option("--owner", type=Owner(), required=True, help="The owner whose watch ends.")
def unwatch(url: tuple[str, ...], owner: str) -> None:
    """Stop watching each URL; a URL without watches is no longer refreshed."""
    with Aragog() as client:
        client.unwatch(url, owner)
    note(f"{len(url)} no longer watched for {owner}, {_TAKES_EFFECT_LATER}")


@click.command()
@click.option("--follow", is_flag=True, help="Wait for further changes, until interrupted.")
@click.option("--owner", type=Owner(), help="Only changes to pages that this owner watches.")
@click.option("--host", type=Host(), help="Only pages of this host.")
@CHANGES_PURPOSE
@click.option("--items", metavar="KIND", help="Only changes to items of this kind.")
@click.option("--key", help="Only changes to the item with this key.")
@click.option("--cursor", help="Start after this cursor; `now`: only future changes.")
@click.option(
    "--to", metavar="ADDRESS", help="Send the changes to kafka://HOST:PORT/TOPIC instead."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def changes(
    owner: str | None,
    host: str | None,
    purpose: str | None,
    items: str | None,
    key: str | None,
    cursor: str | None,
    to: str | None,
    *,
    follow: bool,
    as_json: bool,
) -> None:
    """List changes of pages that were fetched again."""
    selection = {"owner": owner, "host": host, "purpose": purpose, "items": items, "key": key}
    with store() as opened:
        if to is not None:
            with closing(_open_receiver(to)) as receiver:
                _send_changes(opened, receiver, cursor, selection, follow=follow)
            return
        for page in _change_pages(opened, cursor, selection, follow=follow):
            for change in page.changes:
                _print_change(change, result_json(opened, change), as_json=as_json)
            sys.stdout.flush()


def _change_pages(
    opened: UrlStore, cursor: str | None, selection: Mapping[str, str | None], *, follow: bool
) -> Iterator[change_feed.ChangePage]:
    """Yield the feed's pages after a cursor. With `follow`, this never ends; pages may be empty."""
    position = opened.feed.end() if cursor == "now" else cursor
    while True:
        page = call_operation(
            opened, change_feed.changes, cursor=position, limit=MAX_ITEMS, owner=selection["owner"],
            host=selection["host"], purpose=selection["purpose"], items=selection["items"],
            key=selection["key"],
        )  # fmt: skip
        yield page
        if page.cursor == position:
            if not follow:
                return
            time.sleep(POLL_INTERVAL_S)
        position = page.cursor


def _open_receiver(address: str) -> ChangeReceiver:
    """Open the receiver at an address. The add-on for the address's scheme provides it."""
    schemes = addons.sends_changes()
    scheme, separator, _ = address.partition("://")
    if not separator or scheme not in schemes:
        known_schemes = ", ".join(f"{name}://" for name in sorted(schemes)) or "none"
        raise BadInput(f"--to: {address[:200]!r} has an unknown scheme; known: {known_schemes}")
    opened: ChangeReceiver = addons.function(schemes[scheme])(address)
    return opened


def _send_changes(
    opened: UrlStore,
    receiver: ChangeReceiver,
    cursor: str | None,
    selection: Mapping[str, str | None],
    *,
    follow: bool,
) -> None:
    """
    Send changes. The receiver stores the cursor of the last one.

    If the command is killed and restarted, it sends some changes again and skips none. If the
    receiver does not respond, the command retries with `follow`, and fails without it.
    """
    count = 0
    for page in _change_pages(opened, receiver.position() or cursor, selection, follow=follow):
        changes_json = [result_json(opened, change) for change in page.changes]
        while True:
            try:
                receiver.send(changes_json, page.cursor or "")
                break
            except TransientError as error:
                if not follow:
                    raise
                echo(one_line(f"{error}; retrying"), err=True)
                time.sleep(RETRY_DELAY_S)
        count += len(page.changes)
    note(f"{count:,} changes sent")


def _print_change(change: Change, change_json: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        echo_json(change_json)
        return
    time_text = datetime.fromtimestamp(change.at_ms / 1000, UTC).isoformat(timespec="seconds")
    echo(one_line(f"{time_text}  {change.kind:<10}  {change.url}"))
    for name, values in change_json["fields"].items():
        before, now = (orjson.dumps(values[key]).decode()[:200] for key in ("before", "now"))
        echo(one_line(f"    {name}: {before} → {now}"))
    if change.content_hash:
        echo(
            "    content: {} → {}".format(*((text or "none")[:12] for text in change.content_hash))
        )
    if change.redirected_to:
        echo(one_line(f"    redirected to {change.redirected_to}"))


@click.group()
def webhooks() -> None:
    """Add, list and remove webhooks, which receive changes."""


@webhooks.command("add")
@click.argument("url", type=WebAddress())
@click.option("--owner", type=Owner(), help="Only changes to pages that this owner watches.")
@click.option("--host", type=Host(), help="Only changes on this host.")
@CHANGES_PURPOSE
@click.option(
    "--secret",
    type=Utf8Text(),
    help="Secret for the signatures; default: a new one, which is printed.",
)
def add_webhook(
    url: str, owner: str | None, host: str | None, purpose: str | None, secret: str | None
) -> None:
    """Post future changes to URL."""
    key = secret or secrets.token_urlsafe(32)
    with closing(url_store(command_settings())) as opened:
        webhook = opened.feed.webhooks.add(
            url, key, owner=owner, host=host, purpose=purpose, cursor=opened.feed.end(),
            now_ms=_now_ms(),
        )  # fmt: skip
    echo(webhook.name if secret else f"{webhook.name}  secret: {key}")
    warn_if_undeliverable(url)


def warn_if_undeliverable(url: str) -> None:
    """Warn if the SSRF filter will refuse a webhook because of its URL."""
    settings = command_settings()
    receivers = AllowedHosts(SsrfFilter(settings.fetch), settings.webhooks.allowed_hosts, 1.0)
    if reason := receivers.vet_url(url):
        hint = "nothing is posted there until its host is in webhooks.allowed_hosts"
        echo(f"aragog: {one_line(reason)}: {hint}", err=True)


@webhooks.command("list")
@as_json_lines
def list_webhooks(*, as_json: bool) -> None:
    """List all webhooks."""
    with store() as opened:
        for webhook, _ in opened.feed.webhooks.all():
            if as_json:
                webhook_json = {"name": webhook.name, "url": webhook.url}
                filters_json = {"owner": webhook.owner, "host": webhook.host}
                echo_json({**webhook_json, **filters_json, "for": webhook.purpose})
                continue
            filters = {"owner": webhook.owner, "host": webhook.host, "for": webhook.purpose}
            filters_text = " ".join(f"{name}={value}" for name, value in filters.items() if value)
            echo(f"{webhook.name}  {webhook.url}  {filters_text}".rstrip())


@webhooks.command("remove")
@click.argument("name")
def remove_webhook(name: str) -> None:
    """Remove a webhook."""
    with closing(url_store(command_settings())) as opened:
        if not opened.feed.webhooks.remove(name, _now_ms()):
            echo(f"aragog: there is no webhook {name}", err=True)
            sys.exit(ABSENT)


@click.command()
@click.argument("url", nargs=-1)
@as_json_lines
def due(url: tuple[str, ...], *, as_json: bool) -> None:
    """Show when and why each URL is fetched again; without URLs, how late refreshes are."""
    with store() as opened:
        if not url:
            oldest = opened.schedule.oldest_due_ms(_now_ms())
            late_s = 0 if oldest is None else (_now_ms() - oldest) / 1000
            if as_json:
                echo_json({"oldest_due_at_ms": oldest, "late_s": round(late_s, 3)})
                return
            echo(f"the oldest due URL has been due for {late_s:.0f} s")
        for address in url:
            if as_json:
                echo_json(_due_json(opened, address))
            else:
                _print_due(opened, address)


def _due_json(opened: UrlStore, url: str) -> dict[str, object]:
    record, state = opened.get(url, []), opened.schedule.refresh_state(url)
    mark, trust = opened.signals.of_page(normalize(url))
    return {
        "url": record.canonical_url if record else url,
        "due_at_ms": record.due_at_ms if record else None,
        "watchers": sorted(opened.schedule.watchers(url)),
        "refresh": None if state is None else state._asdict(),
        "signal": None if mark is None else mark._asdict(),
        "trust": {"belief": trust.belief, "recall": trust.recall, **trust._asdict()},
    }


def _print_due(opened: UrlStore, url: str) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, text in _due_facts(opened, url):
        table.add_row(name, text)
    print_table(table)


def _due_facts(opened: UrlStore, url: str) -> Iterator[tuple[str, str]]:
    record = opened.get(url, [])
    yield "url", record.canonical_url if record else url
    yield "due", _iso_time(record.due_at_ms if record else None)
    yield "watched by", ", ".join(opened.schedule.watchers(url)) or "nobody"
    state = opened.schedule.refresh_state(url)
    if state is None:
        return
    yield "usual interval", format_duration(1000 * state.usual_s)
    yield "current interval", format_duration(1000 * state.interval_s)
    yield "changes", f"{state.changes:.3g} in {state.checks} checks"
    if state.rate_per_s:
        yield "estimated to change", f"every {format_duration(1000 / state.rate_per_s)}"
    yield "last checked", _iso_time(state.checked_at_ms)
    yield "last change", _iso_time(state.changed_at_ms)
    if state.gone:
        yield "gone", f"{state.gone} times in a row"
    mark, trust = opened.signals.of_page(normalize(url))
    yield from signal_lines(state, mark, trust, opened.signals.settings, _now_ms())
    yield from _budget_facts(opened, record.canonical_url if record else url, state)


def _budget_facts(opened: UrlStore, url: str, state: RefreshState) -> Iterator[tuple[str, str]]:
    """
    Yield what the domain's crawl budget means for a page, if more URLs are due than the budget
    allows.
    """
    names = {registered_domain(url), host(url)}
    budget = max(opened.schedule.budgets(sorted(names)).values(), key=lambda b: b.price_s)
    if budget.price_s:
        yield (
            "crawl budget",
            f"fetches must gain {format_duration(1000 * budget.price_s)} of freshness",
        )
        yield (
            "gain if fetched now",
            format_duration(1000 * marginal_freshness_s(state, budget, _now_ms())),
        )


def _iso_time(at_ms: int | None) -> str:
    if not at_ms:
        return "never"
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="seconds")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
