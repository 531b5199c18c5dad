"""Recipes under unusual headings, in unusual markup, or without headings."""

from __future__ import annotations

import re

import pytest
from pins import pin, recipe_ld

STEPS = "<p>Cut the leeks into rings of a thumb's width and wash them.</p><p>Simmer them in the stock until they are soft.</p>"
AMOUNTS = "<ul><li>2 cups leeks</li><li>1 tbsp butter</li><li>1 l stock</li><li>salt</li></ul>"


def test_amounts_followed_by_sentences_need_no_heading():
    rich_pin = pin(f"<h1>Leek soup</h1><div>{AMOUNTS}</div><hr><div>{STEPS}</div>")

    assert rich_pin.type == "recipe"
    assert rich_pin.recipe.ingredients == ("2 cups leeks", "1 tbsp butter", "1 l stock", "salt")
    assert len(rich_pin.recipe.instructions) == 2
    assert rich_pin.provenance["recipe.instructions"].position == "at 'behind amounts'"


def test_list_of_other_numbers_is_not_a_recipe():
    scores = "<ul><li>2 goals</li><li>1 own goal</li><li>3 corners</li></ul>"

    assert pin(f"<p>No tablespoon of luck.</p>{scores}{STEPS}").type == "page"


def test_steps_after_ingredients_need_no_heading():
    rich_pin = pin(
        f"<h3>Ingredients</h3>{AMOUNTS}{STEPS}<h3>Comments</h3><p>Nice one, thank you very much.</p>"
    )

    assert rich_pin.recipe.ingredients[-1] == "salt"
    assert len(rich_pin.recipe.instructions) == 2


def test_what_you_need_makes_a_recipe_only_with_amounts():
    tools = "<ul><li>Moss</li><li>A glass jar</li><li>Tweezers</li></ul>"

    assert pin(f"<h2>What you'll need</h2>{AMOUNTS}<h2>Directions</h2>{STEPS}").type == "recipe"
    assert (
        pin(
            f"<p>No ingredients.</p><h2>What you'll need</h2>{tools}<h2>Directions</h2>{STEPS}"
        ).type
        == "page"
    )


def test_emoji_before_a_heading_does_not_hide_it():
    rich_pin = pin(
        f"<h2>\U0001f6d2 Ingredients</h2>{AMOUNTS}<h2>\U0001f468\u200d\U0001f373 Directions</h2>{STEPS}"
    )

    assert rich_pin.recipe.ingredients[0] == "2 cups leeks"


def test_amount_and_name_in_blocks_of_one_row_are_one_ingredient():
    rows = "".join(
        f"<div class=row><div>{amount}</div><div>{name}</div></div>"
        for amount, name in (("2 g", "leek"), ("100 g", "rice"), ("1 l", "milk"))
    )

    rich_pin = pin(f"<h2>Ingredients</h2><div>{rows}</div><h2>Method</h2>{STEPS}")

    assert rich_pin.recipe.ingredients == ("2 g leek", "100 g rice", "1 l milk")


def test_line_break_in_the_source_does_not_end_a_step():
    rich_pin = pin(
        f"<h2>Ingredients</h2>{AMOUNTS}<h2>Method</h2><p>Cut the leeks\n   and wash them.</p>"
    )

    assert rich_pin.recipe.instructions == ("Cut the leeks and wash them.",)


def test_button_in_every_row_is_not_part_of_the_ingredients():
    rows = "".join(
        f"<li>{each} <a>Add to list</a></li>" for each in ("2 leeks", "1 l stock", "salt")
    )

    rich_pin = pin(f"<h2>Ingredients</h2><ul>{rows}</ul><h2>Method</h2>{STEPS}")

    assert rich_pin.recipe.ingredients == ("2 leeks", "1 l stock", "salt")


def test_tab_with_the_same_name_does_not_hide_the_steps():
    rich_pin = pin(
        f"<button>Method</button><p>30 min</p><h2>Ingredients</h2>{AMOUNTS}<h2>Method</h2>{STEPS}"
    )

    assert len(rich_pin.recipe.instructions) == 2


def test_step_titles_in_instruction_boxes_are_not_steps():
    boxes = "".join(
        f"<div class=instruction><h3>Step {n}</h3><p>{text}</p></div>"
        for n, text in ((1, "Cut the leeks."), (2, "Simmer them."))
    )

    rich_pin = pin(f"<h2>Ingredients</h2>{AMOUNTS}<section class=instructions>{boxes}</section>")

    assert rich_pin.recipe.instructions == ("Cut the leeks.", "Simmer them.")


