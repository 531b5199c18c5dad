"""Recipes shown without markup, and facts missing from the markup."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pins import pin, recipe_ld

from richpins.visible_text import captions

LISTS = (
    "<h2>Ingredients:</h2><ul><li>2 leeks</li><li>salt</li></ul><h2>Method</h2><p>Stir it well.</p>"
)


def test_lists_under_their_headings_make_a_recipe():
    rich_pin = pin(f"<title>Soup</title>{LISTS}<h2>Comments</h2><ul><li>Nice</li></ul>")

    assert rich_pin.type == "recipe"
    assert rich_pin.recipe.ingredients == ("2 leeks", "salt")
    assert rich_pin.recipe.instructions == ("Stir it well.",)
    assert rich_pin.provenance["recipe.ingredients"].position == "at 'Ingredients:'"


@pytest.mark.parametrize(
    ("ingredients", "steps"),
    [
        ("Zutaten für 4 Personen", "Zubereitung"),
        ("Ingrédients", "Préparation"),
        ("Ingredienti", "Procedimento"),
        ("Ingrediënten", "Bereiding"),
        ("Składniki", "Sposób przygotowania"),
        ("Ингредиенты", "Приготовление"),
        ("材料", "作り方"),
    ],
)
def test_headings_are_recognized_in_many_languages(ingredients, steps):
    rich_pin = pin(
        f"<h3>{ingredients}</h3><ul><li>a 1</li><li>b 2</li></ul><h3>{steps}</h3><ol><li>Wait.</li></ol>"
    )

    assert (rich_pin.recipe.ingredients, rich_pin.recipe.instructions) == (
        ("a 1", "b 2"),
        ("Wait.",),
    )


def test_class_names_are_used_if_there_is_no_heading():
    rich_pin = pin(
        "<p>Our ingredients are fresh.</p><div class=recipe-ingredients><ul><li>2 leeks</li><li>salt</li></ul></div>"
        "<div class=recipe-directions><ol><li>Stir.</li></ol></div>"
    )

    assert rich_pin.recipe.ingredients == ("2 leeks", "salt")


def test_ingredients_alone_are_not_a_recipe():
    assert pin("<h2>Ingredients</h2><ul><li>Aqua</li><li>Glycerin</li></ul>").type == "page"


def test_product_with_ingredients_stays_a_product():
    product = '<script type="application/ld+json">{"@type":"Product","name":"Soup"}</script>'

    assert pin(product + LISTS).type == "product"


def test_visible_steps_complete_markup_without_steps():
    rich_pin = pin(recipe_ld(recipeIngredient=["2 leeks"]) + LISTS)

    assert rich_pin.recipe.ingredients == ("2 leeks",)
    assert rich_pin.recipe.instructions == ("Stir it well.",)
    assert rich_pin.provenance["recipe.instructions"].syntax == "html"
    assert rich_pin.provenance["recipe.ingredients"].syntax == "json-ld"


@pytest.mark.parametrize(
    ("shown", "ingredients"),
    [
        (("2 big leeks", "3 carrots", "1 l stock"), ("2 big leeks", "3 carrots", "1 l stock")),
        (("2 eggs", "3 limes", "1 l tea"), ("leeks", "carrots", "stock")),
    ],
)
def test_declared_names_without_amounts_are_replaced_by_the_same_list_with_amounts(
    shown, ingredients
):
    items = "".join(f"<li>{item}</li>" for item in shown)

    rich_pin = pin(
        recipe_ld(recipeIngredient=["leeks", "carrots", "stock"], recipeInstructions="Stir.")
        + f"<h2>Ingredients</h2><ul>{items}</ul>"
    )

    assert rich_pin.recipe.ingredients == ingredients


def test_labels_give_times_and_servings():
    rich_pin = pin(
        LISTS + "<p>Prep time: <b>10 min</b> | Cooking time 1 h 5 min | Serves 4-6 people</p>"
    )

    recipe = rich_pin.recipe
    assert (recipe.prep_minutes, recipe.cook_minutes, recipe.total_minutes) == (10, 65, 75)
    assert str(recipe.yields) == "6 servings"


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        ("Für 4 Personen", "4 servings"),
        ("Pour 6 personnes", "6 servings"),
        ("Servings: 8", "8 servings"),
        ("Makes 12 cookies", "12 cookies"),
    ],
)
def test_servings_are_read_from_labels(shown, text):
    assert str(captions.servings(shown)[0]) == text


@pytest.mark.parametrize(
    "shown", ["", "Serves you right", "We cook 24 hours a day in total", "2 people like this"]
)
def test_label_without_its_value_is_ignored(shown):
    assert captions.times(shown) == {}


@pytest.mark.parametrize(
    ("shown", "prep", "cook", "total"),
    [
        ("Prep time: 20 min Cook time: 1 h 5 min", 20, 65, None),
        ("10 min Preparation Time 5 min Cook Time", 10, 5, None),
        ("Total time 25 mins 5 mins preparation time 20 mins cooking time Crunchy", 5, 20, 25),
        ("Time 30 minutes Servings 6. Cook 5-7 minutes.", None, None, 30),
        ("Add the beans and cook 5 minutes.", None, None, None),
        ("Bake 20 min. Prep time 10 min Cook time 30 min", 10, 30, None),
        ("Temps total 1 h 05", None, None, 65),
        ("Ready in around 20 mins", None, None, 20),
    ],
)
def test_each_label_gets_its_own_duration(shown, prep, cook, total):
    times = captions.times(shown)

    fields = ("prep_minutes", "cook_minutes", "total_minutes")
    assert tuple(times[name][0] if name in times else None for name in fields) == (
        prep,
        cook,
        total,
    )


def test_duration_after_the_servings_is_the_total():
    recipe = pin(LISTS + "<p>4 personen</p><p>15 min</p>").recipe

    assert (str(recipe.yields), recipe.total_minutes) == ("4 servings", 15)


@given(st.lists(st.sampled_from(["<h2>Ingredients</h2>", "<h3>Method</h3>", "<ul>", "</ul>", "<li>2 leeks",
    "<div>", "</div>", "<p>Stir.", "Serves 4 ", "Prep: 5 min ", "<table><tr><td>x", "<b>Steps</b>"]), max_size=30))  # fmt: skip
@example(["<h3>Method</h3>", "<p>Stir.", "<h2>Ingredients</h2>", "<p>Stir.", "<p>Stir."])
def test_any_order_of_parts_can_be_read(pieces):
    rich_pin = pin("ingredients" + "".join(pieces))

    # One of the two lists may be omitted as doubtful (docs/adr/0077).
    recipe = rich_pin.recipe
    assert recipe is None or recipe.ingredients or recipe.instructions


def test_parts_of_a_declared_total_are_read_from_the_main_content():
    marked = recipe_ld(
        recipeIngredient=["x"],
        recipeInstructions="Stir it until it is done.",
        totalTime="PT1H",
        recipeYield="4",
    )
    shown = "<p>20 min prep time 40 min cook time</p>"

    inside, outside = pin(f"{marked}<main>{shown}</main>").recipe, pin(marked + shown).recipe

    assert (inside.prep_minutes, inside.cook_minutes, inside.total_minutes) == (20, 40, 60)
    assert outside.prep_minutes is None


NAMED = "<ul><li>Leeks 2 cups</li><li>Butter 1 tbsp</li><li>Stock 1 l</li><li>Salt</li></ul>"


@pytest.mark.parametrize("name", ["directions", "steps", "method", "instructions"])
def test_ingredients_are_not_lost_where_the_element_for_steps_only_repeats_them(name):
    rich_pin = pin(f"<main><h2>Ingredients</h2>{NAMED}<div class={name}>{NAMED}</div></main>")

    assert rich_pin.recipe.ingredients == ("Leeks 2 cups", "Butter 1 tbsp", "Stock 1 l", "Salt")
    assert rich_pin.recipe.instructions == ()


@pytest.mark.parametrize("name", ["directions", "steps"])
def test_names_without_amounts_repeated_below_an_element_for_steps_are_no_recipe(name):
    names = "<ul><li>Leeks</li><li>Butter</li><li>Stock</li><li>Salt</li></ul>"

    assert pin(f"<h2>Ingredients</h2>{names}<div class={name}>{names}</div>").recipe is None
