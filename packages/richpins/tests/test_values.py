"""Parsers of single values: numbers, prices, times, dates, yields and codes."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pins import pin, recipe_ld

from richpins._plain_text import clean, lines
from richpins.page_types.book import isbn
from richpins.page_types.place import coordinates
from richpins.page_types.product import availability, condition, gtin
from richpins.values import dates, durations, money, numbers, ratings, scalars
from richpins.values.ratings import Rating
from richpins.values.yields import Yield, read_yield


@pytest.mark.parametrize(
    ("value", "currency", "expected"),
    [
        (19.9, None, "19.9"),
        ("19.90", "EUR", "19.90"),
        ("1.299,00 €", "EUR", "1299.00"),
        ("$1,299.00", "USD", "1299.00"),
        ("1,299", "USD", "1299"),
        ("1.299", "EUR", "1299"),
        ("1.299", "KWD", "1.299"),
        ("1.299", None, "1.299"),
        ("0.299", "EUR", "0.299"),
        ("1.299.000", "IDR", "1299000"),
        ("12 500 kr", "SEK", "12500"),
        ("1'250.50", "CHF", "1250.50"),
        ("1,5", None, "1.5"),
        ("12,34,567", "INR", "1234567"),
        ("٤٢", None, "42"),
        ("١٢٫٥", None, "12.5"),
    ],
)
def test_number_is_parsed_in_the_notation_of_its_country(value, currency, expected):
    assert numbers.decimal(value, currency) == Decimal(expected)


@pytest.mark.parametrize(
    "value", [None, True, "", "free", "1.2.3", "1,2.3,4", "9" * 40, float("nan"), float("inf"), [1]]
)
def test_text_without_exactly_one_number_is_ignored(value):
    assert numbers.decimal(value) is None


def test_currency_is_a_code_or_an_unambiguous_symbol():
    assert money.find_currency("eur") == "EUR"
    assert money.find_currency("£ 12") == "GBP"
    assert money.find_currency("12.00 CHF") == "CHF"
    assert money.find_currency("$ 12") is None
    assert money.find_currency("dollars") is None


@pytest.mark.parametrize(
    ("value", "minutes"),
    [
        ("PT1H30M", 90),
        ("P0DT0H45M0S", 45),
        ("PT90", 90),
        ("PT1H30", 90),
        ("pt2h", 120),
        ("P1DT2H", 1560),
        ("P1D", 1440),
        ("PT0.5H", 30),
        ("PT45S", 1),
        ("PT30M0H", 30),
        ("T20M", 20),
        ("1 hour 20 mins", 80),
        ("1h30", 90),
        ("1 h 5", 65),
        ("1:45", 105),
        ("1:45:00", 105),
        ("90", 90),
        (25, 25),
        ("25 Minuten", 25),
        ("2 Std. 15 Min.", 135),
        ("1 heure 10 minutes", 70),
        ("3 timmar", 180),
        ("40 мин", 40),
        ("1 час 20 мин", 80),
        ("20-30 minutes", 30),
        ("1½ hours", 90),
        ("1 1/2 hours", 90),
        ("half an hour", 30),
        ("Prep: 15 minutes", 15),
    ],
)
def test_duration_is_in_whole_minutes(value, minutes):
    assert durations.minutes(value) == minutes


@pytest.mark.parametrize(
    "value", [None, "", "PT0M", "PT", "P", "soon", "0", "overnight", "-5", "PT999999H", {}]
)
def test_text_without_a_duration_is_ignored(value):
    assert durations.minutes(value) is None


@pytest.mark.parametrize(
    ("value", "iso"),
    [
        ("2024-05-01", "2024-05-01"),
        ("20240501", "2024-05-01"),
        ("2024-05-01T10:00", "2024-05-01T10:00:00"),
        ("2024-05-01 10:00:07", "2024-05-01T10:00:07"),
        ("2024-05-01T10:00:00Z", "2024-05-01T10:00:00+00:00"),
        ("2024-05-01T10:00:00.250+0200", "2024-05-01T10:00:00.250000+02:00"),
        ("2024-05-01T10:00:00-05", "2024-05-01T10:00:00-05:00"),
        ("Wed, 01 May 2024 10:00:00 GMT", "2024-05-01T10:00:00+00:00"),
        ("May 1, 2024", "2024-05-01"),
        ("1 mai 2024", "2024-05-01"),
        ("1. Mai 2024", "2024-05-01"),
        ("1 de mayo de 2024", "2024-05-01"),
        ("May 1, 2024 at 3:05 pm", "2024-05-01T15:05:00"),
        ("2024-05-01 10:05 PM", "2024-05-01T22:05:00"),
        ("2024-05-01 12:05:09 a.m.", "2024-05-01T00:05:09"),
        ("2024-05-01 10:00 am UTC", "2024-05-01T10:00:00+00:00"),
        ("31/12/2023", "2023-12-31"),
        ("12/31/2023", "2023-12-31"),
        ("31.12.2023", "2023-12-31"),
        ("2023/12/31", "2023-12-31"),
        ("Wed May 01 2024 10:00:00 GMT+0200", "2024-05-01T10:00:00+02:00"),
        (1714557600, "2024-05-01T10:00:00+00:00"),
        ("1714557600000", "2024-05-01T10:00:00+00:00"),
    ],
)
def test_date_keeps_its_precision_and_time_zone(value, iso):
    assert dates.moment(value).isoformat() == iso


@pytest.mark.parametrize(
    "value",
    [
        "",
        "03/04/2024",
        "2024-13-01",
        "2024-02-30",
        "yesterday",
        "2024",
        "0000-00-00",
        None,
        True,
        7,
    ],
)
def test_ambiguous_or_unreadable_date_is_ignored(value):
    assert dates.moment(value) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("4", "4 servings"),
        (6, "6 servings"),
        ("Serves 4", "4 servings"),
        ("4 servings", "4 servings"),
        ("1 serving", "1 serving"),
        ("für 4 Personen", "4 servings"),
        ("Pour 6 personnes", "6 servings"),
        ("12 cookies", "12 cookies"),
        ("Makes 1 loaf", "1 loaf"),
        ("6-8", "8 servings"),
        ("6 to 8 servings", "8 servings"),
        ("1 1/2 cups", "1.5 cups"),
        (["4", "4 bowls"], "4 bowls"),
        (["4"], "4 servings"),
        (["4", "4 to 6 bowls"], "4 bowls"),
        ("4 servings (12-16 pieces)", "4 servings"),
        ("one loaf", "1 loaf"),
    ],
)
def test_yield_is_a_number_with_a_unit(value, text):
    assert str(read_yield(value)) == text


@pytest.mark.parametrize("value", [None, "", "some", "0", [], True])
def test_text_without_a_yield_is_ignored(value):
    assert read_yield(value) is None


def test_availability_and_condition_accept_schema_org_and_open_graph():
    assert availability("http://schema.org/InStock") == "in_stock"
    assert availability("schema:OutOfStock") == "out_of_stock"
    assert availability("pre order") == "pre_order"
    assert availability("maybe") is None
    assert condition("https://schema.org/UsedCondition") == "used"
    assert condition("x") is None


def test_codes_with_a_wrong_check_digit_are_ignored():
    assert isbn("ISBN 978-0-306-40615-7") == "9780306406157"
    assert isbn("0-306-40615-2") == "0306406152"
    assert isbn("9780306406158") is None
    assert gtin("4006381333931") == "4006381333931"
    assert gtin("4006381333932") is None
    assert gtin("00000000") is None


def test_impossible_coordinates_are_ignored():
    assert coordinates(("48.1° N", "11,5 W")).longitude == Decimal("-11.5")
    assert coordinates(("91", "0.5")) is None
    assert coordinates(("0", "0")) is None


@pytest.mark.parametrize(
    ("rating", "value"),
    [
        ({"ratingValue": "4.5", "bestRating": "5"}, "4.5"),
        ({"ratingValue": "9", "bestRating": "10"}, "9"),
        ({"ratingValue": "11", "bestRating": "10"}, None),
        ({"ratingValue": "4", "bestRating": "3"}, "4"),
        ({"ratingValue": "-1"}, None),
        ({"ratingValue": "0"}, None),
        ({"ratingValue": "0", "ratingCount": "3"}, "0"),
    ],
)
def test_rating_stays_within_its_scale(rating, value):
    rich_pin = pin(recipe_ld(aggregateRating=rating)).recipe.rating

    assert (rich_pin and rich_pin.value) == (value and Decimal(value))


def test_rating_must_be_a_number_above_zero():
    assert ratings.rating("4.5").value == Decimal("4.5")
    assert ratings.rating("none") is None
    assert ratings.rating(0) is None


def test_url_is_not_a_name_and_by_is_removed():
    assert scalars.name("By Ann Baker ") == "Ann Baker"
    assert scalars.name("https://a.test/ann") is None
    assert scalars.names(["Ann", "Ann", "", "Bo"]) == ("Ann", "Bo")


def test_markup_escapes_and_odd_whitespace_are_removed_from_text():
    assert clean("a&amp;amp;b <b>c</b>\u200b\u00a0 d<br>e") == "a&b c d e"
    assert clean("2 < 3 and 4 > 1") == "2 < 3 and 4 > 1"
    assert lines("<p>a</p>b<br/>c\nd<li>e") == ["a", "b", "c", "d", "e"]


@given(st.text(max_size=60) | st.floats() | st.integers())
def test_parsers_accept_any_value(value):
    assert isinstance(numbers.decimal(value, "EUR"), Decimal | None)
    assert isinstance(money.find_currency(value), str | None)
    assert isinstance(durations.minutes(value), int | None)
    assert isinstance(dates.moment(value), date | None)
    assert isinstance(read_yield(value), Yield | None)
    assert isinstance(ratings.rating(value), Rating | None)
    assert isinstance(scalars.language(value), str | None)


@given(st.decimals(0, 9_999_999, places=2))
def test_price_round_trips_in_two_notations(price):
    american = f"{price:,.2f}"
    german = american.translate({ord(","): ".", ord("."): ","})

    assert numbers.decimal(american, "USD") == price
    assert numbers.decimal(german, "EUR") == price


@given(st.integers(1, 5_000))
def test_iso_duration_round_trips(minutes):
    assert durations.minutes(f"PT{minutes // 60}H{minutes % 60}M") == minutes


@given(st.datetimes(timezones=st.just(None)))
def test_iso_time_round_trips(when):
    when = when.replace(year=max(1000, min(2199, when.year)), day=min(when.day, 28))

    assert dates.moment(when.isoformat()) == when
