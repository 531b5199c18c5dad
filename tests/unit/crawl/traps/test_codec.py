import zlib
from base64 import b64encode

import orjson
import pytest

from aragog.crawl.traps.codec import from_bytes, to_bytes
from aragog.crawl.traps.host_budget import HostBudget
from aragog.crawl.traps.page_weighing import judge
from aragog.crawl.traps.seen_set import SeenSet
from aragog.crawl.traps.template_states import closed_templates
from aragog.crawl.traps.templates import hash_of
from aragog.crawl.traps.traits import traits_of_texts
from bench.traps.writer import Writer

SITE = "https://www.example.org"


def learned(count):
    budget = HostBudget()
    for n in range(count):
        text = Writer(str(n)).paragraph(9)
        links = [f"{SITE}/item/{n * 3 + step}?page={n}" for step in range(20)]
        judge(
            budget,
            f"{SITE}/item/{n}",
            traits_of_texts(text, text),
            [(url, "More") for url in links],
        )
        for link in links:
            budget.verdict(link, {})
    return budget


def test_budgets_round_trip():
    budget = learned(30)

    again = from_bytes(to_bytes(budget))

    assert again is not None
    assert again.records == budget.records
    assert (again.pages, again.bands, again.useful) == (budget.pages, budget.bands, budget.useful)
    assert again.seen.young == budget.seen.young
    assert (again.on_trial, again.doubtful) == (budget.on_trial, budget.doubtful)
    assert again.origins.chains == budget.origins.chains
    assert (again.pairs.counts, again.links.counts) == (budget.pairs.counts, budget.links.counts)
    assert (again.ends.known, again.meaningless) == (budget.ends.known, budget.meaningless)
    assert again.words.words == budget.words.words
    assert again.verdict(f"{SITE}/item/8", {}) is budget.verdict(f"{SITE}/item/8", {})


def test_host_of_any_size_takes_bounded_memory():
    assert len(to_bytes(learned(1_200))) < 300_000


def test_budgets_of_another_version_are_learned_again():
    wire = {**orjson.loads(zlib.decompress(to_bytes(learned(1)))), "v": 99}

    assert from_bytes(zlib.compress(orjson.dumps(wire))) is None
    assert from_bytes(b"not even that") is None


@pytest.mark.parametrize("version", [4, 5])
def test_what_earlier_versions_learned_is_taken_over(version):
    budget = learned(9)
    wire = orjson.loads(zlib.decompress(to_bytes(budget)))
    flaws = wire["records"][0].index([0, 0, 0, 0, 0, 0])
    for one in wire["records"]:
        if version == 4:
            one[flaws] = one[flaws][:-1]
        del one[flaws - 1]

    again = from_bytes(zlib.compress(orjson.dumps({**wire, "v": version})))

    assert again is not None
    assert again.records == budget.records


def test_what_version_3_learned_is_taken_over():
    seen = SeenSet(1_024)
    seen.add((hash_of(f"{SITE}/item/8"),))
    some = [seen.added, b64encode(bytes(seen.young)).decode(), ""]
    page = [8.0, 0, 0, 2, 12, 9, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    session = [0, 0, 0, 0, 0, 0, 9, 5, 5, 0, 0, 0, 0, 0, 0, 0, 5]
    wire = {
        "v": 3, "words": {"": ["item"]}, "useful": 12, "spent": 2.5, "held": 7, "left_out": 4,
        "templates": [["/item/{n}", *page], ["?session=", *session]], "seen": some, "judged": some,
    }  # fmt: skip

    budget = from_bytes(zlib.compress(orjson.dumps(wire)))

    assert budget is not None
    assert (budget.useful, budget.spent, budget.held, budget.left_out) == (12, 2.5, 7, 4)
    assert (budget.records["/item/{n}"].brought, budget.records["/item/{n}"].pending) == (12, 2)
    assert budget.was_followed(f"{SITE}/item/8")
    assert not budget.was_followed(f"{SITE}/item/9")
    assert "?session=" in closed_templates(budget)
    assert from_bytes(to_bytes(budget)).records == budget.records
