"""Recipe lists line by line: no line is missing, unrelated, or cut."""

from __future__ import annotations

import pytest

from richpins.extraction import extract
from richpins.page_types.recipe import Recipe
from richpins.visible_text.vocabulary import count_measured

AMOUNTS = "<h2>Ingredients</h2><ul><li>200 g flour</li><li>2 eggs</li><li>100 ml milk</li></ul>"
STEPS = "<ol><li>Beat the eggs with the milk.</li><li>Fold in the flour and bake.</li>{}</ol>"
FIRST = ("Beat the eggs with the milk.", "Fold in the flour and bake.")


def recipe(body: str, title: str = "Pancakes") -> Recipe:
    page = f"<html lang=en><title>{title}</title><body><h1>{title}</h1>{body}</body></html>"
    found = extract(page.encode(), "https://www.example.com/r/1").recipe
    assert found is not None
    return found


def steps(after: str, items: str = "") -> tuple[str, ...]:
    return recipe(f"{AMOUNTS}<h2>Method</h2>{STEPS.format(items)}{after}").instructions


@pytest.mark.parametrize(
    "step",
    [
        "About 30 minutes before serving, take the dish out of the fridge.",
        "About 10 minutes later, turn it",
        "Print the letters onto the dough with a stamp.",
        "Share the dough between four plates.",
        "Tools must be dry before you whisk.",
    ],
)
def test_step_worded_like_the_heading_of_another_section_is_kept(step: str) -> None:
    last = "Serve it with the sauce."
    assert steps("", f"<li>{step}</li><li>{last}</li>") == (*FIRST, step, last)


def test_heading_inside_a_list_of_steps_ends_it() -> None:
    items = "<li>Notes:</li><li>The dough keeps for three days in the fridge.</li>"
    assert steps("", items) == FIRST


@pytest.mark.parametrize(
    "step", ["Mix what is left of step 2 with the meat.", "Repeat step 1 for the second half."]
)
def test_reference_to_another_step_is_kept(step: str) -> None:
    assert steps("", f"<li>{step}</li>") == (*FIRST, step)


def test_number_in_a_separate_element_belongs_to_the_following_step() -> None:
    texts = [
        *FIRST,
        *(f"Turn it again and wait {n} minutes." for n in range(3, 10)),
        "Cut the cake",
    ]
    blocks = "".join(
        f"<div><span>{number}.</span> <p>{text}</p></div>" for number, text in enumerate(texts, 1)
    )
    assert recipe(f"{AMOUNTS}<h2>Method</h2>{blocks}").instructions == tuple(texts)


def test_paragraphs_in_a_list_without_items_are_its_entries() -> None:
    blocks = "".join(f"<p><span>{number}</span> {text}</p>" for number, text in enumerate(FIRST, 1))
    assert recipe(f"{AMOUNTS}<h2>Method</h2><ul>{blocks}</ul>").instructions == FIRST


def test_paragraph_after_the_numbered_steps_is_not_a_step() -> None:
    assert steps("<p>If you have no milk, water works just as well.</p>") == FIRST
    assert steps("<div><p>We made it for our neighbors last year.</p></div>") == FIRST


def test_paragraph_between_numbered_lists_or_below_a_step_heading_is_a_step() -> None:
    between, last = "Leave it to rest for an hour.", "Bake it until it is brown."
    assert steps(f"<p>{between}</p><ol start=3><li>{last}</li><li>Serve it hot.</li></ol>") == (
        *FIRST, between, last, "Serve it hot.",
    )  # fmt: skip
    assert steps(f"<h4>Step 3: Bake</h4><p>{last}</p>") == (*FIRST, last)


def test_survey_answers_are_not_steps() -> None:
    answers = "".join(
        f"<li><label><input type=radio name=stars value={n}>{text}</label></li>"
        for n, text in enumerate(["Not for me at all, I am sorry.", "I loved it, and so did he."])
    )
    assert steps(f"<div><ul>{answers}</ul></div>") == FIRST


def test_word_inside_a_button_stays_in_its_sentence() -> None:
    with_word = (
        "Bring the water to a <button type=button><span>boil</span></button>, then add salt."
    )
    with_button = "Drain the noodles. <button>Start the timer</button>"
    assert steps("", f"<li>{with_word}</li><li>{with_button}</li>") == (
        *FIRST, "Bring the water to a boil, then add salt.", "Drain the noodles.",
    )  # fmt: skip


def test_links_to_other_recipes_are_not_steps() -> None:
    others = "".join(
        f'<li><a href="/{n}">Soup of the day {n} with noodles and herbs</a></li>' for n in "abcde"
    )
    body = f'{AMOUNTS}<div class="recipe-steps">{STEPS.format("")}<h3>Others</h3><ul>{others}</ul>'
    assert recipe(f"{body}</div>").instructions == FIRST


@pytest.mark.parametrize(
    "other",
    [
        "1 pound cherry tomatoes on the vine|2 teaspoons sea salt (or 1 of table salt)|1 sprig thyme",
        "1 kg cherry tomatoes on the vine|4 teaspoons Maldon salt (or 2 of table salt)|2 sprigs thyme",
    ],
)
def test_ingredients_for_other_servings_or_units_are_read_once(
    other: str,
) -> None:
    first = (
        "500 g cherry tomatoes on the vine", "2 teaspoons Maldon salt (or 1 of table salt)",
        "1 sprig thyme",
    )  # fmt: skip
    parts = "".join(
        f"<div><ul><li><h3>Roast</h3></li><li>{'<li>'.join(entries)}</ul></div>"
        for entries in (first, other.split("|"))
    )
    body = f"<div><h2>Ingredients</h2><div>{parts}</div></div><h2>Method</h2>{STEPS.format('')}"
    assert recipe(body).ingredients == first