def test_recipe_properties_outside_any_item_are_read():
    rich_pin = pin(
        "<h1>Soup</h1><span itemprop=recipeYield>Serves 4</span><ul><li itemprop=recipeIngredient>2 leeks</li>"
        "<li itemprop=recipeIngredient>salt</li></ul><div itemprop=recipeInstructions><p>Stir.</p></div>"
    )

    assert rich_pin.type == "recipe"
    assert rich_pin.recipe.ingredients == ("2 leeks", "salt")
    assert str(rich_pin.recipe.yields) == "4 servings"
    assert rich_pin.provenance["recipe.ingredients"].syntax == "microdata"


def test_generic_properties_outside_any_item_do_not_make_a_recipe():
    assert pin("<p itemprop=name>Soup</p><p itemprop=author>Ann</p>").type == "page"


def test_item_of_any_type_with_ingredients_and_steps_is_a_recipe():
    rich_pin = pin(
        recipe_ld(
            **{
                "@type": "BlogPosting",
                "recipeIngredient": ["2 leeks"],
                "recipeInstructions": "Stir.",
            }
        )
    )

    assert rich_pin.type == "recipe"


def test_list_repeated_for_print_is_read_once():
    twice = ["2 leeks", "1 l stock"] * 2

    assert pin(recipe_ld(recipeIngredient=twice)).recipe.ingredients == ("2 leeks", "1 l stock")


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ("1. Cut. 2. Stir. 3. Eat.", ("Cut.", "Stir.", "Eat.")),
        ("1.切丁 2.拌匀 3.翻炒", ("切丁", "拌匀", "翻炒")),
        (["1 Cut the leeks.", "2 Stir."], ("Cut the leeks.", "Stir.")),
        (["1) Cut.", "Wash.", "2) Stir."], ("Cut.", "Wash.", "Stir.")),
        (["2 leeks come first.", "3 carrots then."], ("2 leeks come first.", "3 carrots then.")),
        ("Heat 1.5 l. 2 minutes will do.", ("Heat 1.5 l. 2 minutes will do.",)),
    ],
)
def test_step_numbers_are_removed(steps, expected):
    assert (
        pin(recipe_ld(recipeIngredient=["x"], recipeInstructions=steps)).recipe.instructions
        == expected
    )


def test_double_encoded_space_is_a_space():
    assert pin(recipe_ld(recipeIngredient=["2 cups\u00c2\u00a0leeks"])).recipe.ingredients == (
        "2 cups leeks",
    )


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        ("<p>Serves 4 Prep time 10 min</p>", "4 servings"),
        ("<i class=icon></i> 4 porce", "4 servings"),
        ("<p class=icon-serves></p>", None),
        ("<div><span class=icon-serves></span><span class=x> 6 </span></div>", "6 servings"),
        ("<p class=recipe-yield>8 bowls</p>", "8 bowls"),
    ],
)
def test_servings_are_recognized_in_many_forms(shown, text):
    yields = pin(
        recipe_ld(recipeIngredient=["x"], recipeInstructions="Stir.") + shown
    ).recipe.yields

    assert (str(yields) if yields else None) == text


def test_minutes_may_follow_hours_without_a_unit():
    rich_pin = pin(
        recipe_ld(recipeIngredient=["x"], recipeInstructions="Stir.") + "<p>Total time 1 h 05</p>"
    )

    assert rich_pin.recipe.total_minutes == 65


SHOWN = f"<h2>Ingredients</h2>{AMOUNTS}<h2>Method</h2>{STEPS}"


@pytest.mark.parametrize(
    "steps",
    [
        "Method",
        "[{",
        "Soup is what people make of leeks " * 3 + "and th",
    ],
)
def test_meaningless_declared_steps_are_replaced_by_the_visible_ones(steps):
    more = "<p>" + "Then stir it now and again, and take care that nothing burns. " * 4 + "</p>"

    rich_pin = pin(recipe_ld(recipeIngredient=["x", "y"], recipeInstructions=steps) + SHOWN + more)

    assert len(rich_pin.recipe.instructions) == 3


def test_short_declared_steps_are_kept_if_nothing_longer_is_visible():
    assert pin(
        recipe_ld(recipeIngredient=["x", "y"], recipeInstructions="Mix.")
    ).recipe.instructions == ("Mix.",)


