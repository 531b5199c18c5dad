"""Dates, durations, prices and yields as sites write them, close to values that were misread."""

from __future__ import annotations

from decimal import Decimal

import pytest

from richpins.values import dates, durations
from richpins.values.money import find_amount
from richpins.values.yields import read_yield


@pytest.mark.parametrize(
    ("text", "language", "day"),
    [
        ("Freitag, 3. Mai 2024, 14.30 Uhr", "de", "2024-05-03"),
        ("le vendredi 3 mai 2024 à 14h30", "fr", "2024-05-03"),
        ("1er mai 2024", "fr", "2024-05-01"),
        ("3 de mayo de 2024", "es", "2024-05-03"),
        ("3 maggio 2024 alle 14:30", "it", "2024-05-03"),
        ("3 maja 2024 r.", "pl", "2024-05-03"),
        ("2024년 5월 3일", "ko", "2024-05-03"),
        ("令和6年5月3日", "ja", "2024-05-03"),
        ("民國113年5月3日", "zh-TW", "2024-05-03"),
        ("中華民國 113 年 5 月 3 日", "zh-TW", "2024-05-03"),
        ("平成30年12月1日", "ja", "2018-12-01"),
        ("令和元年5月1日 10:30", "ja", "2019-05-01"),
        ("am Freitag, 3. Mai 2024", "de", "2024-05-03"),
        ("el viernes 3 de mayo de 2024", "es", "2024-05-03"),
        ("3 Mayıs 2024 Cuma", "tr", "2024-05-03"),
        ("3 мая 2024 г., 14:30", "ru", "2024-05-03"),
        ("Friday the 3rd of May, 2024", "en", "2024-05-03"),
        ("May 3rd 2024 @ 2:30pm", "en", "2024-05-03"),
        ("03-May-2024", "en", "2024-05-03"),
        ("2024.05.03.", "hu", "2024-05-03"),
    ],
)
def test_date_is_parsed_in_its_language(text, language, day):
    assert str(dates.moment(text, language))[:10] == day


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("1h30", 90),
        ("1 h 30 min", 90),
        ("1 Std. 30 Min.", 90),
        ("anderthalb Stunden", 90),
        ("1½ hours", 90),
        ("1 1/2 hours", 90),
        ("an hour and a half", 90),
        ("90'", 90),
        ("1:30 h", 90),
        ("1 hour, plus 30 minutes resting", 90),
        ("2 x 20 min", 40),
        ("¾ Stunde", 45),
        ("half an hour", 30),
        ("eine halbe Stunde", 30),
        ("une heure et demie", 90),
        ("un’ora e mezza", 90),
        ("3×15 min", 45),
        ("45 ’", 45),
        ("1,5 uur", 90),
        ("PT1.5H", 90),
    ],
)
def test_duration_is_parsed_in_minutes(text, minutes):
    assert durations.minutes(text) == minutes


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("ab 1.299,00 €*", "1299.00"),
        ("€ 12,–", "12"),
        ("12 € 50", "12.50"),
        ("EUR 1 299.50", "1299.50"),
        ("$1,299.99/mo", "1299.99"),
        ("US$ 12.5", "12.5"),
        ("kr 1 299,-", "1299"),
        ("1.299:- SEK", "1299"),
        ("R$ 1.299,90 à vista", "1299.90"),
        ("£12.99 each", "12.99"),
        ("￥1,299（税込）", "1299"),
        ("Preis: 12,99 EUR inkl. MwSt.", "12.99"),
    ],
)
def test_price_is_parsed_with_the_text_around_it(text, amount):
    assert find_amount(text, "XXX") == Decimal(amount)


@pytest.mark.parametrize(
    ("text", "quantity", "unit"),
    [
        ("Makes one 9-inch pie", "1", "pie"),
        ("Makes a dozen muffins", "1", "dozen muffins"),
        ("serves four", "4", "servings"),
        ("For 4 to 6 people", "6", "servings"),
        ("4–6 Personen", "6", "servings"),
        ("ca. 20 Stück", "20", "stück"),
        ("Pour 6 personnes", "6", "servings"),
        ("4 osoby", "4", "servings"),
        ("6人分", "6", "servings"),
        ("Yield: 2 (8-inch) cakes", "2", "cakes"),
        ("12 cookies", "12", "cookies"),
        ("1 loaf (10 slices)", "1", "loaf"),
        ("about 3 cups", "3", "cups"),
        ("vier Portionen", "4", "servings"),
        ("Rende 8 porções", "8", "servings"),
        ("zwölf Muffins", "12", "muffins"),
        ("quatre personnes", "4", "servings"),
        ("Makes 24 (2 oz) rolls", "24", "rolls"),
        ("1 20-cm tart", "1", "tart"),
        ("2 loaves, one for the freezer", "2", "loaves"),
    ],
)
def test_yield_is_a_number_and_its_unit(text, quantity, unit):
    read = read_yield(text)

    assert (read.quantity, read.unit) == (Decimal(quantity), unit)
