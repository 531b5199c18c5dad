"""
Fuzz page reading: `one_input` takes any bytes and must not raise.

    python -m tests.fuzz.fuzz_pages [inputs]     number of mutations

If atheris is installed, fuzzing is coverage-guided and takes libFuzzer's arguments.
"""

from __future__ import annotations

import random

from richpins import canonical_evidence, document, extraction, links, rich_pins
from tests.fuzz.engine import edited, fuzz

SEEDS = (
    b"<html lang=en><meta charset=utf-8><base href=/b/><link rel=canonical href=/c><title>T</title>",
    b"<meta http-equiv=refresh content='1; url=x'><meta name=robots content=nofollow>",
    b"""<script type="application/ld+json">{"@context":"https://schema.org","@graph":[{"@type":
    "Recipe","@id":"#r","name":"N","recipeYield":"4 bowls","totalTime":"PT1H","image":["/a"],
    "recipeInstructions":[{"@type":"HowToStep","text":"Stir."}],"offers":{"price":"1,00"}}]}
    </script>""",
    b"""<div itemscope itemtype=http://schema.org/Product itemref=x><b itemprop=name>N</b>
    <p itemprop=offers itemscope><i itemprop=price>1.299,00</i></p></div><i id=x itemprop=sku>""",
    b'<body vocab="http://schema.org/"><div typeof="Place"><b property="name">N</b></div>',
    b"<meta property=og:title content=T><meta property=og:image content=//i.test/a-100x200.jpg>",
    b"<h2>Ingredients</h2><ul><li>salt<li>water</ul><h2>Method</h2><ol><li>Stir.<li>Wait.</ol>",
    b"<a href='../x?b=1&a=2#f' rel='nofollow ugc'>t</a><table><b><p><svg><title>",
)
URL = "https://a.test/dir/page"
HEADERS = (None, "text/html", "text/html; charset=utf-8", "text/html; charset=shift_jis")


def one_input(data: bytes) -> document.Document:
    """The first byte selects the headers; the rest is the page. Returns the page."""
    header = HEADERS[data[0] % len(HEADERS)] if data else None
    page = document.parse(data[1:], url=URL, content_type=header)
    links.extract(page)
    canonical_evidence.collect(page, url=URL, final_url=URL)
    canonical_evidence.meta_refresh(data.decode("latin-1"))
    pin = extraction.extract_from(page)
    fields, provenance = rich_pins.to_fields(pin)
    if not provenance.keys() <= fields.keys():
        raise AssertionError(provenance.keys() - fields.keys())
    return page


def mutations(seed: int, count: int) -> list[bytes]:
    """`count` inputs made from the seeds, each preceded by a byte that selects the headers."""
    rng = random.Random(seed)
    return [rng.randbytes(1) + edited(rng, SEEDS, SEEDS) for _ in range(count)]


PIECES = (
    b"""<div> </div> <p> </p> <b> </b> <b_x%d> <i_id=%d> <a_href=/%d> </a> <object> </object>
    <table> <tr> <td> </td> </table> <template> </template> <svg> <path/> </svg> <math> <mi>
    <ul> <li> </ul> <span> </span> <select> <option> <button> </button> <form> <h1> </h1>
    <div_class=ingredient> <div_itemscope> <i_itemprop=name> <p_property=og:x> <!-- --> <script>
    </script> <style> <title> <nobr> <font_color=%d> </font> x 1_cup_ & &amp; " ' < > =
    <meta_http-equiv=refresh_content=0> <p_class=author> <time> <img_src=%d> <h2>Ingredients</h2>
    <script_type=application/ld+json>{ {"a":[ <textarea> <iframe> <noscript> <frameset>"""
).split()


def grown(seed: int, count: int, max_bytes: int = 200_000) -> list[bytes]:
    """`count` pages that repeat a few pieces of markup very often, with different numbers."""
    rng = random.Random(seed)
    growing = []
    for _ in range(count):
        unit = b"".join(rng.choices(PIECES, k=rng.randint(1, 5))).replace(b"_", b" ")
        front = b"".join(rng.choices(PIECES, k=rng.randint(0, 3))).replace(b"_", b" ")
        times = max_bytes // (len(unit) + 2)
        numbers = unit.count(b"%d")
        body = b"".join(unit % ((n,) * numbers) if numbers else unit for n in range(times))
        growing.append(b"\1" + front.replace(b"%d", b"0") + body)
    return growing


if __name__ == "__main__":
    fuzz(one_input, mutations)