def test_ingredients_of_another_part_with_a_common_word_are_kept() -> None:
    glaze = "<h3>Glaze</h3><ul><li>50 g sugar</li><li>20 ml milk</li><li>1 vanilla pod</li></ul>"
    found = recipe(f"{AMOUNTS}{glaze}<h2>Method</h2>{STEPS.format('')}")
    assert len(found.ingredients) == 6


def test_nutrients_next_to_the_ingredients_are_not_ingredients() -> None:
    nutrients = "<ul class=nutrition-list><li>salt <b>0.2</b> g</li><li>zinc <b>1</b> mg</li></ul>"
    listed = "<ul><li>200 g flour</li><li>2 eggs</li><li>100 ml milk</li></ul>"
    body = f"<div class=ingredients-panel>{listed}{nutrients}</div>"
    found = recipe(f"{body}<h2>Method</h2>{STEPS.format('')}")
    assert found.ingredients == ("200 g flour", "2 eggs", "100 ml milk")


def test_nutrition_as_a_style_class_does_not_hide_a_list() -> None:
    styled = STEPS.format("").replace("<ol>", '<ol class="m-list -nutrition">')
    assert recipe(f"{AMOUNTS}<h2>Method</h2>{styled}").instructions == FIRST


def test_name_of_the_recipe_is_not_an_entry() -> None:
    body = AMOUNTS.replace("<ul>", "<ul><li>Pancakes</li>")
    found = recipe(
        f"{body}<h2>Method</h2>{STEPS.format('').replace('<ol>', '<ol><li>Pancakes</li>')}"
    )
    assert found.ingredients == ("200 g flour", "2 eggs", "100 ml milk")
    assert found.instructions == FIRST


def test_amounts_of_ingredients_above_a_step_are_not_steps() -> None:
    blocks = "<div><p>200 g flour</p><p>2 eggs</p><p>2 eggs are enough for four people.</p></div>"
    found = recipe(f"{AMOUNTS}<h2>Method</h2>{blocks}<p>Bake the dough for an hour.</p>")
    assert found.instructions == (
        "2 eggs are enough for four people.", "Bake the dough for an hour.",
    )  # fmt: skip


@pytest.mark.parametrize("css_class", ["ingredient-group__header", "ingredient-header"])
def test_item_with_a_header_class_names_the_following_group(css_class: str) -> None:
    listed = (
        f"<li>200 g flour</li><li>2 eggs</li><li class={css_class}>Sauce</li><li>100 ml milk</li>"
    )
    found = recipe(f"<h2>Ingredients</h2><ul>{listed}</ul><h2>Method</h2>{STEPS.format('')}")
    assert found.ingredients == ("200 g flour", "2 eggs", "100 ml milk")
    assert [group.name for group in found.ingredient_groups] == [None, "Sauce"]


def test_amount_may_follow_its_name_and_a_duration_is_not_an_amount() -> None:
    assert count_measured(["Monkfish 1 kg", "Onion 2 unid.", "2 eggs", "Salt q.b."]) == 3
    assert count_measured(["30 min easy", "5.0", "Soup of the day", "Ready in 2021, at last"]) == 0


def test_steps_repeated_for_print_are_read_once() -> None:
    printed = STEPS.format("").replace("milk.", "milk, all of it.")
    assert steps(f"<h3>Print</h3><div>{printed}</div>") == FIRST
    assert steps(f"<h3>In detail</h3><div>{printed}</div>") == FIRST


@pytest.mark.parametrize(
    "line",
    [
        "© 2014, Soups at Home by Ann Lee, All Rights Reserved",
        "Copyright 2002, Ann Lee. All rights reserved.",
        "Alle Rechte vorbehalten.",
        "Soup Day is a trademark of the soup board.",
        "Fortsättning efter annonsen",
        "Undgå at skærmen slukker",
        "Bildschirm aktiv lassen",
        "Ook lekker: taart met champignons en spinazie",
        "Leggi anche: zuppa di porri della nonna",
        "This is a guest recipe, so we are not able to answer questions about it.",
        "3/12",
    ],
)
def test_site_notice_is_not_a_step(line):
    assert steps("", f"<li>{line}</li>") == FIRST


@pytest.mark.parametrize("line", ["Place a screen over the pan.", "Add 1/2 of the milk."])
def test_step_that_resembles_a_site_notice_is_kept(line):
    assert steps("", f"<li>{line}</li>") == (*FIRST, line)


@pytest.mark.parametrize("name", ["The dough", "Der Teig", "La pâte", "De vulling"])
def test_article_and_noun_name_a_group_of_steps(name):
    found = recipe(f"{AMOUNTS}<h2>Method</h2><p>{name}</p><p>{FIRST[0]}</p><p>{FIRST[1]}</p>")

    assert found.instructions == FIRST
    assert found.instruction_groups[0].name == name
