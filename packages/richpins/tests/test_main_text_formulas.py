"""Formulas in MathML stay in their line: as symbols in plain text, as TeX in Markdown."""

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
LINES = {
    "power": ("<msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><mn>1</mn>", "x^2+1"),
    "long power": ("<msup><mi>x</mi><mrow><mi>n</mi><mo>+</mo><mn>1</mn></mrow></msup>", "x^(n+1)"),
    "index": ("<msub><mi>x</mi><mn>1</mn></msub>", "x_1"),
    "prime": ("<msup><mi>f</mi><mo>′</mo></msup>", "f′"),
    "fraction": (
        "<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac>", "(a+b)/2",
    ),
    "root": ("<msqrt><mi>x</mi></msqrt>", "√x"),
    "cube root": ("<mroot><mi>x</mi><mn>3</mn></mroot>", "x^(1/3)"),
    "sum": (
        "<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover>",
        "∑_(i=1)^n",
    ),
    "text": ("<mi>A</mi><mspace width='1em'/><mo>⟺</mo><mtext>even</mtext>", "A ⟺ even"),
    "product": ("<mi>m</mi><mo>\u2062</mo><mi>c</mi>", "mc"),
    "matrix": (
        "<mtable><mtr><mtd>1</mtd><mtd>2</mtd></mtr><mtr><mtd>3</mtd><mtd>4</mtd></mtr></mtable>",
        "1, 2; 3, 4",
    ),
}  # fmt: skip
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


@pytest.mark.parametrize(("signs", "line"), LINES.values(), ids=LINES)
def test_formula_is_written_on_a_line_with_its_powers_indices_and_fractions(signs, line):
    assert f"The sum is {line} for all" in text_of(signs, TEXT)


def test_formula_in_markdown_is_its_tex_once():
    assert "The sum is $a+b$ for all" in text_of("<msup><mi>a</mi><mi>b</mi></msup>", MARKDOWN)


def page_with(formula: str, form: str) -> str:
    page = (
        f"<title>Leeks</title><article><h1>How to grow leeks</h1><p>{FIRST}</p><p>The sum is {formula} for"
        f" all leeks that were planted this year.</p><p>{LAST}</p></article>"
    )
    return find(parse(page.encode(), url="https://garden.example/leeks"), form)


WIKIPEDIA = (
    '<span class="mwe-math-element"><span class="mwe-math-mathml-inline" style="display: none;">'
    '<math alttext="{\\displaystyle E=mc^{2}}"><semantics><mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi>'
    '<mn>2</mn></msup><annotation encoding="application/x-tex">{\\displaystyle E=mc^{2}}</annotation>'
    '</semantics></math></span><img src="/svg/9f" class="mwe-math-fallback-image-inline"'
    ' aria-hidden="true" alt="{\\displaystyle E=mc^{2}}"></span>'
)
MATHJAX = (
    '<mjx-container class="MathJax"><mjx-math><mjx-mi></mjx-mi></mjx-math><mjx-assistive-mml>'
    "<math><msup><mi>x</mi><mn>2</mn></msup></math></mjx-assistive-mml></mjx-container>"
)


@pytest.mark.parametrize(
    ("formula", "form", "line"),
    [
        (WIKIPEDIA, TEXT, "E=mc^2"),
        (WIKIPEDIA, MARKDOWN, "$E=mc^{2}$"),
        (MATHJAX, TEXT, "x^2"),
        (MATHJAX, MARKDOWN, "x^2"),
        ('<script type="math/tex">x < y</script>', TEXT, "x < y"),
        ('<script type="math/tex">x < y</script>', MARKDOWN, r"$x \lt y$"),
    ],
)
def test_formula_with_a_picture_or_script_is_written_once(formula, form, line):
    assert f"The sum is {line} for all" in page_with(formula, form)


def test_deeply_nested_formula_is_written():
    assert "The sum is x for all" in page_with(f"<math>{'<mrow>' * 500}<mi>x</mi></math>", TEXT)
