"""Dates with named months: every unambiguous order, in many languages, next to names."""

from __future__ import annotations

from collections import Counter
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pins import pin

from richpins.values.dates import moment
from richpins.values.month_names import _NAMES_BY_MONTH, MONTHS, month_number

_DAYS = st.dates(date(1995, 1, 1), date(2035, 12, 31))
_ORDERS = (
    "{y} {name} {d}", "{y} {name} {d:02}", "{y}, {name} {d}", "{y}. {name} {d}.", "{y}-{name}-{d:02}",
    "{y} {d} {name}", "{y}. gada {d}. {name}", "{y} m. {name} {d} d.", "{d}-{name}-{y}",
    "{d:02}/{name}/{y}", "{name}-{d}-{y}", "the {d}th of {name} {y}", "{d} {name} {y}",
    "{name} {d}, {y}", "{d} d'{name} de {y}", "{d}. {name} {y}", "{d}º de {name} de {y}",
    "{d}er {name} {y}",
)  # fmt: skip
_WEEKDAYS = ("", "Monday ", "Monday, ", "Mon. ", "Montag, ", "lunes ", "понедельник, ")


@given(_DAYS, st.sampled_from(_ORDERS), st.sampled_from(sorted(MONTHS)), st.sampled_from(_WEEKDAYS))
def test_every_unambiguous_order_is_parsed_in_every_language(day, order, name, weekday):
    day = day.replace(day=min(day.day, 28), month=MONTHS[name])
    text = weekday + order.format(y=day.year, d=day.day, name=name.capitalize())
    assert moment(text) == day


@pytest.mark.parametrize(
    "text",
    [
        "2018 March", "2018 March 18:30", "2018 Soup 18", "March 2018 18", "18 March 18",
        "2018 March 32", "20 Minuten 2018",
    ],
)  # fmt: skip
def test_impossible_day_of_a_named_month_is_ignored(text):
    assert moment(text) is None


def test_ambiguous_month_names_are_not_used():
    names = [name for month in _NAMES_BY_MONTH for name in month.split()]
    assert not [name for name, count in Counter(names).items() if count > 1]
    assert month_number("listopad") is month_number("lip") is None


@pytest.mark.parametrize(
    ("text", "language", "month"),
    [
        ("12. listopada 2024.", "hr", 10), ("12 listopada 2024", "pl", 11),
        ("12 listopada 2024", None, 11), ("12. listopad 2024", "cs-CZ", 11),
        ("3 lip 2024", "pl", 7), ("3. lip 2024.", "hr", 6),
    ],
)  # fmt: skip
def test_language_decides_about_ambiguous_month_names(text, language, month):
    instant = moment(text, language)
    assert instant is not None
    assert instant.month == month


def published(body: str, lang: str = "en"):
    meta = '<meta property="og:type" content="article">'
    page = pin(f"<html lang={lang}><head>{meta}</head><body><article><h1>A bridge</h1>{body}")
    return page.published_at and page.published_at.isoformat()[:10], page.authors


@pytest.mark.parametrize(
    ("line", "day"),
    [
        ("<p class=date>Published: 2018 March 18</p>", "2018-03-18"),
        ("<time>2024 Aug 5</time>", "2024-08-05"),
        ("<p>2018. március 18.</p>", "2018-03-18"),
        ("<p>Sunday 18 March 2018</p>", "2018-03-18"),
        ("<p>Sunday, March 18, 2018</p>", "2018-03-18"),
        ("<p>18th of March 2018</p>", "2018-03-18"),
        ("<div class=byline>Monday August 27, 2018 10:05 am PDT by <a rel=author href=/j>Julia Clover</a></div>", "2018-08-27"),
        ("<p class=byline>By Julia Clover, 2018 August 27</p>", "2018-08-27"),
        ("<p>Neděle 18. března 2018</p>", "2018-03-18"),
    ],
)  # fmt: skip
def test_date_below_the_title_is_the_publication_date(line, day):
    assert published(f"{line}<p>The mayor cut the ribbon.</p>")[0] == day


@pytest.mark.parametrize(
    ("byline", "names"),
    [
        ("By Angela Mar November 12, 2019", ("Angela Mar",)),
        ("By Angela May 12 November 2019", ("Angela May",)),
        ("By April Jones | 2019 November 12", ("April Jones",)),
        ("By June de la Mar, Tuesday, November 12, 2019", ("June de la Mar",)),
    ],
)
def test_name_that_is_a_month_is_separated_from_the_following_date(byline, names):
    assert published(f"<p class=byline>{byline}</p>") == ("2019-11-12", names)


@pytest.mark.parametrize(
    "byline",
    [
        "By <span>ABBY GOODWIN</span>, <span>TOM KAPLAN</span> and <span>ROBERT PEAR</span>",
        "By ABBY GOODWIN, TOM KAPLAN and ROBERT PEAR",
        "By <a href=/a>ABBY GOODWIN</a>, <a href=/t>TOM KAPLAN</a>, and <a href=/r>ROBERT PEAR</a>",
    ],
)
def test_all_names_of_a_byline_are_authors(byline):
    assert published(f"<p class=byline>{byline}</p>")[1] == (
        "ABBY GOODWIN", "TOM KAPLAN", "ROBERT PEAR",
    )  # fmt: skip


def test_job_title_after_a_comma_is_not_an_author():
    assert published("<p class=byline>By Abby Goodwin, chief editor</p>")[1] == ("Abby Goodwin",)
