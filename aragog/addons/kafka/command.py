"""The command `aragog kafka enqueue`."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Any

import click

from aragog.addons.kafka.topic_address import TopicAddress, require_client
from aragog.addons.kafka.url_topic import UrlTopic
from aragog.api.operations.enqueue_options import EnqueueArguments
from aragog.cli.arguments import NON_NEGATIVE, enqueue_options
from aragog.cli.data_folder import command_settings
from aragog.cli.enqueue import summary
from aragog.cli.terminal import echo, note, one_line
from aragog.cli.up import Stopped
from aragog.client import Aragog
from aragog.crawl.fetcher.user_agent import has_contact, missing_contact_message
from aragog.errors import ConfigError


@click.group()
def kafka() -> None:
    """Enqueue URLs from a Kafka topic."""


@kafka.command("enqueue")
@click.argument("topic")
@click.option("--group", default="aragog", show_default=True, help="The consumer group.")
@click.option("--until-end", is_flag=True, help="Stop when the end of the topic is reached.")
@click.option(
    "--max-in-flight",
    type=NON_NEGATIVE,
    default=0,
    help="Pause while more than this many URLs are in flight; 0 means no limit.",
)
@enqueue_options()
def enqueue(
    topic: str, group: str, max_in_flight: int, *, until_end: bool, **arguments: Any
) -> None:
    """
    Enqueue URLs from TOPIC, kafka://HOST:PORT/NAME, until SIGTERM or Ctrl-C.

    A record is a URL, or a JSON object with `url` and enqueue options. The options on the command
    line are the defaults for records without them. The processes of a group share the partitions.
    """
    require_client("`aragog kafka enqueue`")
    address = TopicAddress.parse(topic)
    if not address.name:
        address = replace(address, name=group)
    settings = command_settings()
    if not has_contact(settings.fetch):
        raise ConfigError(missing_contact_message(settings.fetch))
    stopped = Stopped()
    with (
        Aragog(settings) as client,
        closing(
            UrlTopic(
                address,
                client,
                EnqueueArguments(**arguments),
                lambda text: echo(one_line(text), err=True),
                max_in_flight=max_in_flight,
            )
        ) as source,
    ):
        try:
            source.run(lambda: bool(stopped), until_end=until_end)
        finally:
            note(summary(source.counts))
