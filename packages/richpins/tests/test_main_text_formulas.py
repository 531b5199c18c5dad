"""Formulas in MathML stay in their line; plain text has their symbols once, without the TeX."""

from __future__ import annotations

import pytest

from richpins.document import parse
from richpins.main_text import MARKDOWN, TEXT, find

pytest.importorskip("trafilatura")

FIRST = "Leeks are planted in spring and harvested from late summer on, in most of the country."
LAST = "Whoever waits until the first frost gets the mildest taste, say the growers of the valley."
SIGNS = {
    "row": "<mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow>",
    "power": "<msup><mi>a</mi><mn>2</mn></msup><mo>+</mo><mi>b</mi>",
    "fraction": "<mfrac><mrow><mi>a</mi></mrow><mrow><mi>b</mi></mrow></mfrac>",
    "table": "<mtable><mtr><mtd><mi>a</mi></mtd><mtd><mi>b</mi></mtd></mtr></mtable>",
}
SOURCE = '<annotation encoding="application/x-tex">{\\displaystyle a+b}</annotation>'


def text_of(signs: str, form: str) -> str:
    formula = f"<math><semantics>{signs}{SOURCE}</semantics></math>"
    page = (
        f"<title>Leeks</title><article><h1>How to grow leeks</h1><p>{FIRST}</p><p>The sum is {formula} for"
        f" all leeks that were planted this year.</p><p>{LAST}</p></article>"
    )
    return find(parse(page.encode(), url="https://garden.example/leeks"), form)


@pytest.mark.parametrize("signs", SIGNS.values(), ids=SIGNS)
def test_plain_text_has_the_symbols_of_a_formula_without_its_tex(signs):
    line = next(each for each in text_of(signs, TEXT).splitlines() if each.startswith("The sum"))

    assert "displaystyle" not in line
    assert line.endswith("for all leeks that were planted this year.")
    assert line.index("a", len("The sum is")) < line.index("b")


@pytest.mark.parametrize("signs", SIGNS.values(), ids=SIGNS)
def test_formula_is_part_of_its_paragraph_in_markdown(signs):
    text = text_of(signs, MARKDOWN)
    paragraph = next(each for each in text.split("\n\n") if each.startswith("The sum"))

    assert paragraph.endswith("for all leeks that were planted this year.")
