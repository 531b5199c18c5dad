"""Recipe steps in tables, numbered blocks, unnamed lists, and under headings in other languages."""

from __future__ import annotations

import pytest
from pins import pin

LINES = (
    "Cut the leeks into rings of a thumb's width and wash them.",
    "Simmer them in the stock until they are soft.",
    "Stir in the cream and serve the soup in deep plates.",
)
LIST = "<ol>{}</ol>".format("".join(f"<li>{line}</li>" for line in LINES))
AMOUNTS = "<ul><li>2 cups leeks</li><li>1 tbsp butter</li><li>1 l stock</li><li>salt</li></ul>"
NAMES = ("Wash the Leeks", "Cook the Soup", "Bring to Table")


def groups_of(body: str) -> list[tuple[str | None, tuple[str, ...]]]:
    recipe = pin(f"<main>{body}</main>").recipe
    return [(g.name, g.entries) for g in recipe.instruction_groups] if recipe else []


def steps_of(body: str) -> tuple[str, ...]:
    return tuple(step for _, entries in groups_of(body) for step in entries)


def recipe(steps: str) -> str:
    return f"<h2>Ingredients</h2>{AMOUNTS}<h2>Directions</h2>{steps}"


def test_lists_inside_a_layout_table_are_read():
    body = f"<table><tr><td colspan=3><div>{recipe(LIST)}</div></td></tr></table>"

    assert steps_of(body) == LINES


@pytest.mark.parametrize(
    "item",
    [
        "<li><table><tr><td>{0}</td><td><div>{1}</div></td></tr></table></li>",
        "<li><p><b>{0}</b></p><p>{1}</p></li>",
    ],
)
def test_numbered_items_inside_a_layout_table_are_read(item):
    items = "".join(item.format(number, line) for number, line in enumerate(LINES, start=1))
    body = f"<table><tr><td>{recipe(f'<ul>{items}</ul>')}</td></tr></table>"

    assert steps_of(body) == LINES


NUMBERED = {
    "divs": "<div><div>{0}</div><div><p>{1}</p><p>{2}</p></div></div>",
    "spans": "<div><span>{0}</span><div><p>{1}</p><p>{2}</p></div></div>",
    "with a picture": "<div><div>{0}</div><img src=/a.jpg><p>{1}</p><p>{2}</p></div>",
    "sections": "<section><p>{0}.</p><p>{1}</p><p>{2}</p></section>",
}


@pytest.mark.parametrize("markup", NUMBERED.values(), ids=NUMBERED)
@pytest.mark.parametrize("around", ["{}", "<div>{}</div>", "<div><div>{}</div></div>"])
def test_paragraphs_of_a_numbered_block_are_one_step(markup, around):
    more = "Do not hurry, because leeks need their time."
    blocks = "".join(markup.format(n, line, more) for n, line in enumerate(LINES, start=1))

    assert steps_of(recipe(around.format(blocks))) == tuple(f"{line} {more}" for line in LINES)


def test_heading_of_a_numbered_block_names_its_group():
    block = (
        "<div><div>{0}</div><div><h3>{1}</h3><p>{2}</p><p>Take your time for it.</p></div></div>"
    )
    blocks = "".join(
        block.format(n, name, line)
        for n, (name, line) in enumerate(zip(NAMES, LINES, strict=True), start=1)
    )

    assert groups_of(recipe(blocks)) == [
        (name, (f"{line} Take your time for it.",)) for name, line in zip(NAMES, LINES, strict=True)
    ]


def test_paragraphs_after_an_unrelated_number_are_separate_steps():
    blocks = "".join(
        f"<div><div>{n}</div><p>{a}</p><p>{b}</p></div>" for n, a, b in [(7, *LINES[:2])]
    )

    assert steps_of(recipe(f"{blocks}<p>{LINES[2]}</p>")) == LINES


@pytest.mark.parametrize("tag", ["p", "div"])
def test_bare_titles_between_steps_name_groups(tag):
    lines = (NAMES[0], LINES[0], "Dry them.", NAMES[1], LINES[1], NAMES[2], LINES[2])
    shown = "".join(f"<{tag}>{line}</{tag}>" for line in lines)

    assert groups_of(recipe(shown)) == [
        (NAMES[0], (LINES[0], "Dry them.")), (NAMES[1], (LINES[1],)), (NAMES[2], (LINES[2],))
    ]  # fmt: skip


def test_bare_titles_in_title_case_after_the_first_step_name_groups():
    lines = ("Preheat the oven.", NAMES[0], LINES[0], NAMES[1], LINES[1])
    shown = "".join(f"<p>{line}</p>" for line in lines)

    assert groups_of(recipe(shown)) == [
        (None, ("Preheat the oven.",)), (NAMES[0], (LINES[0],)), (NAMES[1], (LINES[1],))
    ]  # fmt: skip


LONG = tuple(f"{line} Do not hurry, because leeks need their time in the pot." for line in LINES)


@pytest.mark.parametrize(
    "lines",
    [
        (LONG[0], "Stir well", LONG[1], "Let it cool", LONG[2]),
        ("Stir well", "Let it cool", LONG[0], LONG[1]),
        (LONG[0], "Salt it", LONG[1], LONG[2]),
    ],
)
@pytest.mark.parametrize("tag", ["p", "div"])
def test_short_steps_without_a_period_are_steps(lines, tag):
    shown = "".join(f"<{tag}>{line}</{tag}>" for line in lines)

    assert steps_of(recipe(shown)) == lines


