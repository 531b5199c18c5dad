"""Parse the records of a topic: a URL as text, or JSON with a URL and enqueue options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from aragog.api.json_values import build_request, check_known_names
from aragog.api.operations.enqueue_options import EnqueueArguments
from aragog.api.operations.options import option_fields
from aragog.errors import BadInput

MAX_BYTES = 65_536
_OPTIONS = {field.http for field in option_fields(EnqueueArguments) if field.http}


@dataclass(frozen=True, slots=True)
class TopicUrl:
    """A URL with its enqueue options."""

    url: str
    arguments: EnqueueArguments
    source: str = ""
    """The record's topic, partition and offset (`urls:0:17`), for messages."""


def read_record(value: bytes | None, defaults: EnqueueArguments) -> TopicUrl:
    """
    Parse a record: a URL as text, or `{"url": ..., "priority": 0}` with options named as in HTTP.

    Missing options are taken from `defaults`.

    Raises:
        BadInput: the record is in neither format, or an option is invalid.
    """
    if not value:
        raise BadInput("is empty")
    if len(value) > MAX_BYTES:
        raise BadInput("is longer than 64 KiB")
    text = value.strip()
    if not text.startswith(b"{"):
        try:
            return TopicUrl(text.decode(), defaults)
        except UnicodeDecodeError:
            raise BadInput("is not UTF-8") from None
    return _url_from_object(_parse_object(text), defaults)


def _parse_object(text: bytes) -> dict[str, Any]:
    try:
        members: dict[str, Any] = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadInput(f"is not JSON: {error}") from None
    return members


def _url_from_object(members: Mapping[str, Any], defaults: EnqueueArguments) -> TopicUrl:
    url = members.get("url")
    if not isinstance(url, str):
        raise BadInput("url must be a string")
    options = {name: value for name, value in members.items() if name != "url"}
    if not options:
        return TopicUrl(url, defaults)
    check_known_names(options, _OPTIONS, "is not an enqueue option")
    parsed = build_request(EnqueueArguments, options)
    option_values = {
        f.name: getattr(parsed, f.name)
        for f in option_fields(EnqueueArguments)
        if f.http in options
    }
    arguments = replace(defaults, **option_values)
    arguments.options()  # raises if an option is out of bounds
    return TopicUrl(url, arguments)


def group_by_arguments(
    records: Sequence[TopicUrl],
) -> list[tuple[EnqueueArguments, list[TopicUrl]]]:
    """Group records with the same options, in the order of each group's first record."""
    groups: list[tuple[EnqueueArguments, list[TopicUrl]]] = []
    for record in records:
        for arguments, group in groups:
            if arguments == record.arguments:
                group.append(record)
                break
        else:
            groups.append((record.arguments, [record]))
    return groups
