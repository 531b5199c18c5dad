"""Which lines of a page are the steps of its recipe: typical pages and near misses."""

from __future__ import annotations

import pytest
from pins import pin

LINES = (
    "Cut the leeks into rings of a thumb's width and wash them.",
    "Simmer them in the stock until they are soft.",
    "Stir in the cream and serve the soup in deep plates.",
)
LIST = "<ol>{}</ol>".format("".join(f"<li>{line}</li>" for line in LINES))
PARAGRAPHS = "".join(f"<p>{line}</p>" for line in LINES)
AMOUNTS = "<ul><li>2 cups leeks</li><li>1 tbsp butter</li><li>1 l stock</li><li>salt</li></ul>"
PROSE = (
    "<p>Making this soup is much easier than it seems, and it needs one pot.</p>"
    "<p>Leeks are sweet when they cook slowly, so take your time with them.</p>"
    "<p>Cream makes it round, and nobody will miss the meat in this soup.</p>"
)


def steps_of(body: str) -> tuple[str, ...]:
    recipe = pin(f"<main>{body}</main>").recipe
    return recipe.instructions if recipe else ()


@pytest.mark.parametrize(
    "heading",
    ["How to Make Leek Soup", "How to cook leek soup", "How to prepare leeks", "Here’s how it goes",
     "Step by step to a good soup", "Let’s cook leek soup"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["Directions", "Instructions", "Method", "Preparation"])
def test_specific_heading_of_steps_is_preferred_to_a_vague_one(heading, name):
    prose = f"<h2>{heading}</h2>{PROSE}"
    recipe = f"<h2>Ingredients</h2>{AMOUNTS}<h2>{name}</h2>{LIST}"

    assert steps_of(f"{prose}{recipe}") == LINES
    assert steps_of(f"{recipe}{prose}") == LINES


@pytest.mark.parametrize("tag", ["h1", "h2", "h3"])
def test_vague_heading_is_used_if_there_is_no_other(tag):
    body = f"<h2>Ingredients</h2>{AMOUNTS}<{tag}>How to make leek soup</{tag}>{LIST}"

    assert steps_of(body) == LINES


@pytest.mark.parametrize(
    "title", ["Recette de soupe aux poireaux", "How to make leek soup", "Recette facile : soupe"]
)
def test_page_title_is_not_the_heading_of_the_steps(title):
    body = (
        f"<h1>{title}</h1>{PROSE}<div><h2>Ingrédients</h2>{AMOUNTS}</div>"
        f"<div><ul class=recipe-steps>{''.join(f'<li><p>{line}</p></li>' for line in LINES)}</ul></div>"
    )

    assert steps_of(body) == LINES


TIMES = {
    "paragraphs": "<div><p>{0}</p></div><div><p>{1}</p></div>",
    "spans": "<div><span>{0}</span><span>{1}</span></div>",
    "bold": "<p><strong>{0}</strong> {1}</p>",
    "terms": "<dl><dt>{0}</dt><dd>{1}</dd></dl>",
    "heads": "<table><tr><th>{0}</th><td>{1}</td></tr></table>",
    "headings": "<div><h4>{0}</h4><div>{1}</div></div>",
    "blocks": "<div><div><p>{0}</p></div><div class=value><div><p>{1}</p></div></div></div>",
    "after a picture": "<div><img src=/a.svg><div><p>{0}</p></div><div><img src=/b.svg><p>{1}</p></div></div>",
}


@pytest.mark.parametrize("markup", TIMES.values(), ids=TIMES)
@pytest.mark.parametrize(
    ("label", "time", "other", "heading"),
    [
        ("Preparación", "20 min", "Cocinado", "Elaboración"),
        ("Préparation :", "1 h 30", "Cuisson", "Étapes"),
        ("Preparazione", "15 minuti", "Cottura", "Procedimento"),
        ("Preparation", "10 mins", "Cooking", "Method"),
        ("Zubereitung", "30 Minuten", "Backen", "Anleitung"),
        ("Bereiding", "25 min.", "Oven", "Werkwijze"),
        ("Przygotowanie", "40 min", "Pieczenie", "Wykonanie"),
    ],
)
def test_label_of_a_time_is_not_the_heading_of_the_steps(markup, label, time, other, heading):
    facts = markup.format(label, time) + markup.format(other, "30 min")
    body = (
        f"<div>{facts}<ul><li>Gluten</li><li>Milk</li><li>Nuts</li></ul></div>"
        f"<h2>Ingredients</h2>{AMOUNTS}<h2>{heading}</h2>{LIST}"
    )

    assert steps_of(body) == LINES


def test_step_that_starts_with_a_time_is_a_step():
    lines = ("30 minutes before you begin, soak the beans in water.", *LINES)
    items = "".join(f"<p>{line}</p>" for line in lines)

    assert steps_of(f"<h2>Ingredients</h2>{AMOUNTS}<h2>Preparation</h2>{items}") == lines


NAMES = ("Wash the leeks", "Cook the soup", "Serve")


@pytest.mark.parametrize(
    "step",
    [
        "<div class=step><h4>{0}</h4><p>{1}</p></div>",
        "<div class=step><div class=name>{0}</div><div>{1}</div></div>",
        "<li><p>{0}</p><p>{1}</p></li>",
        "<li><b>{0}</b><p>{1}</p></li>",
        "<div><p><strong>{0}</strong></p><p>{1}</p></div>",
    ],
)
def test_name_above_each_step_is_not_a_step(step):
    shown = "".join(step.format(name, line) for name, line in zip(NAMES, LINES, strict=True))
    shown = f"<ol>{shown}</ol>" if step.startswith("<li") else shown
    found = steps_of(f"<h2>Ingredients</h2>{AMOUNTS}<h2>Directions</h2>{shown}")

    assert [each.removeprefix(f"{name}. ") for name, each in zip(NAMES, found, strict=True)] == [
        *LINES
    ]


def test_short_steps_between_longer_ones_are_kept():
    lines = (LINES[0], "Salt.", LINES[1], "Stir well", LINES[2])
    items = "".join(f"<li>{line}</li>" for line in lines)

    assert steps_of(f"<h2>Ingredients</h2>{AMOUNTS}<h2>Directions</h2><ol>{items}</ol>") == lines


@pytest.mark.parametrize(
    "step",
    [
        "<li><div class=small>{0}</div><div class=large>{0}</div></li>",
        "<li><p>{0}</p><p>{0}</p></li>",
        "<li>{0}</li><li>{0}</li>",
        "<li><div><p>{0}</p><p>Taste it, and add salt.</p></div><div><p>{0}</p><p>Taste it, and add salt.</p></div></li>",
        "<div><span>{0}</span></div><div><p>{0}</p></div>",
    ],
)
def test_step_written_for_two_screen_sizes_is_read_once(step):
    shown = "".join(step.format(line) for line in LINES)
    shown = f"<ol>{shown}</ol>" if step.startswith("<li") else shown

    found = steps_of(f"<h2>Ingredients</h2>{AMOUNTS}<h2>Directions</h2>{shown}")

    assert tuple(each.removesuffix(" Taste it, and add salt.") for each in found) == LINES


@pytest.mark.parametrize("heading", ["Modo de preparo", "Preparation", "Préparation"])
def test_heading_next_to_its_time_is_used_if_there_is_no_other(heading):
    body = f"<h2>Ingredients</h2>{AMOUNTS}<div><h2>{heading}</h2> <span>5min</span></div>{LIST}"

    assert steps_of(body) == LINES


def test_heading_repeated_with_its_time_is_not_a_step():
    again = "<div><h2>Modo de preparo</h2> <span>5min</span></div>"
    body = f"<h2>Ingredients</h2>{AMOUNTS}<h2>Modo de preparo</h2><p>Modo de preparo 5min</p>{LIST}"

    assert steps_of(body) == steps_of(body.replace("<p>Modo de preparo 5min</p>", again)) == LINES


def test_short_step_may_be_repeated():
    lines = (LINES[0], "Stir.", "Stir.", LINES[1])
    items = "".join(f"<li>{line}</li>" for line in lines)

    assert steps_of(f"<h2>Ingredients</h2>{AMOUNTS}<h2>Directions</h2><ol>{items}</ol>") == lines


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Voorbereiden", "Bereiden"),
        ("Vorbereitung", "Zubereitung"),
        ("Vorbereiten", "Zubereiten"),
        ("Preparation", "Method"),
        ("Préparation", "Réalisation"),
        ("Preparación", "Elaboración"),
    ],
)
@pytest.mark.parametrize("tag", ["h2", "h3", "h4"])
def test_preparation_section_is_part_of_the_steps(first, second, tag):
    body = (
        f"<h2>Ingredients</h2>{AMOUNTS}<{tag}>{first}</{tag}><p>{LINES[0]}</p>"
        f"<{tag}>{second}</{tag}><p>{LINES[1]}</p><p>{LINES[2]}</p>"
    )

    assert steps_of(body) == LINES


