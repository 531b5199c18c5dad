"""`aragog explain`, `status`, `doctor`: why a URL is where it is, how things are, what is wrong."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass

import click
import orjson
import redis
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from aragog.bootstrap import parts, redis_client, store_conflict, tables, url_store
from aragog.cli.keeping import span
from aragog.client import Aragog
from aragog.dashboard.story import tell
from aragog.dashboard.tables import concerns, queue_rows
from aragog.errors import AragogError, TransientError
from aragog.fetcher.user_agent import has_contact
from aragog.pinlater.brokers import limitations
from aragog.politeness.overrides import Overrides
from aragog.settings import Settings, load_settings
from aragog.standalone.redis_server import find_redis_server
from aragog.standalone.supervisor import running_pid
from aragog.urlstore.freshness import Freshness

# The part of a server's maxmemory that it may use before the doctor speaks up.
NEARLY_FULL = 0.85


@click.command()
@click.argument("url")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def explain(url: str, *, as_json: bool) -> None:
    """Why URL is where it is: spelling, guard, robots.txt, slot, canonical URL, fields, links."""
    told = tell(url, parts(load_settings()))
    if as_json:
        click.echo(orjson.dumps(told.as_dict()).decode())
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for chapter in told.chapters:
        table.add_row(f"[underline]{chapter.title}", "")
        for name, text, note in chapter.lines:
            table.add_row(
                f"  {escape(name)}", escape(text) + (f"  [dim]{escape(note)}" * bool(note))
            )
        if chapter.problem:
            table.add_row("  cannot be told", escape(chapter.problem))
    Console().print(table)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def status(*, as_json: bool) -> None:
    """What is on its way and what became of the rest."""
    settings = load_settings()
    with Aragog(settings) as client:
        found = {"waiting": client.waiting(), **client.tally()}
    fresh = _freshness(settings)
    if as_json:
        told = {of: asdict(one) for of, one in fresh.items()}
        click.echo(orjson.dumps({**found, "freshness": told}).decode())
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    for name, number in found.items():
        table.add_row(name.replace("_", " "), f"{number:,}")
    Console().print(table)
    if fresh:
        Console().print(_fresh_table(fresh))


def _freshness(settings: Settings) -> dict[str, Freshness]:
    """By type, from a sample of the store; empty where there is none yet."""
    if settings.store.engine == "sqlite" and not (settings.data_dir / "store").exists():
        return {}
    store = url_store(settings)
    try:
        return store.freshness()
    finally:
        store.close()


def _fresh_table(fresh: dict[str, Freshness]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("type", "sampled", "age p50", "age p95", "refreshed on time"):
        table.add_column(name, justify="left" if name == "type" else "right")
    for of, one in fresh.items():
        ages = (span(age_s) for age_s in (one.age_p50_s, one.age_p95_s))
        table.add_row(of, str(one.pages), *ages, f"{one.on_time:.0%}")
    return table


@dataclass(frozen=True, slots=True)
class Finding:
    """What the doctor found of one part."""

    part: str
    well: bool
    text: str


@click.command()
def doctor() -> None:
    """Check every part and say what to do; exits with 1 when something is wrong."""
    settings = load_settings()
    resolved = settings.resolved()
    console = Console()
    findings = [finding for check in CHECKS for finding in _guarded(check, settings, resolved)]
    for found in findings:
        mark = "[green]ok[/]  " if found.well else "[red]look[/]"
        console.print(f"{mark} {found.part}: ", end="")
        console.print(found.text, markup=False, highlight=False)
    if not all(found.well for found in findings):
        sys.exit(1)


def _guarded(
    check: Callable[[Settings, Settings], Iterator[Finding]], settings: Settings, resolved: Settings
) -> Iterator[Finding]:
    try:
        yield from check(settings, resolved)
    except AragogError as error:
        yield Finding(check.__name__.removeprefix("_check_"), well=False, text=str(error))


def _check_agent(settings: Settings, _resolved: Settings) -> Iterator[Finding]:
    agent = settings.fetch.user_agent
    if has_contact(settings.fetch):
        yield Finding("fetch.user_agent", well=True, text=agent)
    else:
        remedy = 'set it to something like "examplebot/1.0 (+https://example.com/bot)"'
        text = f"{agent!r} has no contact, so only loopback is fetched; {remedy}"
        yield Finding("fetch.user_agent", well=False, text=text)


def _check_redis(settings: Settings, resolved: Settings) -> Iterator[Finding]:
    if settings.private_redis and not running_pid(settings.data_dir.absolute() / "run"):
        text = f"the private one would be {find_redis_server()}; nothing runs now (`aragog up`)"
        yield Finding("redis", well=True, text=text)
        return
    try:
        with redis_client(resolved) as client:
            info = client.info("memory")
            version = client.info("server")["redis_version"]
    except redis.RedisError as error:
        yield Finding(
            "redis.url", well=False, text=f"{resolved.redis.url} does not answer: {error}"
        )
        return
    policy, most = info.get("maxmemory_policy"), info.get("maxmemory", 0)
    text = f"{version}, {info['used_memory_human']} used"
    if most and policy != "noeviction":
        text = f"maxmemory-policy is {policy}: keys may vanish; set it to noeviction"
        yield Finding("redis", well=False, text=text)
    elif most and info["used_memory"] > NEARLY_FULL * most:
        text += f" of {info['maxmemory_human']}: it soon takes nothing more; raise maxmemory"
        yield Finding("redis", well=False, text=text)
    else:
        yield Finding("redis", well=True, text=text)


def _check_broker(_settings: Settings, resolved: Settings) -> Iterator[Finding]:
    kind = resolved.broker.url.partition("://")[0]
    told = limitations(resolved.broker.url)
    for text in told:
        yield Finding(f"broker {kind}", well=True, text=f"cannot: {text}")
    if not told:
        yield Finding(f"broker {kind}", well=True, text="can all that aragog asks of it")


def _check_queues(settings: Settings, resolved: Settings) -> Iterator[Finding]:
    if settings.private_redis and not running_pid(settings.data_dir.absolute() / "run"):
        return
    admin = parts(resolved).admin
    for row in queue_rows(admin) if admin else ():
        for text in concerns(row):
            yield Finding(f"queue {row.queue}", well=False, text=text)


def _check_store(settings: Settings, _resolved: Settings) -> Iterator[Finding]:
    yield from _check_store_claim(settings)
    if settings.store.engine == "hbase":
        from aragog.zen.tables.hbase import HBaseTables  # noqa: PLC0415 - 80 ms, only where used

        problems = HBaseTables(settings.store).check()
        for problem in problems:
            yield Finding("hbase", well=False, text=problem)
        if not problems:
            yield Finding("hbase", well=True, text="all tables are as they should be")
        return
    if settings.store.engine == "sqlite" and (settings.data_dir / "store").exists():
        with closing(tables(settings)) as engine:
            for problem in engine.check():
                yield Finding("store", well=False, text=problem)
    folder = settings.data_dir.absolute()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    text = f"{free / 1e9:.1f} GB free for {settings.data_dir.absolute()}"
    yield Finding("data_dir", well=free > 1e9, text=text)


def _check_store_claim(settings: Settings) -> Iterator[Finding]:
    """Redis may work for the store of another machine."""
    if settings.store.engine == "sqlite" and not (settings.data_dir / "store").exists():
        return
    try:
        problem = store_conflict(settings, claim=False)
    except TransientError:
        return  # told where Redis and the store are looked at
    if problem:
        yield Finding("store", well=False, text=problem)


def _check_overrides(settings: Settings, _resolved: Settings) -> Iterator[Finding]:
    path = settings.politeness.overrides_file
    if path is not None:
        names = len(Overrides(path).table())
        yield Finding("politeness.overrides_file", well=True, text=f"{names} names in {path}")


CHECKS = (
    _check_agent, _check_redis, _check_broker, _check_queues, _check_store, _check_overrides,
)  # fmt: skip
COMMANDS = (explain, status, doctor)
