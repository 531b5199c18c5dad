"""The command line for any application's queues, such as `python -m pinlater --broker URL list`."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

import click

from pinlater.cli import queue
from pinlater.errors import PinlaterError
from pinlater.terminal import echo


@dataclass(frozen=True, slots=True)
class Broker:
    """The broker given on the command line."""

    broker_url: str = field(repr=False)  # either may hold a password
    shards: tuple[str, ...] = field(repr=False)
    queues: tuple[str, ...] = ()


class QueueCommands(click.Group):
    """A command group that reports errors as messages, without a traceback."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except PinlaterError as error:
            echo(str(error), err=True)
            sys.exit(1)


@click.group(cls=QueueCommands, commands=queue.commands)
@click.option("--broker", envvar="CELERY_BROKER_URL", required=True, help="pinlater://host:port/db")
@click.option("--shard", "shards", multiple=True, help="A further Redis server for jobs.")
@click.pass_context
def main(context: click.Context, broker: str, shards: tuple[str, ...]) -> None:
    """Inspect, pause and limit queues, and retry failed jobs."""
    context.obj = Broker(broker, shards)


if __name__ == "__main__":
    main(prog_name="python -m pinlater")
