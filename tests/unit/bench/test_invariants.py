"""Invariants without labels: each detects a planted fault and holds for the project's own pages."""

import json
from dataclasses import replace

import pytest

from bench.invariants import Finding, recipe_checks, text_checks
from bench.invariants.__main__ import differences, findings_of, pages_in, run, select_tasks
from bench.invariants.own_pages import write
from bench.invariants.page_oracle import PageOracle
from bench.invariants.reading import read
from bench.invariants.transformations import TRANSFORMATIONS

URL = "https://docs.example/guide/leeks.html"
PERSIAN = "می‌خواهم تره‌فرنگی را در باغچه بکارم و آن‌ها را هر روز آب بدهم."
PAGE = f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Leeks — Guide</title></head>
<body><nav><a href="/">Start</a></nav><main><article>
<h1 id="top">Leeks<a class="headerlink" href="#top">¶</a></h1>
<p>Leeks are planted in spring; see <a href="frost.html#may">the frost table</a> before you begin.</p>
<h2>The harvest &lt;b&gt;</h2><p>Whoever waits until the first frost gets the mildest taste of all.</p>
<p>{PERSIAN}</p><figure><img src="/i/leek.jpg" alt="A leek"></figure>
<ul><li>Wash the leeks under cold water.</li><li>Cut the leeks into thin rings.</li></ul>
<table><tr><th>Month of the year</th><th>Work</th></tr><tr><td>May or early June</td><td>plant them all</td></tr></table>
<pre>def harvest(leeks):
    return sorted(leeks)</pre></article></main></body></html>"""


@pytest.fixture(scope="module")
def page():
    return PageOracle(PAGE, URL)


@pytest.fixture(scope="module")
def reading():
    return read(PAGE.encode(), URL)


def violated(page, reading):
    return {each.invariant for each in text_checks.findings(page, reading) if each.detail}


def test_complete_page_has_a_finding_per_invariant_and_no_violation(page, reading):
    found = text_checks.findings(page, reading)

    assert {each.invariant for each in found} == set(FAULTS)
    assert violated(page, reading) == set()


FAULTS = {
    text_checks.LINKS: ("guide/frost.html#may", "frost.html#may"),
    text_checks.SCHEMES: ("https://docs.example/guide/frost.html#may", "mailto:a@b.example"),
    text_checks.IMAGES: ("/i/leek.jpg", "/i/leak.jpg"),
    text_checks.SAFE: (r"\<b>", "<b>"),
    text_checks.MARKDOWN_ORDER: ("Wash the leeks", "the leeks Wash"),
    text_checks.HEADINGS: ("## The", "The"),
    text_checks.LISTS: ("- Wash", "Wash"),
    text_checks.TABLES: (
        "| May or early June | plant them all |",
        "May or early June plant them all",
    ),
    text_checks.CODE: ("    return", "return"),
    text_checks.JOINERS: ("\u200c", ""),
    text_checks.PERMALINK_SIGN: ("# Leeks", "# Leeks¶"),
    text_checks.TEXT_ORDER: None,
    text_checks.TEXT_WORDS: None,
    text_checks.TITLE: None,
}
"""The text to replace in the Markdown, and its replacement; None where another part is changed."""


@pytest.mark.parametrize("invariant", [name for name, fault in FAULTS.items() if fault])
def test_planted_fault_violates_a_markdown_invariant(page, reading, invariant):
    before, after = FAULTS[invariant]
    assert before in reading.markdown

    faulty = replace(reading, markdown=reading.markdown.replace(before, after))

    assert invariant in violated(page, faulty)


@pytest.mark.parametrize(
    ("invariant", "changes"),
    [
        (text_checks.TEXT_ORDER, {"text": "the mildest taste of all. Leeks are planted in spring"}),
        (text_checks.TEXT_WORDS, {"text": "Leeks are planted in springsee"}),
        (text_checks.TITLE, {"title": "Sponsored"}),
        (text_checks.PERMALINK_SIGN, {"title": "Leeks ¶"}),
        (text_checks.TEXT_WORDS, {"text": '{"advertisement": {"slot": 7}}'}),
    ],
)
def test_planted_fault_violates_an_invariant_of_text_or_title(page, reading, invariant, changes):
    assert invariant in violated(page, replace(reading, **changes))


def test_invariant_is_not_counted_on_a_page_without_its_element():
    body = "<html><body><p>Leeks are planted in spring, in most of the country.</p></body></html>"

    found = {
        each.invariant
        for each in text_checks.findings(PageOracle(body, URL), read(body.encode(), URL))
    }

    assert not found & {
        text_checks.LINKS, text_checks.IMAGES, text_checks.LISTS, text_checks.TABLES, text_checks.CODE,
        text_checks.HEADINGS, text_checks.JOINERS, text_checks.PERMALINK_SIGN,
    }  # fmt: skip


RECIPE = b"""<title>Leek soup</title><script type="application/ld+json">{"@type": "Recipe", "name": "Leek soup",
"recipeIngredient": ["2 leeks", "1 l of &quot;hot&quot; stock", "20 g butter"], "recipeInstructions": [
{"@type": "HowToStep", "text": "Cut the leeks into rings and fry them in the butter.", "name": "Fry"},
{"@type": "HowToStep", "text": "Add the stock and simmer for a quarter of an hour."}]}</script>"""


def violated_of_recipe(reading):
    found = recipe_checks.findings(PageOracle(RECIPE.decode(), URL), reading)
    return {each.invariant for each in found if each.detail}


@pytest.fixture(scope="module")
def recipe():
    return read(RECIPE, URL)


def test_ingredients_and_steps_of_a_recipe_are_those_of_the_page(recipe):
    found = recipe_checks.findings(PageOracle(RECIPE.decode(), URL), recipe)

    assert [each.invariant for each in found] == [
        recipe_checks.INGREDIENTS, recipe_checks.STEPS, recipe_checks.WHOLE_INGREDIENT,
    ]  # fmt: skip
    assert violated_of_recipe(recipe) == set()


@pytest.mark.parametrize(
    ("invariant", "field", "fault"),
    [
        (recipe_checks.INGREDIENTS, "recipe.ingredients", lambda items: items[::-1]),
        (recipe_checks.INGREDIENTS, "recipe.ingredients", lambda items: [*items, "1 advertisement"]),
        (recipe_checks.STEPS, "recipe.instructions", lambda items: items[::-1]),
        (recipe_checks.STEPS, "recipe.instructions", lambda items: [i + " <img src=a>" for i in items]),
        (recipe_checks.WHOLE_INGREDIENT, "recipe.ingredients", lambda items: ["2 butter", *items]),
    ],
)  # fmt: skip
def test_planted_fault_violates_a_recipe_invariant(recipe, invariant, field, fault):
    items = fault(json.loads(recipe.fields[field]))

    faulty = replace(recipe, fields={**recipe.fields, field: json.dumps(items).encode()})

    assert invariant in violated_of_recipe(faulty)


def test_recipe_invariants_are_not_counted_on_a_page_without_a_recipe(page, reading):
    assert not list(recipe_checks.findings(page, reading))


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_transformation_changes_the_markup_but_not_the_result(name, reading):
    variant = TRANSFORMATIONS[name](PAGE, URL)

    assert (variant.body, variant.url) != (PAGE.encode(), URL)
    after = read(variant.body, variant.url, variant.content_type)
    assert differences(reading, after, {URL, variant.url}) == ""


@pytest.mark.parametrize(
    ("part", "changes"),
    [("title", {"title": "x"}), ("text", {"text": "x"}), ("markdown", {"markdown": "x"}),
     ("links", {"links": ("https://x.example/",)}), ("page.language", {"fields": {"page.language": b"1"}})],
)  # fmt: skip
def test_difference_after_a_transformation_is_named(reading, part, changes):
    assert part in differences(reading, replace(reading, **changes), set())


def test_invariants_hold_for_the_documentation_of_the_project(tmp_path):
    write(tmp_path, limit=8)
    tasks = select_tasks([tmp_path], transform_every=3, limit=None)

    counts = run(tasks, workers=1)

    assert counts[text_checks.LINKS].pages >= 5
    assert counts[text_checks.PERMALINK_SIGN].pages >= 5
    assert {name for name, _ in TRANSFORMATIONS.items()} <= set(counts)
    assert {name: each.examples for name, each in counts.items() if each.violated} == {}


def test_pages_listed_in_a_file_have_its_urls(tmp_path):
    (tmp_path / "a.html").write_text("<p>a</p>")
    (tmp_path / "b.html").write_text("<p>b</p>")
    (tmp_path / "pages.jsonl").write_text('{"file": "a.html", "url": "https://a.example/"}\n')

    assert list(pages_in(tmp_path)) == [(tmp_path / "a.html", "https://a.example/")]


def test_additional_check_runs_with_the_others():
    def check(body, url):
        return [Finding("a price is in the page", f"{len(body)} {url}")]

    assert Finding("a price is in the page", f"6 {URL}") in findings_of(
        b"<p>1 a", URL, False, (check,)
    )


def test_findings_of_a_page_include_its_transformations():
    found = findings_of(PAGE.encode(), URL, has_variants=True)

    assert Finding("a base element") in found
