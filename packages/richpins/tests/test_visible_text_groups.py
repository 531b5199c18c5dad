"""Visible recipe lists with group titles, and lines next to them that are not entries."""

from __future__ import annotations

import pytest
from pins import pin

from richpins.page_types.recipe import Recipe

INGREDIENTS = "<h2>Ingredients</h2>"
STEPS = (
    "<h2>Method</h2><ol><li>Mix the flour and the water in a bowl.</li>"
    "<li>Bake the loaf for an hour, until it is brown.</li></ol>"
)
ROWS = "<ul><li>500 g flour</li><li>2 eggs</li></ul>"


def recipe_of(ingredients: str, steps: str = STEPS, heading: str = INGREDIENTS) -> Recipe:
    body = f"<html lang=en><h1>Loaf</h1><article>{heading}{ingredients}{steps}</article>"
    recipe = pin(body).recipe
    assert recipe is not None
    return recipe


@pytest.mark.parametrize(
    "title",
    [
        "<li>For the dough:</li>",
        "<li>Dough:</li>",
        "<li>For the dough</li>",
        "<li>Pour la pâte</li>",
        "<li>Für den Teig</li>",
        "<li class='list-subheading'>Dough</li>",
        "<li class='tussenkop'>Dough</li>",
        "<li><b>Dough</b></li>",
        "<li><span class='line'><strong>Dough</strong></span></li>",
        "</ul><p>Dough</p><ul>",
        "</ul><div class='section-head'>Dough</div><ul>",
        "</ul><p><strong>Dough</strong></p><ul>",
        "</ul><h4>Dough</h4><ul>",
    ],
)
def test_title_in_a_list_names_the_following_group(title: str) -> None:
    recipe = recipe_of(
        f"<ul><li>1 pinch salt</li>{title}<li>500 g flour</li><li>2 eggs</li><li>milk</li></ul>"
    )

    assert recipe.ingredients == ("1 pinch salt", "500 g flour", "2 eggs", "milk")
    assert [len(group.entries) for group in recipe.ingredient_groups] == [1, 3]
    assert not (recipe.ingredient_groups[1].name or "").endswith(":")


def test_bold_lines_of_a_paragraph_name_groups() -> None:
    recipe = recipe_of(
        "<p><b>Dough</b><br>500 g flour<br>2 eggs<br><b>Filling</b><br>3 apples<br>sugar</p>"
    )

    assert recipe.ingredients == ("500 g flour", "2 eggs", "3 apples", "sugar")
    assert [group.name for group in recipe.ingredient_groups] == ["Dough", "Filling"]


@pytest.mark.parametrize(
    "row",
    ["<li><b>500 g flour</b></li>", "<li><b>2 eggs</b></li>", "<li>For the dough, butter</li>"],
)
def test_bold_or_explained_ingredient_is_not_a_title(row: str) -> None:
    assert len(recipe_of(f"<ul>{row}<li>1 l milk</li><li>1 pinch salt</li></ul>").ingredients) == 3


def test_no_line_is_a_title_if_all_ingredients_are_bold() -> None:
    names = ("flour", "water", "salt")
    rows = "".join(f"<li><b>{name}</b></li>" for name in names)

    assert recipe_of(f"<ul><li>2 eggs</li>{rows}</ul><p>1 leek</p><p>2 l milk</p>").ingredients == (
        "2 eggs", *names, "1 leek", "2 l milk",
    )  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        "<p><a href=/list>Zutaten einkaufen</a></p>",
        "<div><a class=cart>View cart (0)</a> <a>Checkout</a></div>",
        "<div><a role=button>US Customary</a> – <a role=button>Metric</a></div>",
        "<p class='readmore-link'>En lire plus</p>",
        "<div class='portion-type'>Personen</div>",
        "<p>4 porsjoner</p>",
        "<p>6 pers.</p>",
        "<p>（4人分）</p>",
        "<p>For 3 to 4 servings</p>",
        "<p>Adjust servings</p>",
        "<p>Makes about 20 rolls</p>",
        "<p>Ingredients for 10 rolls:</p>",
        "<figure><img src=a.png><figcaption>A picture</figcaption></figure>",
        "<div class='nutrition-facts'><div>Salt 2 g</div><div>Sugars 5 g</div></div>",
        "<p>Energy 1405kj 335kcal 17%</p>",
        "<ol class='breadcrumb'><li>Start</li><li>Loaf</li></ol>",
        "<p>Equipment</p><ul><li>1 bowl</li><li>1 whisk</li></ul>",
    ],
)
def test_line_next_to_the_ingredients_is_not_an_ingredient(line: str) -> None:
    assert recipe_of(ROWS + line).ingredients == ("500 g flour", "2 eggs")


