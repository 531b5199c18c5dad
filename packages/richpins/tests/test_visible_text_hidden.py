"""Hidden content is not part of the title, the ingredients or the steps."""

import pytest
from pins import pin


def test_style_of_a_heading_is_not_a_title():
    page = pin("<h1><style>.a{margin:1px}</style><span class=a>Leek soup</span></h1>")

    assert page.title == "Leek soup"


def test_blocks_of_a_heading_are_separate_words():
    assert pin("<h1><div>Leek</div><div>soup</div></h1>").title == "Leek soup"


def test_unit_switch_and_noscript_are_not_ingredients():
    recipe = pin(
        "<title>Soup</title><h2>Ingredients</h2><div>Units Scale</div><ul><li>2 leeks"
        "<noscript><img src=/a.jpg></noscript></li><li>1 pinch of salt</li></ul>"
        "<h2>Method</h2><ol><li>Stir it well.</li></ol>"
    ).recipe

    assert recipe.ingredients == ("2 leeks", "1 pinch of salt")


SCRIPT = "<script>Track User Name</script><style>.a{b:1}</style>"


@pytest.mark.parametrize(
    "byline",
    [
        f"<p class=byline>By {SCRIPT}<a href=/anna>Anna Leek</a></p>",
        f"<p class=byline>{SCRIPT}By<br>Anna Leek<br>Garden editor</p>",
        f"<a rel=author href=/anna>Anna Leek<noscript>Jane Pixel</noscript></a>{SCRIPT}",
        f"<div class=author>{SCRIPT}<span>Anna Leek</span></div>",
        f"<div class=author><span>Anna Leek</span><script>{'x = 1;' * 800}</script></div>",
    ],
)
def test_script_inside_a_byline_is_not_a_name(byline):
    page = pin(f"<title>Leeks</title><h1>Leeks</h1>{byline}<p>They grow in winter, too.</p>")

    assert page.authors == ("Anna Leek",)


@pytest.mark.parametrize("tag", ["time", "span class=post-date"])
def test_script_inside_a_date_is_not_part_of_it(tag):
    page = pin(
        f"<h2>Leeks</h2><{tag}><script>d('2001-01-01')</script>4 March 2024</{tag.split()[0]}>"
    )

    assert page.published_at is not None
    assert page.published_at.isoformat().startswith("2024-03-04")


def test_times_and_servings_in_a_script_are_ignored():
    recipe = pin(
        "<title>Soup</title><main><script>say('Prep time: 99 min, Cook time: 88 min')</script>"
        "<span class=servings>4<script>var n = 12</script></span><h2>Ingredients</h2><ul><li>2 leeks"
        "<li>1 pinch of salt</ul><h2>Method</h2><ol><li>Stir it well.</ol>"
        "<p>Prep time: 10 min <p>Cook time: 20 min</main>"
    ).recipe

    assert (recipe.prep_minutes, recipe.cook_minutes) == (10, 20)
    assert str(recipe.yields) == "4 servings"


def test_words_around_a_script_are_not_a_label_and_its_value():
    recipe = pin(
        "<title>Sopa</title><main><p>2 personas<script>ad()</script><ul><li>4 puerros<li>1 l de agua</ul>"
        "<h2>Ingredientes</h2><ul><li>4 puerros<li>1 pizca de sal</ul><h2>Preparación</h2><ol>"
        "<li>Cortar los puerros en rodajas.<li>Cocer.</ol></main>"
    ).recipe

    assert str(recipe.yields) == "2 servings"