@pytest.mark.parametrize(
    "between",
    [
        "<p class=ad>Kitchen knives</p>",
        "<div>Leeks in the pot</div>",
        "<span>Kitchen knives</span>",
    ],
)
def test_short_line_in_different_markup_is_not_a_step(between):
    shown = between.join(f"<p>{line}</p>" for line in LINES)

    assert steps_of(recipe(shown)) == LINES


@pytest.mark.parametrize(
    ("amounts", "heading"),
    [
        ("Ingredientes", "Paso a paso"),
        ("Ingredientes", "Instrucciones"),
        ("Ingredientes", "Cómo hacer sopa de puerros"),
        ("Ingredientes", "Modo de fazer"),
        ("Ingredienti", "Come preparare la zuppa di porri"),
        ("Ingredienti", "Istruzioni"),
        ("Ingrédients", "Étape par étape"),
        ("Ingrédients", "Comment faire la soupe"),
        ("Zutaten", "Zubereitungsschritte"),
        ("Zutaten", "Schritt für Schritt"),
        ("Zutaten", "Und so geht’s"),
        ("Ingrediënten", "Zo maak je preisoep"),
        ("Ingrediënten", "Stap voor stap"),
        ("Składniki", "Jak zrobić zupę porową"),
        ("Ingredienser", "Så här gör du"),
        ("Ingredienser", "Steg för steg"),
        ("Ingredienser", "Sådan laver du det"),
        ("Hozzávalók", "Az elkészítés menete"),
        ("Ингредиенты", "Пошаговый рецепт"),
        ("Ингредиенты", "Как приготовить суп"),
        ("材料", "制作步骤"),
        ("Ingredients", "Cooking directions"),
        ("Ingredients", "Preparation instructions"),
        ("Ingredients", "What to do"),
    ],
)
def test_longer_headings_of_steps_are_recognized(amounts, heading):
    assert steps_of(f"<h2>{amounts}</h2>{AMOUNTS}<h2>{heading}</h2>{LIST}") == LINES


@pytest.mark.parametrize("tag", ["b", "strong", "span", "em"])
def test_emphasized_words_in_a_sentence_are_not_a_heading(tag):
    prose = (
        f"<p>Everybody knows <{tag}>how to make leek soup</{tag}>, or says so. It is not hard.</p>"
    )

    assert steps_of(f"{prose}<p>Some say it is dull.</p>{recipe(LIST)}") == LINES


@pytest.mark.parametrize(
    "beside",
    [
        "<ul class=ingredients__list><li>leeks</li><li>butter</li></ul>",
        "<ul class=Zutatenliste><li>Lauch</li><li>Butter</li></ul>",
        "<ul><li>2 cups leeks</li><li>salt</li></ul>",
        "<p>2 cups leeks, 1 tbsp butter</p>",
    ],
)
def test_ingredients_next_to_a_step_are_not_steps(beside):
    shown = "".join(f"<div>{beside}<p>{line}</p></div>" for line in LINES)

    assert steps_of(recipe(shown)) == LINES


def test_ingredients_inside_an_item_are_not_part_of_the_step():
    items = "".join(
        f"<li>{line}<div>2 cups leeks</div><div>1 tbsp butter</div></li>" for line in LINES
    )

    assert steps_of(recipe(f"<ol>{items}</ol>")) == LINES


@pytest.mark.parametrize("heading", ["Tip", "Tipp", "Notes", "Consejos", "Equipment"])
def test_list_below_an_unrelated_heading_is_not_read_as_steps(heading):
    steps = "".join(f"<li>{line}</li>" for line in LINES)
    tips = f"<section><h2>{heading}</h2><ul><li>A wide pot makes it easier to stir.</li></ul></section>"
    body = f"<h2>Ingredients</h2>{AMOUNTS}<div class=zubereitung><ol>{steps}</ol>{tips}</div>"

    assert steps_of(body) == LINES


def test_blocks_with_the_class_step_need_no_heading():
    blocks = "".join(f"<div class='Step x1'><div><p>{line}</p></div></div>" for line in LINES)
    body = f"<h2>Ingredients</h2>{AMOUNTS}<aside>Buy a pot.</aside><section><div>{blocks}</div></section>"

    assert steps_of(body) == LINES


@pytest.mark.parametrize("named", ["imperial", "us-customary", "print"])
def test_steps_in_another_unit_system_are_not_repeated(named):
    others = "".join(f"<li>{line}</li>" for line in (LINES[0], f"{LINES[1]} {LINES[2]}"))
    both = f"<div class=metric>{LIST}</div><div class={named}><ol>{others}</ol></div>"

    assert steps_of(recipe(both)) == LINES


@pytest.mark.parametrize(
    "line",
    [
        "Please enable targeting cookies to show this banner", "Share on WhatsApp", "Deel op WhatsApp",
        "Teilen auf Facebook", "This post contains affiliate links, and I may earn a commission.",
        "Log in or create an account to save this recipe.", "Top tip: be sure to cut away the green.", "1 | 12",
    ],
)  # fmt: skip
def test_site_text_after_the_steps_is_not_a_step(line):
    shown = "".join(f"<p>{each}</p>" for each in (*LINES, line))

    assert steps_of(recipe(f"<div>{shown}</div>")) == LINES
