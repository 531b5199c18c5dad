"""The stored form of a host's budgets: JSON in zlib, with a version. Pure."""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections import OrderedDict
from typing import Any

import orjson

from aragog.crawl.traps.host_budget import (
    JUDGED_BYTES,
    PAIRS_BYTES,
    SEEN_BYTES,
    HostBudget,
    TemplateBudget,
)
from aragog.crawl.traps.seen_set import SeenSet
from aragog.crawl.traps.templates import PathWords

VERSION = 1
_NUMBERS = (
    "budget", "charged", "pending", "brought", "said", "nothing", "twins", "differ", "promises",
    "onward", "new_links", "old_links", "highest", "beyond",
)  # fmt: skip


def to_bytes(host: HostBudget) -> bytes:
    """The stored form; at most about 50 KB, and 3 to 10 KB for a few hundred pages."""
    wire = {
        "v": VERSION,
        "words": host.words.words,
        "templates": [[name, *_of_template(one)] for name, one in host.templates.items()],
        "useful": host.useful,
        "spent": host.spent,
        "held": host.held,
        "left_out": host.left_out,
        "seen": _of_set(host.seen),
        "pairs": _of_set(host.pairs),
        "judged": _of_set(host.judged),
        "pages": list(host.pages),
        "sketches": _text(b"".join(sketch.ljust(24, b"\0") for sketch in host.pages.values())),
        "bands": list(host.bands.items()),
    }
    return zlib.compress(orjson.dumps(wire), 1)


def from_bytes(blob: bytes) -> HostBudget | None:
    """The budgets of their stored form; None for one that another version wrote."""
    try:
        wire = orjson.loads(zlib.decompress(blob))
        if wire["v"] != VERSION:
            return None
        sketches = b64decode(wire["sketches"])
        return HostBudget(
            words=PathWords(wire["words"]),
            templates=OrderedDict((name, _template(rest)) for name, *rest in wire["templates"]),
            useful=wire["useful"],
            spent=wire["spent"],
            held=wire["held"],
            left_out=wire["left_out"],
            seen=_set(SEEN_BYTES, wire["seen"]),
            pairs=_set(PAIRS_BYTES, wire["pairs"]),
            judged=_set(JUDGED_BYTES, wire["judged"]),
            pages=OrderedDict(
                (place, sketches[24 * at : 24 * at + 24]) for at, place in enumerate(wire["pages"])
            ),
            bands=OrderedDict((band, count) for band, count in wire["bands"]),
        )
    except (zlib.error, ValueError, KeyError, TypeError):
        return None


def _of_template(one: TemplateBudget) -> list[Any]:
    return [*(getattr(one, name) for name in _NUMBERS), *map(_text, one.last)]


def _template(values: list[Any]) -> TemplateBudget:
    numbers = dict(zip(_NUMBERS, values, strict=False))
    return TemplateBudget(**numbers, last=tuple(map(b64decode, values[len(_NUMBERS) :])))


def _of_set(seen: SeenSet) -> list[Any]:
    return [seen.added, _text(bytes(seen.young)), _text(seen.old)]


def _set(size: int, values: list[Any]) -> SeenSet:
    added, young, old = values
    return SeenSet(size, b64decode(young), b64decode(old), added)


def _text(raw: bytes) -> str:
    return b64encode(raw).decode()
