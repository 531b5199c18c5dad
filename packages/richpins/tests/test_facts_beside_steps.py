"""Facts next to recipe steps, such as times, difficulty, calories and credits, in many languages."""

from __future__ import annotations

import pytest
from pins import pin

from richpins.visible_text.facts import is_address, is_fact, is_note_among_steps

LINES = (
    "Cut the leeks into rings of a thumb's width and wash them.",
    "Simmer them in the stock until they are soft.",
    "Stir in the cream and serve the soup in deep plates.",
)
LIST = "<ol>{}</ol>".format("".join(f"<li>{line}</li>" for line in LINES))
PARAGRAPHS = "".join(f"<p>{line}</p>" for line in LINES)
AMOUNTS = "<ul><li>2 cups leeks</li><li>1 tbsp butter</li><li>1 l stock</li><li>salt</li></ul>"
FACTS = (
    "Prep Time: 0:10", "Total Time: 1:45", "Ready in 40 min", "8 min cuisson", "Cuisson : 8min", "Repos : 1h",
    "access_time Repos : 1h", "microwave Cuisson : 8min", "120 Minuten (+300 Minuten Wartezeit)",
    "Dauer: unter 30 Minuten", "Vorbereitungszeit 20 Min.", "Tiempo total: 35 minutos", "Czas przygotowania: 30 minut",
    "Elkészítési idő: 60 perc", "Sütési idő: 20 perc", "Tempo di cottura 45 minuti", "Bereidingstijd: 25 min.",
    "Время приготовления: 40 минут", "Cook Time", "Ready In", "Prep", "Gesamtzeit", "Temps de préparation",
    "Easy", "Einfach", "Schwierigkeitsgrad: mittel", "Difficulty: Easy", "Très facile", "Dificultad: media",
    "Komplexität: einfach", "Łatwe",
)  # fmt: skip
NOTES = (
    "Watch how to make this recipe.", "Watch the video to see how it is made", "Regardez la vidéo", "Guarda il video",
    "Se videoen", "Créditos: Ada", "Crédit photo : Ada Voss", "Foto: Ada Voss", "Autor: Ada",
    "These cookies have 140 calories and 5 grams of sugar per serving.",
    "Per serving: 331 calories, 12 g fat", "Pro Portion: 420 kcal, 12 g Fett",
    "Por ración: 300 kcal y 10 g de grasa", "Nutrition: 210 kcal, 3 g protein",
)  # fmt: skip
ADDRESSES = ("www.kitchen.example", "https://kitchen.example/leeks")
STEPS = (
    "Bake 20 minutes.", "Cook 5 minutes.", "Rest for 10 minutes.", "Simmer 30 minutes or until soft.", "Backen Sie ihn 20 Minuten.",
    "Preheat the oven to 200 °C.", "Let it stand for 1 hour, then turn it.", "Prep the leeks", "Chill until the soup is cold",
    "Watch the pot closely, for the milk boils over.", "Arrange one slice per serving on the plates.",
    "Cook the rice to the point that it is easy to press.", "Simmer 1 hour with the lid on",
)  # fmt: skip


@pytest.mark.parametrize("line", FACTS)
def test_line_about_time_or_difficulty_is_a_fact(line):
    assert is_fact(line)


@pytest.mark.parametrize("line", NOTES)
def test_calories_videos_and_credits_are_not_steps(line):
    assert is_note_among_steps(line)


@pytest.mark.parametrize("line", ADDRESSES)
def test_url_or_host_name_is_an_address(line):
    assert is_address(line)


@pytest.mark.parametrize("line", [*STEPS, *LINES, "2 medium eggs", "1 hour-old bread", "12"])
def test_step_is_not_a_fact(line):
    assert not is_fact(line)
    assert not is_note_among_steps(line)
    assert not is_address(line)


def steps_of(body: str, lang: str = "en") -> tuple[str, ...]:
    recipe = pin(f"<html lang={lang}><main>{body}</main>").recipe
    return recipe.instructions if recipe else ()


@pytest.mark.parametrize("line", [*FACTS, *NOTES])
@pytest.mark.parametrize(
    "markup", ["<p>{}</p>", "<div><span>{}</span></div>", "<ul><li>{}</li></ul>"]
)
def test_fact_between_the_heading_and_the_steps_is_not_a_step(line, markup):
    facts = markup.format(line)

    assert steps_of(f"<h2>Ingredients</h2>{AMOUNTS}<h2>Directions</h2>{facts}{PARAGRAPHS}") == LINES


@pytest.mark.parametrize("line", NOTES)
def test_fact_after_the_steps_is_not_a_step(line):
    shown = f"{PARAGRAPHS}<p>{line}</p>"

    assert steps_of(f"<h2>Ingredients</h2>{AMOUNTS}<h2>Directions</h2><div>{shown}</div>") == LINES


@pytest.mark.parametrize("line", ["Bake 20 minutes.", "Cook 5 minutes.", "Rest for 10 minutes."])
def test_short_step_with_a_time_is_a_step(line):
    items = "".join(f"<li>{each}</li>" for each in (*LINES, line))

    found = steps_of(f"<h2>Ingredients</h2>{AMOUNTS}<h2>Directions</h2><ol>{items}</ol>")

    assert found == (*LINES, line)


@pytest.mark.parametrize(
    "line", ["Dauer: unter 30 Minuten", "Difficulty: Easy", "Komplexität: einfach"]
)
def test_fact_among_the_ingredients_is_not_an_ingredient(line):
    amounts = AMOUNTS.replace("<ul>", f"<ul><li>{line}</li>")
    recipe = pin(f"<main><h2>Ingredients</h2>{amounts}<h2>Directions</h2>{LIST}</main>").recipe

    assert recipe.ingredients == ("2 cups leeks", "1 tbsp butter", "1 l stock", "salt")


@pytest.mark.parametrize(
    "row",
    [
        "<li><span>{0} :</span><span>{1}</span></li>",
        "<li><i>access_time</i><span>{0} :</span><span>{1}</span></li>",
        "<dl><dt>{0}</dt><dd>{1}</dd></dl>",
        "<div><div><label>{0}</label></div><span>{1}</span></div>",
        "<div><p>{0}</p><p>{1}</p></div>",
    ],
)
@pytest.mark.parametrize(
    ("caption", "other"),
    [("Préparation", "Cuisson"), ("Preparazione", "Cottura"), ("Preparación", "Cocción"), ("Preparation", "Cooking")],
)  # fmt: skip
def test_label_in_a_row_of_times_is_not_a_heading(row, caption, other):
    facts = row.format(caption, "20 min") + row.format(other, "30 min")
    body = f"<ul>{facts}</ul><h2>Ingredients</h2>{AMOUNTS}<div class=intro></div>{LIST}"

    assert steps_of(body) == LINES