@pytest.mark.parametrize(
    "line",
    [
        "Vælg det ønskede antal stjerner. Du gav 0 stjerner. Giv 0 stjerner",
        "Click on a star to rate it!",
        "Average rating 4.6 / 5. Vote count: 35",
        "Average rating: 4.6 out of 5 stars",
        "Klicke auf die Sterne, um zu bewerten.",
        "Cliquez sur les étoiles pour noter cette recette.",
        "Haz clic en una estrella para puntuar.",
        "Klik op een ster om dit recept te beoordelen.",
        "Be the first to rate this recipe",
        "Clicca sulle stelle per votare",
    ],
)
@pytest.mark.parametrize("markup", ["<p>{}</p>", "<div>{}</div>", "<div><span>{}</span></div>"])
def test_star_rating_prompt_is_not_a_step(line, markup):
    body = f"<h2>Ingredients</h2>{AMOUNTS}<h2>Directions</h2><div>{PARAGRAPHS}{markup.format(line)}</div>"

    assert steps_of(body) == LINES


@pytest.mark.parametrize(
    "line",
    [
        "Cut stars out of the dough and bake them for ten minutes.",
        "Add two star anise and a stick of cinnamon to the pot.",
        "Die Sterne ausstechen und auf das Blech legen.",
    ],
)
def test_step_that_mentions_stars_is_a_step(line):
    body = f"<h2>Ingredients</h2>{AMOUNTS}<h2>Directions</h2><div>{PARAGRAPHS}<p>{line}</p></div>"

    assert steps_of(body) == (*LINES, line)
