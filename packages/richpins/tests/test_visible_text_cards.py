"""Text around the ingredients and steps of a recipe, and choosing the right lists."""

from __future__ import annotations

import pytest
from pins import pin, recipe_ld

INGREDIENTS = "<ul><li>2 cups leeks</li><li>1 tbsp butter</li><li>1 l stock</li></ul>"
STEPS = (
    "<ol><li>Cut the leeks into rings and wash them.</li><li>Simmer them in the stock.</li></ol>"
)
READ_INGREDIENTS = ("2 cups leeks", "1 tbsp butter", "1 l stock")
READ_STEPS = ("Cut the leeks into rings and wash them.", "Simmer them in the stock.")


def page(ingredients=INGREDIENTS, steps=STEPS, *, before="", after=""):
    return pin(
        f"<h1>Leek soup</h1>{before}<div class=recipe><h3>Ingredients</h3>{ingredients}"
        f"<h3>Instructions</h3>{steps}</div>{after}"
    )


def reasons(rich_pin, field):
    return [dropped.reason for dropped in rich_pin.dropped if dropped.field == field]


def test_recipe_card_is_preferred_to_the_story_before_it():
    story = (
        "<h2>Ingredients</h2><p>You need leeks, butter and a good stock for this soup.</p>"
        "<h2>How to make leek soup</h2><p>I always wash my leeks twice, which my mother taught me.</p>"
        "<p>Then it simmers while I tell the children a story about the sea.</p>"
    )

    recipe = page(before=f"<div>{story}</div>").recipe

    assert recipe.ingredients == READ_INGREDIENTS
    assert recipe.instructions == READ_STEPS


def test_card_without_an_ingredients_heading_is_found_by_its_classes():
    story = "<h2>Ingredients</h2><ul><li>Leeks: use young ones.</li><li>Butter: salted.</li></ul>"

    recipe = pin(
        f"<div>{story}</div><div class=card><div class=card-ingredients>{INGREDIENTS}</div>"
        f"<h3>Instructions</h3>{STEPS}</div>"
    ).recipe

    assert recipe.ingredients == READ_INGREDIENTS


def test_box_with_the_time_is_not_the_list_of_steps():
    box = "<div><label>Preparation</label><span>35 min.</span></div>"

    assert page(before=box).recipe.instructions == READ_STEPS
    assert pin(f"{box}<h3>Ingredients</h3>{INGREDIENTS}").type == "page"


@pytest.mark.parametrize(
    "beside",
    [
        "<p>[edit]</p>", "<a>Edit</a>", "<p>Bearbeiten</p>", "<p>Show Images</p>", "<p>Video</p>",
        "<p>Preparation: 15 min</p>", "<p>Cuisson 1h10</p>", "<p>Serves 4</p>", "<p>4 servings</p>",
    ],
)  # fmt: skip
def test_links_times_and_yields_above_the_steps_are_not_steps(beside):
    recipe = page(steps=f"<div>{beside}</div><div>{STEPS}</div>").recipe

    assert recipe.instructions == READ_STEPS


@pytest.mark.parametrize(
    "entry",
    [
        "Serves 4", "4 servings", "Prep time: 10 min", "Share on Facebook", "Pin it", "Print recipe",
        "1x 2x 3x", "US Customary", "Add to shopping list", "Calories: 220 kcal", "Protein 12 g",
        "Cook mode prevents your screen from going dark",
    ],
)  # fmt: skip
def test_yields_times_buttons_and_calories_are_not_ingredients(entry):
    listed = (
        f"<ul><li>{entry}</li><li>2 cups leeks</li><li>1 tbsp butter</li><li>1 l stock</li></ul>"
    )

    assert page(listed).recipe.ingredients == READ_INGREDIENTS


def test_step_worded_like_a_button_is_kept():
    first = "Add all ingredients to a bowl and mix well."

    assert page(steps=f"<ol><li>{first}</li><li>Wait.</li></ol>").recipe.instructions[0] == first


def test_nutrition_table_ends_the_steps():
    table = "<table><tr><td>Total fat</td><td>18 g</td></tr><tr><td>Sodium</td><td>840 mg</td></tr></table>"

    assert page(steps=f"{STEPS}{table}").recipe.instructions == READ_STEPS


