"""Yields, times and headings of recipes in visible text, with real wordings."""

from __future__ import annotations

import pytest
from pins import pin

STEPS = "<h2>Method</h2><ol><li>Mix it all well in a bowl.</li><li>Bake it for a while.</li></ol>"


def recipe_of(markup, heading="Ingredients", language="en"):
    rows = "<ul><li>500 g flour</li><li>2 tsp salt</li></ul>"
    body = f"<html lang={language}><main><h1>Rolls</h1>{markup}<h2>{heading}</h2>{rows}{STEPS}"
    return pin(body).recipe


@pytest.mark.parametrize(
    ("heading", "made"),
    [
        ("Ingredients for 10 rolls:", "10 rolls"), ("Ingredients for about 12 muffins", "12 muffins"),
        ("Zutaten für 8 Stück", "8 stück"), ("Ingrédients pour 6 personnes", "6 servings"),
        ("Ingrediënten voor 4 personen", "4 servings"), ("Ingredients for the filling", None),
    ],
)  # fmt: skip
def test_yield_is_taken_from_the_ingredients_heading(heading, made):
    yields = recipe_of("", heading).yields

    assert (str(yields) if yields else None) == made


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("<p>The sauce makes 3 Tbsp.</p><p>Serves 4</p>", "4 servings"),
        ("<p>Serving: 1 cup</p><p>Serves 4</p>", "4 servings"),
        ("<p>Calories per portion 241</p><p>Yield: 12 rolls</p>", "12 rolls"),
        ("<p>1 portion: 590 kcal</p><p>4 portions</p>", "4 servings"),
        ("<p>Servings 590</p><p>For 4 people</p>", "4 servings"),
        ("<p>Serves 1</p>", "1 serving"), ("<p>Makes 20 rolls</p>", "20 rolls"),
    ],
)  # fmt: skip
def test_serving_size_is_not_the_yield(text, made):
    assert str(recipe_of(text).yields) == made


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("Zubereitungszeit 20 Min. Backzeit 40 Min.", (20, 40, 60)),
        ("Zubereitungszeit: 20 Min.", (None, None, 20)),
        ("Bereidingstijd 20 min Oventijd 40 min", (20, 40, 60)),
        ("Elkészítési idő: 60 perc Sütési idő: 20 perc", (60, 20, 80)),
        ("Gesamtzeit 70 Min. Backzeit 40 Min.", (None, 40, 70)),
        ("Vorbereitungszeit 10 Min. Zubereitungszeit 30 Min. Backzeit 20 Min.", (10, 20, 30)),
        ("Hands-on 20 min, cook time 40 min", (20, 40, 60)),
        ("Hands-on: 20 min", (20, None, None)),
    ],
)  # fmt: skip
def test_preparation_time_next_to_a_cooking_time_is_part_of_the_total(text, times):
    recipe = recipe_of(f"<p>{text}</p>")

    assert (recipe.prep_minutes, recipe.cook_minutes, recipe.total_minutes) == times


@pytest.mark.parametrize(
    ("heading", "language"),
    [
        ("Nodig:", "nl"), ("Dit heb je nodig", "nl"), ("Ihr braucht", "de"), ("Il vous faut", "fr"),
        ("Necesitas", "es"), ("Potrzebujesz:", "pl"), ("You will need", "en"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("markup", ["<h3>{}</h3>", "<p><b>{}</b></p>", "<strong>{}</strong>"])
def test_you_will_need_is_an_ingredients_heading(heading, language, markup):
    rows = "<ul><li>500 g flour</li><li>2 eggs, tsp</li></ul>"
    body = f"<html lang={language}><h1>Rolls</h1>{markup.format(heading)}{rows}{STEPS}"

    assert pin(body).recipe.ingredients == ("500 g flour", "2 eggs, tsp")


def test_dutch_page_with_nodig_as_its_only_ingredients_heading_is_read():
    rows = "<ul><li>500 g bloem</li><li>2 eieren</li></ul>"

    page = pin(f"<html lang=nl><h1>Broodjes</h1><p><b>Nodig:</b></p>{rows}{STEPS}")

    assert page.recipe.ingredients == ("500 g bloem", "2 eieren")


def test_lists_of_one_class_are_the_ingredients_of_one_recipe():
    lists = "".join(
        f"<div class=ingredients><ul><li>{n} g flour</li><li>{n} eggs</li></ul></div>"
        for n in (1, 2, 3)
    )

    assert len(pin(f"<h1>Rolls</h1><div>{lists}</div>{STEPS}").recipe.ingredients) == 6


def test_lists_under_equal_headings_belong_to_one_recipe_if_the_steps_do():
    parts = "".join(
        f"<h3>Ingredients</h3><ul><li>{n} g flour</li><li>{n} eggs</li></ul>" for n in (1, 2, 3)
    )

    assert len(pin(f"<h1>Rolls</h1>{parts}{STEPS}").recipe.ingredients) == 6
    assert len(pin(f"<h1>Rolls</h1>{parts}{STEPS}<p>Or</p>{STEPS}").recipe.ingredients) == 2


def test_heading_in_a_menu_is_ignored():
    menu = (
        "<nav><span>Method</span><ul><li>Soups and stews</li><li>Breads and rolls</li></ul></nav>"
    )

    assert recipe_of(menu).instructions[0] == "Mix it all well in a bowl."
