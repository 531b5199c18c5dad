"""Results do not depend on the hash seed of the process, which orders its sets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("trafilatura")

_HERE = Path(__file__).parent
_SEEDS = ("1", "4242")
_EVERY = 8
"""Only one page in this many is read, since pages of one kind are alike."""
_SCRIPT = """
import json, re, sys
import richpins
for url, html in json.load(sys.stdin):
    page = richpins.read(html.encode(), url=url, content_type="text/html; charset=utf-8")
    found = [
        url, page.type, page.fields, page.provenance, page.pin.conflicts, page.pin.dropped,
        page.problems, page.links, page.canonical(), page.sketch, page.fingerprint, page.text,
        page.markdown,
    ]
    print("\\n".join(re.sub(r" at 0x[0-9a-f]+", "", repr(each)) for each in found))
"""
ARTICLE = """
<html lang=en><head><title>Leeks grow again | The Garden Post</title><meta name=author content="Ada Voss, Ben Ito">
<meta name=description content="Leeks that were cut last spring grow again in the gardens of the valley.">
<meta name=keywords content="leeks, gardens, spring"><meta property=og:image content=/large.jpg></head><body>
<nav><a href=/>Home</a><a href=/garden>Garden</a></nav><article><h1>Leeks grow again</h1>
<p class=byline>By <a href=/authors/ada-voss>Ada Voss</a> and <a href=/authors/cy-lund>Cy Lund</a></p>
<time datetime=2024-05-01>1 May 2024</time><p>Leeks that were cut last spring grow again in the gardens of the
valley, and nobody expected it.</p><figure><img src=/a.jpg alt="Leeks"><figcaption>Leeks in the valley</figcaption>
</figure><h2>Why they do</h2><p>Roots that stay in the ground keep what they need, says a gardener who has seen it
before, and the rain of March did the rest for most of them.</p><ul><li>Water them <b>twice</b> a week.</li><li>Cut
them above the <a href=/soil>soil</a>.</li></ul><table><tr><th>Month</th><th>Leeks</th></tr><tr><td>May</td><td>12
</td></tr><tr><td>June</td><td>40</td></tr></table><p>By June the rows are as full as they were a year ago, and the
market of the town has them every Saturday until the frost comes.</p></article><footer>© The Garden Post</footer>
"""
CARDS = """
<html lang=en><title>Pots</title><h1>Pots of the year</h1><div itemscope itemtype=https://schema.org/Product>
<span itemprop=name>Iron pot</span><meta itemprop=gtin content=4006381333931><span itemprop=brand>Acme</span>
<div itemprop=offers itemscope itemtype=https://schema.org/Offer><span itemprop=price>20</span><meta
itemprop=priceCurrency content=EUR></div><div itemprop=offers itemscope itemtype=https://schema.org/Offer><span
itemprop=price>25</span><meta itemprop=priceCurrency content=EUR></div></div><script type=application/ld+json>
[{"@type":"Product","name":"Iron pot","category":["Pots","Kitchen"],"color":["red","blue"],"offers":{"price":"21",
"priceCurrency":"EUR","availability":"InStock"}},{"@type":"Person","name":"Ada"},{"@type":"Event","name":"Fair"}]
</script><a href=/x>One</a><a href=/y rel=nofollow>Two</a><a href=/x rel=ugc>Three</a>
"""


def _pages() -> list[tuple[str, str]]:
    known = tomllib.loads((_HERE / "known_kinds.toml").read_text(encoding="utf-8"))["case"]
    return [
        ("https://post.example/2024/leeks", ARTICLE),
        ("https://shop.example/pots", CARDS),
        *(
            (
                f"https://{path.stem.replace('_', '-')}.example/page",
                path.read_text(encoding="utf-8"),
            )
            for path in sorted((_HERE / "html").glob("*.html"))
        ),
        *(
            (case.get("url", "https://www.example.com/page"), case["html"])
            for case in known[::_EVERY]
        ),
    ]


def _read(seed: str) -> list[str]:
    """The results of a process with the given hash seed, as lines."""
    run = subprocess.run(
        [sys.executable, "-c", _SCRIPT],
        input=json.dumps(_pages()),
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    )
    return run.stdout.splitlines()


def test_results_are_equal_under_all_hash_seeds():
    first, other = map(_read, _SEEDS)

    assert [line for line in first if "Leeks that were cut last spring" in line] != []
    assert [pair for pair in zip(first, other, strict=True) if pair[0] != pair[1]] == []