def test_form_and_call_to_action_after_the_steps_are_not_steps():
    after = (
        "<p>Save this soup on Pinterest so that you find it again later!</p>"
        "<form><p>Never miss a recipe, and write your address into this field.</p></form>"
    )
    steps = "<p>Cut the leeks into rings and wash them.</p><p>Simmer them in the stock.</p>"

    assert page(steps=f"<div>{steps}{after}</div>").recipe.instructions == READ_STEPS


@pytest.mark.parametrize("line", ["Notes:", "Variations", "Tips"])
def test_title_of_another_section_ends_the_steps(line):
    steps = f"<p>Cut the leeks into rings and wash them.</p><p>Simmer them in the stock.</p><p><b>{line}</b></p>"

    recipe = page(steps=f"<div>{steps}<p>Use onions where there are no leeks.</p></div>").recipe

    assert recipe.instructions == READ_STEPS


def test_ingredients_repeated_in_a_step_are_not_steps():
    steps = (
        "<ol><li>Cut the leeks into rings and wash them."
        "<div class=step-ingredients>2 cups leeks, 1 tbsp butter</div></li>"
        "<li>Simmer them in the stock.<ul><li>1 l stock</li><li>2 cups leeks</li></ul></li></ol>"
    )

    assert page(steps=steps).recipe.instructions == READ_STEPS


def test_amounts_and_names_in_separate_cells_are_joined():
    cells = "<div>2 cups</div><div>leeks</div><div>1 tbsp</div><div>butter</div><div>1 l</div><div>stock</div>"

    assert page(f"<div>{cells}</div>").recipe.ingredients == READ_INGREDIENTS


def test_amounts_in_cells_after_the_names_come_first():
    cells = "<div>leeks</div><div>2 cups</div><div>butter</div><div>1 tbsp</div><div>stock</div><div>1 l</div>"

    assert page(f"<div>{cells}</div>").recipe.ingredients == READ_INGREDIENTS


def test_steps_continue_in_the_following_blocks():
    blocks = "".join(f"<div><div>Step</div><div>{text}</div></div>" for text in READ_STEPS)

    recipe = page(steps=f"<div><p>Video</p></div><div>{blocks}{blocks}</div>").recipe

    assert recipe.instructions[-2:] == READ_STEPS


def test_names_that_only_number_the_steps_are_left_out():
    steps = [
        {"@type": "HowToStep", "name": f"instruction {number}", "text": text}
        for number, text in enumerate(READ_STEPS)
    ]

    assert pin(recipe_ld(recipeInstructions=steps)).recipe.instructions == READ_STEPS


def test_perform_time_is_not_the_cook_time():
    assert pin(recipe_ld(performTime="PT2H")).recipe.cook_minutes is None


def test_units_repeated_for_screen_readers_count_once():
    times = "<p>Prep Time 1 hour hr 15 minutes mins Cook Time 30 minutes mins</p>"

    recipe = page(before=times).recipe

    assert (recipe.prep_minutes, recipe.cook_minutes, recipe.total_minutes) == (75, 30, 105)


def test_days_are_counted_in_a_visible_time():
    assert page(before="<p>Total Time: 1 day 30 minutes</p>").recipe.total_minutes == 1470


def test_prep_time_alone_is_not_the_total():
    recipe = page(before="<p>Prep Time: 10 minutes</p>").recipe

    assert (recipe.prep_minutes, recipe.total_minutes) == (10, None)


def test_fragments_are_dropped_as_steps_with_a_reason():
    steps = "<ul><li>Soups of the season for every day</li><li>Sauces</li><li>Bread</li><li>Cake</li></ul>"

    rich_pin = page(steps=steps)

    assert rich_pin.recipe.ingredients == READ_INGREDIENTS
    assert rich_pin.recipe.instructions == ()
    assert reasons(rich_pin, "recipe.instructions") == ["doubtful: most entries are not sentences"]


def test_list_without_amounts_is_dropped_as_ingredients_with_a_reason():
    rich_pin = page("<ul><li>Chicken</li><li>Beef</li><li>Pork</li><li>2 eggs</li></ul>")

    assert rich_pin.recipe.ingredients == ()
    assert rich_pin.recipe.instructions == READ_STEPS
    assert reasons(rich_pin, "recipe.ingredients") == ["doubtful: most entries have no amount"]


def test_page_with_both_parts_doubtful_is_not_a_recipe():
    words = "<ul><li>Soups</li><li>Sauces of the season for every day</li><li>Bread</li></ul>"

    assert page(words, words).type == "page"
