"""Notations of numbers and currencies: which are prices, and which are not."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from richpins.values import numbers
from richpins.values.money import find_amount, find_currency


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("1.25E7", "12500000"), ("1.25e7", "12500000"), ("1.0E-2", "0.01"), ("1E3", "1000"),
        ("1.2E7 EUR", "12000000"), (".75", "0.75"), (",75", "0.75"), ("$.99", "0.99"),
        ("$ .99", "0.99"), ("Rs.499", "499"), ("kr.49", "49"), ("Rp.50.000", "50000"),
        ("$1.2M", "1200000"), ("1,2 Mio. €", "1200000"), ("500K", "500000"),
        ("50 тыс. руб", "50000"), ("5만원", "50000"), ("1.2万円", "12000"), ("₹50 Lakh", "5000000"),
        ("₹1.5 Crore", "15000000"), ("Rp50rb", "50000"), ("5€99", "5.99"), ("5 € 99", "5.99"),
        ("12 zł 50 gr", "12.50"), ("5$99", "5.99"), ("12⁹⁹ €", "12.99"), ("12.⁹⁹ €", "12.99"),
        ("2 $50", "50"), ("&#36;99.00", "99.00"), ("&euro;12,99", "12.99"),
        ("&pound;1,299", "1299"), ("\\u20ac12.99", "12.99"), ("<b>12</b>.99", "12.99"),
        ('<b class="p20">12.99</b>', "12.99"), ("CHF 1'299.–", "1299"), ("CHF 1’299.50", "1299.50"),
        ("1\u202f299,00 €", "1299.00"), ("1\u2009299 €", "1299"), ("1\u00a0299 Kč", "1299"),
        ("Rs. 1,29,900", "129900"), ("₹12,34,567.50", "1234567.50"), ("１２．９９", "12.99"),
        ("\u200f12.90 ₪", "12.90"), ("12,-", "12"), ("12.— CHF", "12"), ("−5 €", "-5"),
        ("S/ 12.50", "12.50"), ("18K gold $99", "99"), ("1.299.000 ₫", "1299000"),
    ],
)  # fmt: skip
def test_price_is_parsed_in_the_notations_of_many_countries(text, amount):
    assert find_amount(text, "XXX") == Decimal(amount)


@pytest.mark.parametrize(
    "text",
    [
        "£1.2m", "$5 M", "5 mil", "1,5 Mrd. €", "$2bn", "12E3", "1.25E700", "12'99", "$12 99",
        "12 99", "1½ €", "2 for $5", "3 für 10 €", "99 ct", "1億2000万円",
        "1,2,3.50", "12.34,5", "1.2.3", "1.299.00", "12 %",
    ],
)  # fmt: skip
def test_partly_readable_price_is_ignored(text):
    assert find_amount(text, "XXX") is None


@pytest.mark.parametrize("text", ["3M views", "12k", "1.2万", "5 million", "1.25E700", "1'25"])
def test_rounded_or_odd_number_is_not_a_count(text):
    assert numbers.count(text) is None


@pytest.mark.parametrize(
    ("text", "country", "code"),
    [
        ("RUR", None, "RUB"), ("RMB", None, "CNY"), ("NIS", None, "ILS"), ("NIS 99", None, "ILS"),
        ("99 NIS", None, "ILS"), ("HORS NIS 99", None, None), ("Rs.", "in", "INR"),
        ("Rs.499", "pk", "PKR"), ("Rs.", None, None), ("₨ 5", "lk", "LKR"),
        ("http://schema.org/EUR", None, "EUR"), ("https://schema.org/EUR/", None, "EUR"),
        ("schema:EUR", None, "EUR"), ("urn:iso:std:iso:4217:EUR", None, "EUR"),
        ("iso4217:eur", None, "EUR"), ("https://schema.org/abc", None, None),
        ("EUR (€)", None, "EUR"), ("US Dollar (USD)", None, "USD"), ("$ USD", None, "USD"),
        ("&euro;", None, "EUR"), ("&#8364;", None, "EUR"), ("Euro", None, "EUR"),
        ("US dollars", None, "USD"), ("dollars", "ca", "CAD"), ("EUR or USD", None, None),
        ("EUR/USD", None, None), ("¥99", None, None), ("¥99", "jp", "JPY"), ("￥99", "cn", "CNY"),
        ("99 lei", "md", "MDL"), ("99 lei", None, "RON"), ("99 руб.", "by", "BYN"),
        ("R 99", "za", "ZAR"), ("R 99", None, None), ("XXX", None, None), ("978", None, None),
    ],
)  # fmt: skip
def test_currency_is_a_code_a_symbol_or_a_word(text, country, code):
    assert find_currency(text, country) == code


SEPARATORS = st.sampled_from([(",", "."), (".", ","), ("'", "."), ("\u00a0", ","), ("\u202f", ",")])


@given(st.decimals(0, 9_999_999, places=2), SEPARATORS, st.sampled_from(["€{}", "{} €", "EUR {}"]))
def test_price_round_trips_with_any_digit_grouping(price, marks, form):
    thousands, decimals = marks
    written = f"{price:,.2f}".translate({ord(","): thousands, ord("."): decimals})

    assert find_amount(form.format(written), "EUR") == price
    assert find_currency(form.format(written)) == "EUR"


@given(st.text("0123456789.,'’ \u00a0kMmEe+-€$%½⁹", min_size=1, max_size=14))
def test_price_has_only_digits_from_its_text(text):
    amount = find_amount(text, "EUR")

    digits = "".join(map(str, amount.as_tuple().digits)).strip("0") if amount else ""
    assert digits in "".join(filter(str.isdigit, numbers.normalize_signs(text)))
