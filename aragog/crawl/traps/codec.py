"""The stored form of a host's budgets: JSON in zlib, with a version. Pure."""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections import OrderedDict
from typing import Any

import orjson

from aragog.crawl.traps.host_budget import (
    JUDGED_BYTES,
    NAMED_BYTES,
    PAIRS_BYTES,
    SEEN_BYTES,
    HostBudget,
)
from aragog.crawl.traps.seen_set import SeenSet
from aragog.crawl.traps.template_budget import TemplateBudget
from aragog.crawl.traps.templates import PathWords

VERSION = 3
_NUMBERS = (
    "budget", "charged", "promises", "pending", "brought", "said", "steps", "nothing", "twins",
    "differ", "variants", "inner", "new_links", "old_links", "highest", "beyond", "row",
)  # fmt: skip
_SETS = {
    "seen": SEEN_BYTES, "pairs": PAIRS_BYTES, "judged": JUDGED_BYTES, "named": NAMED_BYTES,
    "grown": NAMED_BYTES, "relinked": JUDGED_BYTES,
}  # fmt: skip


def to_bytes(host: HostBudget) -> bytes:
    """Encode a host's budgets. The result has at most about 110 KB."""
    wire = {
        "v": VERSION,
        "words": host.words.words,
        "templates": [[name, *_of_template(one)] for name, one in host.templates.items()],
        "useful": host.useful,
        "spent": host.spent,
        "held": host.held,
        "left_out": host.left_out,
        "varied": host.varied,
        **{name: _of_set(getattr(host, name)) for name in _SETS},
        "pages": list(host.pages),
        "sketches": _text(b"".join(sketch.ljust(24, b"\0") for sketch in host.pages.values())),
        "bands": list(host.bands.items()),
    }
    return zlib.compress(orjson.dumps(wire), 1)


def from_bytes(blob: bytes) -> HostBudget | None:
    """Decode a host's budgets; None if another version wrote them."""
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
            varied=wire["varied"],
            **{name: _set(size, wire[name]) for name, size in _SETS.items()},
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
