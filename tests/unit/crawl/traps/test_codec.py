import zlib

import orjson

from aragog.crawl.traps.codec import from_bytes, to_bytes
from aragog.crawl.traps.host_budget import HostBudget
from aragog.crawl.traps.page_weighing import judge
from aragog.crawl.traps.traits import traits_of_texts
from bench.traps.writer import Writer

SITE = "https://www.example.org"


def learned(count):
    budget = HostBudget()
    for n in range(count):
        text = Writer(str(n)).paragraph(9)
        links = [f"{SITE}/item/{n * 3 + step}?page={n}" for step in range(20)]
        judge(budget, f"{SITE}/item/{n}", traits_of_texts(text, text), links)
        for link in links:
            budget.verdict(link, {})
    return budget


def test_budgets_round_trip():
    budget = learned(30)

    again = from_bytes(to_bytes(budget))

    assert again is not None
    assert again.templates == budget.templates
    assert (again.pages, again.bands, again.useful) == (budget.pages, budget.bands, budget.useful)
    assert again.seen.young == budget.seen.young
    assert (again.varied, again.grown.young) == (budget.varied, budget.grown.young)
    assert again.words.words == budget.words.words


def test_host_of_any_size_takes_bounded_memory():
    assert len(to_bytes(learned(600))) < 110_000


def test_budgets_of_another_version_are_learned_again():
    wire = {**orjson.loads(zlib.decompress(to_bytes(learned(1)))), "v": 99}

    assert from_bytes(zlib.compress(orjson.dumps(wire))) is None
    assert from_bytes(b"not even that") is None
