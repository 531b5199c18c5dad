"""Dates in the orders and spellings of many countries, and how ambiguous ones are resolved."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pins import ld, pin

from richpins.values.dates import moment

_DAYS = st.dates(date(1995, 1, 1), date(2035, 12, 31))


@pytest.mark.parametrize("language", ["fr", "pt-BR", "es", "de-AT", "it", "ru", "en-GB", "en_IN"])
def test_language_decides_that_the_day_comes_first(language):
    assert moment("2/12/2015", language) == date(2015, 12, 2)
    assert moment("02-12-2015 10:30", language).isoformat() == "2015-12-02T10:30:00"


@pytest.mark.parametrize("language", [None, "", "en", "en-US", "fr-CA", "es-PR", "zh", "x"])
def test_language_with_both_orders_leaves_the_date_ambiguous(language):
    assert moment("2/12/2015", language) is None
    assert moment("25/12/2015", language) == date(2015, 12, 25)
    assert moment("12/25/2015", language) == date(2015, 12, 25)


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("terça-feira, 10-02-2015 4:06", "2015-02-10T04:06:00"),
        ("Wed, 07/12/2023 - 17:57", "2023-07-12T17:57:00"),
        ("Wed, 12/07/2023 - 17:57", "2023-07-12T17:57:00"),
        ("mardi 10/02/2015", "2015-02-10"), ("Di., 10/02/2015", "2015-02-10"),
        ("вторник, 10/02/2015", "2015-02-10"), ("martes 10/02/2015 4:06", "2015-02-10T04:06:00"),
    ],
)  # fmt: skip
def test_weekday_resolves_an_ambiguous_date(text, iso):
    assert moment(text).isoformat() == iso


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Tue, 07/11/2023 - 17:57", "en"),  # Tuesday in both readings
        ("Friday 10/02/2016", "en"),  # Friday in neither
        ("Friday 10/02/2016", "fr"),
        ("Updated 03/04/2024", "fr"),
        ("10 12 2015", "fr"),
        ("32/01/2015", "fr"),
    ],
)
def test_date_that_stays_ambiguous_is_ignored(text, language):
    assert moment(text, language) is None


@given(_DAYS, st.sampled_from(["/", "-"]))
def test_english_date_is_never_parsed_as_another_day(day, mark):
    for text in (f"{day:%d}{mark}{day:%m}{mark}{day:%Y}", f"{day:%m}{mark}{day:%d}{mark}{day:%Y}"):
        assert moment(text) in {day, None}
        assert moment(f"{day:%a}, {text}") in {day, None}


@given(_DAYS, st.sampled_from(["{:%Y %m %d}", "{:%d. %m. %Y}", "{:%Y. %m. %d.}", "{:%B %d,%Y}"]))
def test_unambiguous_date_is_parsed(day, form):
    assert moment(form.format(day)) == day


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("Wed, Feb 03 2016. 01:37 PM", "2016-02-03T13:37:00"),
        ("Feb 3, 2016 - 1:37 pm", "2016-02-03T13:37:00"),
        ("Feb 3, 2016 | 13:37", "2016-02-03T13:37:00"),
        ("3 mai 2020 à 10h15", "2020-05-03T10:15:00"),
        ("18/10/2024 às 09h30", "2024-10-18T09:30:00"),
        ("18.10.2024 um 9:30 Uhr", "2024-10-18T09:30:00"),
        ("18.10.2024 kl. 09:30", "2024-10-18T09:30:00"),
        ("Wednesday,February 3,2016", "2016-02-03"), ("May 17,2019", "2019-05-17"),
        ("2010 09 25 10:00", "2010-09-25T10:00:00"),
    ],
)  # fmt: skip
def test_punctuation_and_words_between_date_and_time_are_skipped(text, iso):
    assert moment(text).isoformat() == iso


@pytest.mark.parametrize("time", [" 13:5", "T13:5", " 13", " 13:", " 13:5:7"])
@pytest.mark.parametrize("day", ["2016-04-21", "21/04/2016", "21.04.2016"])
def test_day_is_kept_when_the_time_is_cut(day, time):
    assert moment(day + time) == date(2016, 4, 21)


def test_language_of_the_page_applies_to_all_its_dates():
    article = ld({"@type": "NewsArticle", "headline": "B", "datePublished": "2/12/2015",
                  "dateModified": "3/12/2015"})  # fmt: skip
    page = pin(f'<html lang="fr"><title>B</title>{article}')

    assert page.published_at == date(2015, 12, 2)
    assert page.modified_at == page.published_at + timedelta(days=1)


_TEXT = "<p>" + "A sentence of the town that opened its bridge on Monday. " * 5 + "</p>"


@pytest.mark.parametrize(
    ("language", "shown", "iso"),
    [
        ("ja", "<p class=date>公開日：2019年4月13日 10時05分</p>", "2019-04-13T10:05:00"),
        ("ja", "<p>公開日：2019年4月13日</p>", "2019-04-13"),
        ("zh", "<span>发布时间：2022/9/9 14:21:26</span>", "2022-09-09T14:21:26"),
        ("ko", "<p class=date>입력 2022.09.13 14:21</p>", "2022-09-13T14:21:00"),
        ("pt-BR", "<div>Publicado em 08/10/2024 às 09h30</div>", "2024-10-08T09:30:00"),
        ("fr", "<div class=date>Publié le 08/10/2024 à 09h30</div>", "2024-10-08T09:30:00"),
    ],
)
def test_date_is_found_after_its_label(language, shown, iso):
    page = pin(f"<html lang={language}><title>B</title><h1>Bridge</h1>{shown}{_TEXT}")

    assert page.published_at.isoformat() == iso


@pytest.mark.parametrize(
    ("shown", "name"),
    [
        ("<span>作者：<strong>长河</strong></span>", "长河"), ("<p>記者：王小明</p>", "王小明"),
        ("<div>Autor: <a href=/x>Jana Nováková</a></div>", "Jana Nováková"),
        ("<p><b>Auteur</b> : Anne Dupont</p>", "Anne Dupont"), ("<p>Автор: Иван Петров</p>", "Иван Петров"),
    ],
)  # fmt: skip
def test_author_is_found_after_its_label(shown, name):
    assert pin(f"<title>B</title><h1>Bridge</h1>{shown}{_TEXT}").authors == (name,)


@pytest.mark.parametrize(
    "shown", ["<p>Author: login</p>", "<p>Autor: 3 de mayo</p>", "<p>作者：</p><p>x</p>"]
)
def test_text_that_is_not_a_name_is_not_an_author(shown):
    assert not pin(f"<title>B</title><h1>Bridge</h1>{shown}{_TEXT}").authors
