"""Encodes a host's budget for Redis: versioned JSON, compressed with zlib. Pure (no I/O)."""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections import OrderedDict
from typing import Any

import orjson

from aragog.crawl.traps.host_budget import (
    JUDGED_BYTES,
    LINKS_OF_FRAME,
    MAX_LINKS,
    SEEN_BYTES,
    HostBudget,
)
from aragog.crawl.traps.link_origins import LinkOrigins
from aragog.crawl.traps.old_codec import VERSION_3, host_of_version_3
from aragog.crawl.traps.pair_sample import MAX_PAIRS, PAGES_OF_FRAME, PairSample
from aragog.crawl.traps.seen_set import SeenSet
from aragog.crawl.traps.series_ends import SeriesEnds
from aragog.crawl.traps.template_record import TemplateRecord
from aragog.crawl.traps.templates import PathWords
from aragog.crawl.traps.traits import SKETCH_BYTES

VERSION, VERSION_5, VERSION_4 = 6, 5, 4
_OF_HOST = ("useful", "spent", "promised", "pending", "usual_news", "news", "held", "left_out")
_OF_RECORD = (
    "good", "bad", "grown", "text", "pending", "brought", "said", "steps", "nothing", "promises",
    "twins", "differ",
    "repeated", "named", "inner", "new_links", "old_links", "variants", "flaws", "anchors",
)  # fmt: skip
_SETS = {
    "seen": SEEN_BYTES, "covered": JUDGED_BYTES, "linked": SEEN_BYTES, "judged": JUDGED_BYTES,
    "relinked": JUDGED_BYTES, "listed": SEEN_BYTES, "lists": JUDGED_BYTES,
    "rich": JUDGED_BYTES,
}  # fmt: skip
_PAGE_BYTES = SKETCH_BYTES + 4


def to_bytes(host: HostBudget) -> bytes:
    """Encode a host's budget. The result takes at most about 300 KB."""
    wire = {
        "v": VERSION,
        "words": host.words.words,
        "records": [[name, *_of_record(one)] for name, one in host.records.items()],
        **{name: getattr(host, name) for name in _OF_HOST},
        "meaningless": list(host.meaningless),
        "on_trial": list(host.on_trial),
        "doubtful": list(host.doubtful.items()),
        **{name: _of_set(getattr(host, name)) for name in _SETS},
        "ends": [[series, *found] for series, found in host.ends.known.items()],
        "origins": [[link, chain.hex()] for link, chain in host.origins.chains.items()],
        "pairs": _of_sample(host.pairs),
        "links": _of_sample(host.links),
        "pages": list(host.pages),
        "sketches": _text(b"".join(host.pages.values())),
        "bands": list(host.bands.items()),
    }
    return zlib.compress(orjson.dumps(wire), 1)


def from_bytes(blob: bytes) -> HostBudget | None:
    """Decode a host's budget. Returns None unless its version is 3, 4, 5 or the current one."""
    try:
        wire = orjson.loads(zlib.decompress(blob))
        if wire["v"] == VERSION_3:
            return host_of_version_3(wire)
        if wire["v"] in {VERSION_4, VERSION_5}:
            _complete(wire)
        return _host(wire) if wire["v"] in {VERSION, VERSION_5, VERSION_4} else None
    except (zlib.error, ValueError, KeyError, TypeError):
        return None


def _complete(wire: dict[str, Any]) -> None:
    """Add what versions 4 and 5 did not count."""
    place = 1 + _OF_RECORD.index("variants")
    for one in wire["records"]:
        one.insert(place, 0)
        if wire["v"] == VERSION_4:
            one[place + 1] = [*one[place + 1], 0]


def _host(wire: dict[str, Any]) -> HostBudget:
    sketches = b64decode(wire["sketches"])
    plain: dict[str, Any] = {name: wire[name] for name in _OF_HOST}
    sets: dict[str, Any] = {name: _set(size, wire[name]) for name, size in _SETS.items()}
    return HostBudget(
        words=PathWords(wire["words"]),
        records=OrderedDict((name, _record(rest)) for name, *rest in wire["records"]),
        **plain,
        **sets,
        meaningless=set(wire["meaningless"]),
        on_trial=OrderedDict.fromkeys(wire["on_trial"]),
        doubtful=OrderedDict((link, kind) for link, kind in wire["doubtful"]),
        ends=SeriesEnds((series, (best, end, n)) for series, best, end, n in wire["ends"]),
        origins=LinkOrigins((link, bytes.fromhex(chain)) for link, chain in wire["origins"]),
        pairs=_sample(wire["pairs"], PAGES_OF_FRAME, MAX_PAIRS),
        links=_sample(wire["links"], LINKS_OF_FRAME, MAX_LINKS),
        pages=OrderedDict(
            (place, sketches[_PAGE_BYTES * at : _PAGE_BYTES * (at + 1)])
            for at, place in enumerate(wire["pages"])
        ),
        bands=OrderedDict((band, place) for band, place in wire["bands"]),
    )


def _of_record(one: TemplateRecord) -> list[Any]:
    return [*(getattr(one, name) for name in _OF_RECORD), *map(_text, one.last)]


def _record(values: list[Any]) -> TemplateRecord:
    numbers = dict(zip(_OF_RECORD, values, strict=False))
    return TemplateRecord(**numbers, last=tuple(map(b64decode, values[len(_OF_RECORD) :])))


def _of_set(seen: SeenSet) -> list[Any]:
    return [seen.added, _text(bytes(seen.young)), _text(seen.old)]


def _set(size: int, values: list[Any]) -> SeenSet:
    added, young, old = values
    known = b64decode(young)
    return SeenSet(len(known) or size, known, b64decode(old), added)  # in version 3, sizes differed


def _of_sample(sample: PairSample) -> list[Any]:
    return [sample.limit, sample.pages, _text(sample.codes), _text(bytes(sample.counts.values()))]


def _sample(values: list[Any], share: int, most: int) -> PairSample:
    limit, pages, codes, counts = values
    return PairSample(limit, pages, b64decode(codes), b64decode(counts), share, most)


def _text(raw: bytes) -> str:
    return b64encode(raw).decode()