def test_list_of_short_declared_steps_is_not_replaced_by_surrounding_text():
    items = "".join(
        f"<li itemprop=recipeIngredient>{100 + n} g {name}</li>"
        for n, name in enumerate(("red lentils", "carrots", "cumin", "lemon"))
    )
    steps = "<li>Chop everything.</li><li>Cook it slowly.</li><li>Eat.</li>"
    around = (
        "Everything on this page was made by hand. Measurements are given to the nearest "
        "centimetre, times to the nearest minute. Readers have asked for more detail. " * 5
    )

    rich_pin = pin(
        "<main><h1>Soup</h1><div itemscope itemtype='https://schema.org/Recipe'>"
        f"<h2 itemprop=name>Soup</h2><ul>{items}</ul>"
        f"<ol itemprop=recipeInstructions>{steps}</ol></div><p>{around}</p></main>"
    )

    assert rich_pin.recipe.instructions == ("Chop everything.", "Cook it slowly.", "Eat.")
    assert rich_pin.provenance["recipe.instructions"].syntax == "microdata"


def test_single_declared_ingredient_is_replaced_by_a_visible_list():
    rich_pin = pin(
        recipe_ld(recipeIngredient=["2 leeks, 1 l stock, salt"], recipeInstructions="Stir it all.")
        + SHOWN
    )

    assert rich_pin.recipe.ingredients[0] == "2 cups leeks"


def test_heading_may_contain_the_name_of_the_dish():
    rich_pin = pin(
        f"<h2>Leek soup – Ingredients</h2>{AMOUNTS}<h2>Directions: Leek soup</h2>{STEPS}"
    )

    assert (len(rich_pin.recipe.ingredients), len(rich_pin.recipe.instructions)) == (4, 2)


def test_unrelated_heading_does_not_end_the_search_for_steps():
    rich_pin = pin(f"<h2>Ingredients</h2>{AMOUNTS}<h2>Leek soup</h2><figure></figure>{STEPS}")

    assert len(rich_pin.recipe.instructions) == 2


def test_ingredients_of_every_part_are_read():
    rich_pin = pin(
        "<h3>Ingredients for the soup</h3><ul><li>2 leeks</li><li>salt</li></ul>"
        "<h3>Ingredients for the bread</h3><ul><li>1 kg flour</li><li>yeast</li></ul>"
        f"<h3>Method</h3>{STEPS}"
    )

    assert rich_pin.recipe.ingredients == ("2 leeks", "salt", "1 kg flour", "yeast")


def test_lines_of_one_element_are_separate_ingredients():
    lines = "• 2 leeks<br>• 1 l stock<br>• salt"

    assert pin(f"<h4>Ingredients</h4><h5>{lines}</h5><h4>Method</h4>{STEPS}").recipe.ingredients == (
        "2 leeks", "1 l stock", "salt",
    )  # fmt: skip


def test_amounts_on_separate_lines_need_no_heading():
    rich_pin = pin(f"<i>tbsp</i><p>• 15 g leek<br>• 1 tbsp oil<br>• salt<br>• 1 l stock</p>{STEPS}")

    assert rich_pin.recipe.ingredients == ("15 g leek", "1 tbsp oil", "salt", "1 l stock")


def test_entity_in_the_heading_does_not_hide_the_recipe():
    assert (
        pin(f"<html lang=fr><h2>Ingr&eacute;dients</h2>{AMOUNTS}<h2>Préparation</h2>{STEPS}").type
        == "recipe"
    )


def test_same_list_in_other_units_is_read_once():
    lists = "<li>US</li><li>METRIC</li><li>8.8oz flour</li><li>2 eggs</li><li>250g flour</li><li>2 eggs</li>"

    rich_pin = pin(f"<h2>Ingredients</h2><ul>{lists}</ul><h2>Method</h2>{STEPS}")

    assert rich_pin.recipe.ingredients == ("8.8oz flour", "2 eggs")


def test_edit_link_is_not_a_step():
    rich_pin = pin(f"<h2>Ingredients</h2>{AMOUNTS}<div><h2>Method</h2><i>[ edit ]</i></div>{STEPS}")

    assert rich_pin.recipe.instructions[0].startswith("Cut")


def test_time_of_only_seconds_is_ignored():
    rich_pin = pin(
        recipe_ld(recipeIngredient=["x"], recipeInstructions="Stir.", prepTime="PT45S")
        + "<p>Preparation time: 45 minutes</p>"
    )

    assert rich_pin.recipe.prep_minutes == 45


@pytest.mark.parametrize(
    "body",
    [
        "tsp" + "<ul><li>1 cup" * 500,
        "tsp" + "<p>" + "1 cup x<br>" * 20_000 + "</p>",
        recipe_ld(recipeIngredient=["x"]) + "<p>" + "1 " * 100_000,
        "<i itemprop=recipeIngredient>x</i>" * 3_000,
        "ingredients" + "<div>" * 400 + "<h2>Ingredients</h2>" + "</div><p>1 cup x</p>" * 400,
    ],
    ids=["nested lists", "long lines", "numbers", "loose properties", "deep heading"],
)
def test_slow_pages_are_read(body):
    assert pin(body).type in {"page", "recipe"}