@pytest.mark.parametrize(
    "line",
    [
        "<p><a href=/salt>salt</a></p>",
        "<ul><li><a href=/salt>salt</a></li></ul>",
    ],
)
def test_linked_ingredient_is_kept(line: str) -> None:
    rows = "<p>500 g flour</p><p>2 eggs</p>" if line[:2] == "<p" else ROWS

    assert recipe_of(rows + line).ingredients == ("500 g flour", "2 eggs", "salt")


def test_cells_of_nested_row_blocks_form_one_entry_per_row() -> None:
    rows = "".join(
        f"<div class=row><input type=checkbox><div><div>{amount}</div><div>{name}</div></div></div>"
        for amount, name in (("2 rods", "cinnamon"), ("1 pinch", "salt"), ("1 bag", "sugar"))
    )

    assert recipe_of(f"<div><div><h5></h5><div>{rows}</div></div></div>").ingredients == (
        "2 rods cinnamon",
        "1 pinch salt",
        "1 bag sugar",
    )


def steps_of(markup: str) -> tuple[str, ...]:
    return recipe_of(ROWS, f"<h2>Method</h2>{markup}").instructions


MIXED = "Mix the flour and the water in a bowl."
BAKED = "Bake the loaf for an hour, until it is brown."


@pytest.mark.parametrize(
    "item",
    [
        "<p>Bake the loaf for an hour.</p><p>Let it rest.</p>",
        "Bake the loaf for an hour.<br>Let it rest.",
        "<div><div>Bake the loaf for an hour</div><div>Let it rest.</div></div>",
    ],
)
def test_list_item_is_one_step(item: str) -> None:
    steps = steps_of(f"<ol><li>{MIXED}</li><li>{item}</li></ol>")

    assert steps == (MIXED, "Bake the loaf for an hour. Let it rest.")


def test_single_list_item_is_split_into_lines() -> None:
    assert steps_of(f"<ul><li>{MIXED}<br>{BAKED}</li></ul>") == (MIXED, BAKED)


def test_numbered_lines_of_an_item_are_steps() -> None:
    steps = steps_of(f"<ul><li>1. {MIXED}<br>2. {BAKED}</li><li>3. Let it rest.</li></ul>")

    assert steps == (MIXED, BAKED, "Let it rest.")


@pytest.mark.parametrize(
    "title",
    ["<p>For the crust:</p>", "<p><b>The crust</b></p>", "<h4>Crust</h4>", "<p>Crust</p>"],
)
def test_title_between_two_lists_is_not_a_step(title: str) -> None:
    steps = steps_of(f"<ol><li>{MIXED}</li></ol>{title}<ol><li>{BAKED}</li></ol>")

    assert steps == (MIXED, BAKED)


@pytest.mark.parametrize(
    "line",
    [
        "<p>Made it? Rate it!</p>",
        "<p>Copyright 2014, A Book of Loaves, All Rights Reserved</p>",
        "<p>Recipe adapted from A Book of Loaves.</p>",
        "<p>Photography by Ann Lee, who also baked it.</p>",
        "<p>Originally published in 2015, updated in 2024.</p>",
        "<p>Kilde: A Book of Loaves and other breads</p>",
        "<p><a href=/more>More loaves that you will like to bake</a></p>",
        "<ul><li><a href=/a>A first loaf to bake</a></li><li><a href=/b>Another loaf</a></li></ul>",
        "<p>Conseils</p><p>Gardez le pain dans un torchon, il reste frais.</p>",
        "<figure><figcaption>A loaf on a board, with butter.</figcaption></figure>",
    ],
)
def test_line_after_the_steps_is_not_a_step(line: str) -> None:
    assert steps_of(f"<ol><li>{MIXED}</li><li>{BAKED}</li></ol>{line}") == (MIXED, BAKED)


def test_button_is_not_part_of_a_step() -> None:
    done = "<label><span class=u-sr-only>Done</span></label><button>Start timer</button>"

    assert steps_of(f"<ol><li>{done}{MIXED}</li><li>{done}{BAKED}</li></ol>") == (MIXED, BAKED)