@pytest.mark.parametrize(
    "steps",
    [
        "<ol><li>Preheat oven to 200<li>Chop the onion and fry it in butter<li>Roast until done</ol>",
        "<ol><li>Boil the water<li>Add the leeks<li>Drain and serve</ol>",
        "<ul><li>Preheat oven to 200<li>Chop the onion and fry it in butter<li>Roast until done</ul>",
        "<ol><li>Chop the onion<li>Fry it.</ol><h4>Sauce</h4><ol><li>Stir the flour in<li>Boil it</ol>",
        "<ol><li>烤箱预热<li>洋葱切碎炒香<li>烤熟</ol>",
    ],
)
def test_steps_of_a_list_need_no_periods(steps):
    recipe = pin(f"<h2>Ingredients</h2>{AMOUNTS}<h2>Directions</h2>{steps}").recipe

    assert len(recipe.instructions) == steps.count("<li>")


@pytest.mark.parametrize(
    "steps",
    [
        "<ol><li>Home<li>Recipes<li>Soups</ol>",
        "<p>Preheat oven to 200<p>Chop the onion and fry it in butter<p>Roast until done",
        "<ul><li>Cooking time<li>Our newsletter with new recipes<li>Share it</ul><ul><li>Log in</ul>",
        "<ol><li>200 g flour<li>100 g butter and a little more<li>3 eggs</ol>",
    ],
)
def test_other_lines_without_periods_are_not_steps(steps):
    page = pin(f"<h2>Ingredients</h2>{AMOUNTS}<h2>Directions</h2>{steps}")

    assert page.recipe is None or not page.recipe.instructions


@pytest.mark.parametrize(
    "label", ["Cook time", "Oven Time", "Rest Time", "Marinating Time", "Prep time", "Chill Time"]
)
def test_time_of_one_part_of_the_work_is_not_the_total(label):
    markup = recipe_ld(recipeIngredient=["x"], recipeInstructions="Stir.")

    assert pin(f"{markup}<p>Serves 4</p><p>{label}: 20 min</p>").recipe.total_minutes is None


def test_declared_cook_time_alone_is_not_the_total():
    assert pin(recipe_ld(cookTime="PT20M")).recipe.total_minutes is None
    assert pin(recipe_ld(prepTime="PT20M")).recipe.total_minutes is None
    assert pin(recipe_ld(prepTime="PT5M", cookTime="PT20M")).recipe.total_minutes == 25


@pytest.mark.parametrize(
    "steps",
    [
        "<p>1. Chop the leeks.</p><p>2. Fry them in butter.</p><p>3. Serve hot</p>",
        "<p>1) Chop the leeks.</p><p>2) Fry them in butter.</p><p>3) Serve hot</p>",
        "<p>1. Chop the leeks.<br>2. Fry them in butter.<br>3. Serve hot</p>",
        "<p>Step 1: Chop the leeks.</p><p>Step 2: Fry them in butter.</p><p>Step 3: Serve hot</p>",
        "<div>1. Chop the leeks.</div><div>2. Fry them in butter.</div><div>3. Serve hot</div>",
        "<p><b>1.</b> Chop the leeks.</p><p><b>2.</b> Fry them in butter.</p><p><b>3.</b> Serve hot</p>",
    ],
)
@pytest.mark.parametrize("stop", [".", ""])
def test_short_numbered_paragraphs_are_steps(steps, stop):
    recipe = pin(
        "<title>Leek soup</title><h1>Leek soup</h1><h2>Ingredients</h2><ul><li>2 leeks<li>1 l water"
        f"<li>salt</ul><h2>Directions</h2>{re.sub(r'(?<=[a-z])[.](?=<)', stop, steps)}"
        "<p>Share this</p><p>4 comments</p><h2>Comments</h2><p>Nice</p>"
    ).recipe

    assert [step.rstrip(".") for step in recipe.instructions] == [
        "Chop the leeks", "Fry them in butter", "Serve hot",
    ]  # fmt: skip


def test_numbered_paragraphs_of_an_article_are_not_steps():
    page = pin(
        "<title>3 reasons</title><h1>3 reasons to grow leeks</h1><p>1. They are hardy.</p>"
        "<p>2. They are cheap.</p><p>3. They are good.</p>"
    )

    assert page.recipe is None
